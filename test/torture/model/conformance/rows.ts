import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { Breaker, ServiceBreaker } from "../../../../src/exchange/breaker.ts";
import type { Clock, VaultSession } from "../../../../src/exchange/ports.ts";
import { givenKey } from "../../../../src/secrets/keys.ts";
import { columnsOf, rowsOf, type VaultColumns } from "../../../../src/store/document.ts";
import type { VaultRows } from "../../../../src/store/steps/rows.ts";
import { all, rowsIn } from "../../../../src/store/sqlite/database.ts";
import { memoryFolder } from "../../../support/campaign.ts";
import { openLocalHere, openSharedHere, serviceName } from "../../../support/in-process.ts";
import { uuid } from "./service.ts";
import type { PostgresStore } from "../../../../src/store/postgres/store.ts";
import { postgres } from "../../../support/postgres.ts";
import { tempDir } from "../../../support/cleanup.ts";

/** Of the circuit breaker: see `Breaker`. */
export type BreakerTimes = Pick<Breaker, "lostAt" | "since">;

/** One vault in a real state. */
export interface RealRows {
  /** Holds the vault as it was written. */
  readonly session: VaultSession;
  /** Of its service. */
  readonly breaker: ServiceBreaker;
  write(rows: VaultRows, breaker: BreakerTimes): Promise<void>;
  read(): Promise<{ rows: VaultRows; breaker: BreakerTimes }>;
  close(): Promise<void>;
}

const since = { copies: 0, doubts: 0 };
const read = "SELECT service, uuid, label, kind, doc, sealed FROM vaults";

export async function openSqliteRows(clock: Clock, key: string): Promise<RealRows> {
  const directory = tempDir("model", memoryFolder);
  const keySource = { folder: "", given: givenKey(key) };
  const store = openLocalHere({ directory, keySource, clock });
  const lock = async (): Promise<VaultSession> =>
    await store.lock(serviceName, uuid, {
      deadline: clock.now() + 60_000,
      signal: new AbortController().signal,
    });
  let session = await lock();
  const db = new DatabaseSync(join(directory, "vault.db"));
  db.exec("PRAGMA synchronous = OFF");
  return {
    get session() {
      return session;
    },
    get breaker() {
      return store.breaker(serviceName);
    },
    write: async (rows, { lostAt, since: closed }) => {
      // A session knows the vault as it was when it began.
      await session.release();
      const { doc, sealed, status } = columnsOf(rows);
      db.exec("BEGIN IMMEDIATE; DELETE FROM spent; DELETE FROM breakers");
      const sql = "UPDATE vaults SET doc = $1, sealed = $2, status = $3, version = version + 1";
      rowsIn(db, { sql, values: [doc, sealed, status] });
      const breaker = "INSERT INTO breakers VALUES ($1, 1, $2, 0, NULL, $3, 'unasked', 0)";
      rowsIn(db, { sql: breaker, values: [serviceName, lostAt, closed] });
      const spent = "INSERT INTO spent VALUES ($1, $2, $3)";
      for (const print of rows.superseded)
        rowsIn(db, { sql: spent, values: [serviceName, uuid, print] });
      db.exec("COMMIT");
      session = await lock();
    },
    read: async () =>
      Promise.resolve({
        rows: rowsOf(all<VaultColumns>(db, read)[0] as VaultColumns, since, ""),
        breaker: all<BreakerTimes>(db, "SELECT lostAt, since FROM breakers")[0] as BreakerTimes,
      }),
    close: async () => {
      await session.release();
      db.close();
    },
  };
}

let made = 0;

export async function openPostgresRows(clock: Clock, key: string): Promise<RealRows> {
  const schema = `model_${(made += 1)}`;
  const location = (await postgres()).location(schema);
  const keySource = { folder: "", given: givenKey(key) };
  /**
   * A machine that has seen nothing yet: else it would bring back what it has acknowledged. Its time is the driver's: by that of the
   * database, a start that was left would be long due for a trial where another path took seconds.
   */
  const machine = (): PostgresStore =>
    Object.assign(openSharedHere(location, { keySource, clock, directory: tempDir("model") }), {
      now: () => clock.now(),
    });
  let store = machine();
  await store.create();
  const db = new pg.Client({ connectionString: location });
  await db.connect();
  await db.query(`SET search_path = ${schema}; SET synchronous_commit = off`);
  const lock = async (): Promise<VaultSession> => {
    const locked = await store.lock(serviceName, uuid, {
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
  const text = (value: string | number | null): string =>
    typeof value === "string" ? `'${value}'` : String(value);
  return {
    get session() {
      return session;
    },
    get breaker() {
      return store.breaker(serviceName);
    },
    write: async (rows, { lostAt, since: closed }) => {
      // A session knows the vault as it was when it began.
      await session.release();
      store.parts.database.close();
      store = machine();
      const { doc, sealed, status } = columnsOf(rows);
      await db.query(
        [
          "BEGIN",
          "DELETE FROM spent",
          "DELETE FROM breakers",
          `UPDATE vaults SET doc = ${text(doc)}, sealed = ${text(sealed)}, status = ${text(status)}, version = version + 1`,
          `INSERT INTO breakers VALUES (${[serviceName, 1, lostAt, 0, null, closed, "unasked", 0].map(text).join(", ")})`,
          ...[...rows.superseded].map(
            (print) =>
              `INSERT INTO spent VALUES (${[serviceName, uuid, print].map(text).join(", ")})`,
          ),
          "COMMIT",
        ].join(";"),
      );
      session = await lock();
    },
    read: async () => {
      const { rows } = await db.query<VaultColumns>(read);
      const { rows: breakers } = await db.query<BreakerTimes>(
        'SELECT "lostAt", since FROM breakers',
      );
      return {
        rows: rowsOf(rows[0] as VaultColumns, since, ""),
        breaker: breakers[0] as BreakerTimes,
      };
    },
    close: async () => {
      await session.release();
      store.parts.database.close();
      await db.end();
    },
  };
}
