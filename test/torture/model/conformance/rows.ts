import { actorOf } from "../../../../src/actor.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { Breaker, ServiceBreaker } from "../../../../src/exchange/breaker.ts";
import type { Clock, VaultSession } from "../../../../src/exchange/ports.ts";
import { givenKey } from "../../../../src/secrets/key-source.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../../../src/store/steps/rows.ts";
import { credentialsRow, exchangeRow, vaultRow } from "../../../../src/store/steps/rows.ts";
import { all, one, run } from "../../../../src/store/sqlite/query.ts";
import { openStore } from "../../../../src/store/sqlite/store.ts";
import { memoryFolder } from "../../../support/campaign.ts";
import { openSharedHere, serviceName } from "../../../support/in-process.ts";
import { uuid } from "./service.ts";
import type { PostgresStore } from "../../../../src/store/postgres/store.ts";
import { postgres } from "../../../support/postgres.ts";
import { tempDir } from "../../../support/cleanup.ts";

export type Row = Record<string, string | number | null>;

/** The rows of a vault that a model gives; their columns are those of both engines. */
interface ModelRows {
  vault: Row;
  credentials: Row[];
  /** In their order. */
  exchanges: Row[];
  superseded: Row[];
  refusals: Row[];
  breaker: BreakerTimes;
}

/** Of the circuit breaker: see `Breaker`. */
export type BreakerTimes = Pick<Breaker, "lostAt" | "since">;

/** The rows of one vault in a real state. */
export interface RealRows {
  /** Id of the state to which sealed values are bound, if it is a shared one. */
  readonly state?: string;
  /** Holds the vault with the rows as they were written. */
  readonly session: VaultSession;
  /** Of its service. */
  readonly breaker: ServiceBreaker;
  write(rows: ModelRows): Promise<void>;
  read(): Promise<{
    vault: VaultRow;
    /** Those of which the pair is kept. */
    credentials: CredentialsRow[];
    exchanges: ExchangeRow[];
    refusals: { combination: string }[];
    breaker: BreakerTimes;
  }>;
  close(): Promise<void>;
}

const tables = ["credentials", "exchanges", "superseded", "refusals"] as const;

export async function openSqliteRows(clock: Clock, key: string): Promise<RealRows> {
  const directory = mkdtempSync(join(memoryFolder, "vault-model-"));
  const store = openStore({
    directory,
    keySource: { folder: "", given: givenKey(key) },
    clock,
    platform: "linux",
    by: actorOf(process.pid),
    warn: () => undefined,
  });
  const lock = async (): Promise<VaultSession> =>
    await store.lock(serviceName, uuid, {
      deadline: clock.now() + 60_000,
      signal: new AbortController().signal,
    });
  let session = await lock();
  const db = new DatabaseSync(join(directory, "vault.db"));
  db.exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
  /** Of the only vault. */
  const vault = "(SELECT id FROM vaults)";
  const insert = (table: string, row: Row): void => {
    const columns = Object.keys(row);
    const sql = `INSERT INTO ${table} (vault, ${columns.join(", ")}) VALUES (${vault}, ${columns.map(() => "?").join(", ")})`;
    run(db, sql, ...Object.values(row));
  };
  return {
    get session() {
      return session;
    },
    get breaker() {
      return store.breaker(serviceName);
    },
    write: async (rows) => {
      // A session knows the rows as they were when it began.
      await session.release();
      db.exec("BEGIN IMMEDIATE");
      for (const table of tables) run(db, `DELETE FROM ${table}`);
      const assigned = Object.keys(rows.vault).map((column) => `${column} = ?`);
      run(db, `UPDATE vaults SET ${assigned.join(", ")}`, ...Object.values(rows.vault));
      run(db, "DELETE FROM breakers");
      const { lostAt, since } = rows.breaker;
      const breaker = "INSERT INTO breakers VALUES (?, 1, ?, 0, NULL, ?, 'unasked', 0)";
      run(db, breaker, serviceName, lostAt, since);
      for (const table of tables) for (const row of rows[table]) insert(table, row);
      db.exec("COMMIT");
      session = await lock();
    },
    read: async () =>
      Promise.resolve({
        vault: vaultRow(one<object>(db, "SELECT * FROM vaults") ?? {}),
        credentials: all<object>(
          db,
          "SELECT * FROM credentials WHERE sealed IS NOT NULL ORDER BY generation",
        ).map(credentialsRow),
        exchanges: all<object>(db, "SELECT * FROM exchanges ORDER BY seq").map(exchangeRow),
        refusals: all<{ combination: string }>(db, "SELECT combination FROM refusals"),
        breaker: one<BreakerTimes>(db, "SELECT lostAt, since FROM breakers") as BreakerTimes,
      }),
    close: async () => {
      await session.release();
      db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

let made = 0;

export async function openPostgresRows(clock: Clock, key: string): Promise<RealRows> {
  const schema = `model_${(made += 1)}`;
  const location = (await postgres()).location(schema);
  const keySource = { folder: "", given: givenKey(key) };
  /** A machine that has seen nothing yet: else it would bring back what it has acknowledged. */
  const machine = (): PostgresStore =>
    openSharedHere({ location, keySource, clock, directory: tempDir("model") });
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
  const { rows: meta } = await db.query<{ value: string }>(
    "SELECT value FROM meta WHERE name = 'state'",
  );
  const vault = "(SELECT id FROM vaults)";
  const text = (value: string | number | null): string =>
    typeof value === "string" ? `'${value}'` : String(value);
  const insert = (table: string, row: Row): string =>
    `INSERT INTO ${table} (${["vault", ...Object.keys(row)].map((column) => `"${column}"`).join(", ")}) VALUES (${[vault, ...Object.values(row).map(text)].join(", ")})`;
  return {
    state: meta[0]?.value ?? "",
    get session() {
      return session;
    },
    get breaker() {
      return store.breaker(serviceName);
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
      const { lostAt, since } = rows.breaker;
      const assigned = Object.entries(rows.vault).map(
        ([column, value]) => `"${column}" = ${text(value)}`,
      );
      await db.query(
        [
          "BEGIN",
          ...tables.map((table) => `DELETE FROM ${table}`),
          `UPDATE vaults SET ${assigned.join(", ")}`,
          "DELETE FROM breakers",
          `INSERT INTO breakers VALUES (${[serviceName, 1, lostAt, 0, null, since, "unasked", 0].map(text).join(", ")})`,
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
          'breaker', (SELECT json_build_object('lostAt', "lostAt", 'since', since) FROM breakers)) AS read`,
      );
      const [{ read } = { read: undefined }] = found;
      if (read === undefined) throw new Error("the state says nothing");
      return {
        ...read,
        vault: vaultRow(read.vault),
        credentials: read.credentials.map(credentialsRow),
        exchanges: read.exchanges.map(exchangeRow),
      };
    },
    close: async () => {
      await session.release();
      store.close();
      await db.end();
    },
  };
}
