import { expect, it } from "vitest";
import { cloneOf, postgres, promote, standbyOf } from "../../support/postgres.ts";
import type { Postgres } from "../../support/postgres.ts";

const count = async (server: Postgres): Promise<unknown> => (await server.sql("SELECT count(*)::int AS n FROM seen"))[0]?.["n"];

it("a standby follows its server, a promoted one goes on alone, and a clone has been alone from the start", async () => {
  const server = await postgres();
  await server.sql("CREATE TABLE seen (n int); INSERT INTO seen VALUES (1)");
  const standby = await standbyOf(server);
  const clone = await cloneOf(server);
  await server.sql("INSERT INTO seen VALUES (2)");
  await expect.poll(async () => await count(standby), { timeout: 20_000 }).toBe(2);
  await expect(standby.sql("INSERT INTO seen VALUES (3)")).rejects.toMatchObject({ code: "25006" });
  await server.crash();
  await promote(standby);
  await standby.sql("INSERT INTO seen VALUES (3)");
  await server.start();
  const timeline = "SELECT pg_walfile_name(pg_current_wal_lsn()) AS file, system_identifier AS id FROM pg_control_system()";
  const [old, next, copy] = (await Promise.all([server, standby, clone].map(async (each) => await each.sql(timeline)))).flat();
  expect(await Promise.all([server, standby, clone].map(count))).toEqual([2, 3, 1]);
  expect([old?.["id"], copy?.["id"]]).toEqual([next?.["id"], next?.["id"]]);
  const numbers = [old, next, copy].map((row) => Number(String(row?.["file"]).slice(0, 8)));
  expect(numbers).toEqual([1, 2, 1]);
});
