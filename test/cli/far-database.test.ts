import { expect, test } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import { tcpProxy } from "../support/proxies.ts";
import { expectExit, firstGet, openLab } from "../support/lab.ts";
import { postgres, secure } from "../support/postgres.ts";

test.each([
  ["without TLS", false, 12],
  ["with TLS", true, 14],
])(
  "a get %s needs few round trips to the database, those for the connection included",
  async (_how, isTls, most) => {
    const server = await postgres();
    const path = await secure(server);
    const far = await tcpProxy(server, 8);
    const lab = await openLab();
    const stateDir = server
      .location(`far_${most}`)
      .replace(`127.0.0.1:${server.port}/`, `localhost:${far.port}/`);
    const more = isTls ? { PGSSLMODE: "verify-full", PGSSLROOTCERT: path } : {};
    const machine = lab.machine({ stateDir, env: { VAULTSVC_RATE: "25", ...more } });
    await machine.ok("state", "init");
    expectExit(await firstGet(machine, lab.vault), 0);
    const before = far.trips;
    // Its clock stands still: on a busy machine a call is late, and takes another place under the rate limit.
    const host = fakeHost({
      home: machine.home,
      cwd: machine.home,
      env: machine.env,
      files: "real",
      now: Date.now(),
    });
    expect(await main(["get", lab.vault.uuid, "--json"], host)).toBe(0);
    expect(far.trips - before).toBe(most);
  },
);
