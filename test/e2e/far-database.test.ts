import { expect, test } from "vitest";
import { farDatabase } from "../support/far-database.ts";
import { expectExit, firstGet, openLab } from "../support/lab.ts";
import { postgres, secure } from "../support/postgres.ts";

test.each([
  ["without TLS", false, 9],
  ["with TLS", true, 11],
])("a get %s needs few round trips to the database, those for the connection included", async (_how, isTls, most) => {
  const server = await postgres();
  const path = await secure(server);
  const far = await farDatabase(server.port, 8);
  const lab = await openLab();
  const stateDir = server.location(`far_${most}`).replace(`127.0.0.1:${server.port}/`, `localhost:${far.port}/`);
  const more = isTls ? { PGSSLMODE: "verify-full", PGSSLROOTCERT: path } : {};
  const machine = lab.machine({ stateDir, env: { VAULTSVC_RATE: "25", ...more } });
  expectExit(await machine.vault("state", "init"), 0);
  expectExit(await firstGet(machine, lab.vault), 0);
  const trips: number[] = [];
  // On a busy machine a call is late, and takes another place under the rate limit.
  while (trips.length < 10 && trips.at(-1) !== most) {
    const before = far.trips;
    expectExit(await machine.start({}, "get", lab.vault.uuid, "--json").exit, 0);
    trips.push(far.trips - before);
  }
  expect(Math.min(...trips)).toBe(most);
});
