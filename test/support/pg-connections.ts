import pg from "pg";
import { expect } from "vitest";
import type { Postgres } from "./postgres.ts";

/** The program leaves its connections to the end of its process. Where its commands run in this one, they are closed when a test is done with them. */
const clients = new Set<pg.Client>();
const prototype = pg.Client.prototype as unknown as { connect: (...given: unknown[]) => unknown };
const { connect } = prototype;
prototype.connect = function (this: pg.Client, ...given: unknown[]): unknown {
  clients.add(this);
  this.once("end", () => clients.delete(this));
  return connect.apply(this, given);
};

export async function closeConnections(): Promise<void> {
  await Promise.all([...clients].map(async (client) => await client.end()));
}

/** Closes the connections of this process, and waits until the server has done all that others have sent before they died. */
export async function disconnected(sql: Postgres["sql"]): Promise<void> {
  await closeConnections();
  const others =
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
  await expect
    .poll(async () => (await sql(others))[0]?.["n"], { interval: 5, timeout: 30_000 })
    .toBe(0);
}
