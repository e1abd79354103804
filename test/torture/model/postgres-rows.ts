import pg from "pg";
import type { Clock, VaultSession } from "../../../src/exchange/ports.ts";
import { openShared } from "../../../src/store/postgres/open.ts";
import type { PostgresStore } from "../../../src/store/postgres/store.ts";
import { postgres } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { service, uuid } from "./real-pairs.ts";
import type { RealRows, Row } from "./real-rows.ts";

const tables = ["credentials", "exchanges", "superseded", "refusals"] as const;

let made = 0;

export async function openPostgresRows(clock: Clock, key: string): Promise<RealRows> {
  const schema = `model_${(made += 1)}`;
  const location = (await postgres()).location(schema);
  const nothing = (): undefined => undefined;
  const keySource = { type: "given", key } as const;
  const waiting = { deadline: Number.POSITIVE_INFINITY, signal: new AbortController().signal };
  /** A machine that has seen nothing yet: else it would bring back what it has acknowledged. */
  const machine = (): PostgresStore => {
    const place = {
      directory: tempDir("model"),
      platform: process.platform,
      keys: new Map(),
      waiting,
    };
    return openShared({
      location,
      env: {},
      pid: process.pid,
      keySource,
      clock,
      warn: nothing,
      learnSecret: nothing,
      ...place,
    });
  };
  let store = machine();
  await store.create();
  const db = new pg.Client({ connectionString: location });
  await db.connect();
  await db.query(`SET search_path = ${schema}; SET synchronous_commit = off`);
  const lock = async (): Promise<VaultSession> => {
    const locked = await store.lock(service, uuid, {
      deadline: clock.now() + 60_000,
      signal: new AbortController().signal,
    });
    const acknowledge = locked.acknowledge.bind(locked);
    // It is used for one command after the other, so that none gives it back.
    return Object.assign(locked, {
      acknowledge: async (exchange: string) => await acknowledge(exchange),
    });
  };
  let session = await lock();
  const { rows: meta } = await db.query<{ value: string }>(
    "SELECT value FROM meta WHERE name = 'state'",
  );
  const vault = "(SELECT id FROM vaults)";
  const text = (value: string | number | null): string =>
    typeof value === "string" ? `'${value}'` : String(value);
  const insert = (table: string, row: Row): string =>
    `INSERT INTO ${table} (vault, ${Object.keys(row).join(", ")}) VALUES (${[vault, ...Object.values(row).map(text)].join(", ")})`;
  return {
    state: meta[0]?.value ?? "",
    get session() {
      return session;
    },
    get breaker() {
      return store.breaker(service);
    },
    write: async (rows) => {
      // A session knows the rows as they were when it began.
      await session.release();
      store.close();
      store = machine();
      const numbered = {
        ...rows,
        exchanges: rows.exchanges.map((row, index) => ({ ...row, seq: index + 1 })),
      };
      const { lostAt, closedAt, hint } = rows.breaker;
      const assigned = Object.entries(rows.vault).map(
        ([column, value]) => `${column} = ${text(value)}`,
      );
      await db.query(
        [
          "BEGIN",
          ...tables.map((table) => `DELETE FROM ${table}`),
          `UPDATE vaults SET ${assigned.join(", ")}`,
          "DELETE FROM breakers",
          `INSERT INTO breakers (service, version, lost_at, lost_trials, hint, closed_at)
            VALUES (${[service, 1, lostAt, 0, hint, closedAt].map(text).join(", ")})`,
          ...tables.flatMap((table) => numbered[table].map((row) => insert(table, row))),
          "COMMIT",
        ].join(";"),
      );
      session = await lock();
    },
    read: async () => {
      const rows = (from: string): string =>
        `(SELECT coalesce(json_agg(found), '[]') FROM (${from}) AS found)`;
      const { rows: found } = await db.query<{ read: Awaited<ReturnType<RealRows["read"]>> }>(
        `SELECT json_build_object('vault', (SELECT to_json(vaults) FROM vaults),
          'credentials', ${rows("SELECT * FROM credentials WHERE sealed IS NOT NULL ORDER BY generation")},
          'exchanges', ${rows("SELECT * FROM exchanges ORDER BY seq")},
          'refusals', ${rows("SELECT combination FROM refusals")},
          'breaker', (SELECT json_build_object('lostAt', lost_at, 'closedAt', closed_at, 'hint', hint) FROM breakers)) AS read`,
      );
      const [{ read } = { read: undefined }] = found;
      if (read === undefined) throw new Error("the state says nothing");
      return read;
    },
    close: async () => {
      await session.release();
      store.close();
      await db.end();
    },
  };
}
