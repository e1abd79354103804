import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { isListed, type VaultColumns } from "../document.ts";
import { inserting, marking, sharedTables } from "../tables.ts";
import type { Dialect, Row, Statement, Table } from "../tables.ts";
import * as version1 from "../version-1.ts";
import { checkHere, marksIn, type Marks } from "../whole/marks.ts";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import { createFile } from "../../files/durable-file.ts";
import { retryWhileBusy } from "../../files/lock-file.ts";
import { fileIfThere, findPrivateDirectory, tighten } from "../../files/private-directory.ts";
import { asStateError, isBusy, onState, unusable } from "../../files/state-error.ts";
import { keyIdOf } from "../../secrets/sealing.ts";
import { command } from "../../way.ts";

/** "vsst" in the file header, which distinguishes a state from any other SQLite database. */
const applicationId = 0x76737374;

const tables = `
  -- Facts about the state itself: journal-from, before which journal entries may be removed; state, its id; the other marks of
  -- whole/marks.ts.
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO meta VALUES ('state', lower(hex(randomblob(16))));

  ${sharedTables("", {
    id: "INTEGER",
    lease: "",
    journalSeq: "INTEGER PRIMARY KEY AUTOINCREMENT",
    real: "REAL",
    time: "int",
    strict: " STRICT",
    keyed: " STRICT, WITHOUT ROWID",
  })};
  CREATE TRIGGER IF NOT EXISTS journal_is_never_changed BEFORE UPDATE ON journal
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
  CREATE TRIGGER IF NOT EXISTS journal_is_only_pruned BEFORE DELETE ON journal
  WHEN OLD.at >= coalesce((SELECT value FROM meta WHERE name = 'journal-from'), '')
  BEGIN SELECT RAISE (ABORT, 'the journal is append-only'); END;
`;

/** Makes the tables, or makes those of version 1 anew. */
function second(db: DatabaseSync): void {
  const isFormer = all(db, "SELECT 1 FROM sqlite_master WHERE name = 'credentials'").length > 0;
  if (isFormer) db.exec(version1.makingWay(""));
  db.exec(tables);
  if (!isFormer) return;
  const former: Record<string, Row[]> = Object.fromEntries(
    version1.formerTables.map((table) => [table, all<Row>(db, version1.formerTable("", table))]),
  );
  const documents = version1.documentsOf(former, (_, value) => {
    rowsIn(db, marking("", "key", keyIdOf(value)));
    return value;
  });
  for (const [table, rows] of Object.entries(documents))
    for (const row of rows) {
      const sql = inserting(dialect, table as Table, Object.keys(row), "$1");
      rowsIn(db, { sql, values: [JSON.stringify([row])] });
    }
  db.exec(`${version1.droppingFormer("")} DROP TABLE locks`);
}

/**
 * The migration to version n is at position n, from 1. A published one is never changed, only
 * followed by another. A new state begins with the second.
 */
export const migrations: ((db: DatabaseSync) => void)[] = [() => undefined, second];

/** Creates the database if there is none, durably and all at once: it never exists in part. */
export function createDatabase(path: string): void {
  onState(path, () =>
    createFile(path, (temporary) => {
      const connection = new DatabaseSync(temporary);
      try {
        configure(connection);
        connection.exec("BEGIN EXCLUSIVE");
        migrate(connection);
        connection.exec("COMMIT");
        const [wal] = all<{ journal_mode: string }>(connection, "PRAGMA journal_mode = WAL");
        if (wal?.journal_mode !== "wal")
          throw unusable(path, "this file system lacks what SQLite's WAL needs", {
            hint: "use a directory on a local disk with --state",
          });
      } finally {
        connection.close();
      }
    }),
  );
}

/**
 * Opens the database, or returns null if there is none.
 * @throws `state` for a file, left unchanged, that is no state of this program or is of a newer
 * version; what SQLite throws, also if it is busy
 */
export function openDatabase(path: string): DatabaseSync | null {
  const [stats] = ["", "-wal", "-shm"].map((suffix) => fileIfThere(path + suffix));
  if (!stats) return null;
  if ((stats.mode & 0o077) !== 0) onState(path, () => tighten(path, 0o600));
  const connection = new DatabaseSync(withMode(path));
  try {
    configure(connection);
    checkOurs(connection, path);
    return connection;
  } catch (error) {
    // The last close moves the WAL into the file: what is not ours stays open, and so unchanged.
    if (isBusy(error)) connection.close();
    throw error;
  }
}

/**
 * Runs the migrations that the database lacks, in the caller's transaction, with every vault
 * locked: no process may be between ① and ④ while the tables change.
 */
export function migrate(connection: DatabaseSync): void {
  for (const step of migrations.slice(schemaVersion(connection))) step(connection);
  connection.exec(
    `PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationId}`,
  );
}

/** Whether `migrate` has something to do. */
export const isOlder = (connection: DatabaseSync): boolean =>
  schemaVersion(connection) < migrations.length;

const schemaVersion = (connection: DatabaseSync): number =>
  all<{ user_version: number }>(connection, "PRAGMA user_version")[0]?.user_version ?? 0;

/** @throws `state` for a state that was moved, or was changed by a newer version of this program */
export function checkUsable(connection: DatabaseSync, path: string): void {
  checkNotNewer(connection, path);
  checkHere(dirname(path), marksOf(connection));
}

function checkNotNewer(connection: DatabaseSync, path: string): void {
  const version = schemaVersion(connection);
  if (version <= migrations.length) return;
  throw new VaultError(
    "state",
    `the state ${path} was written by a newer version of this program (format ${version}, known: ${migrations.length})`,
    {
      hint:
        "it was not changed; update this program, or use another directory with --state; " +
        "if 0.2.0 was moving it, finish or cancel the move with that version",
    },
  );
}

/** The facts that the state has about itself, by name. */
export function metaIn(db: DatabaseSync): Readonly<Record<string, string | undefined>> {
  const rows = all<{ name: string; value: string }>(db, "SELECT name, value FROM meta");
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** What the state says of itself. */
export const marksOf = (db: DatabaseSync): Marks => marksIn(metaIn(db));

/** Flushes what a sync leaves in the disk's cache, too, if the system can: macOS. */
function configure(connection: DatabaseSync): void {
  connection.exec(`PRAGMA synchronous = FULL; PRAGMA busy_timeout = 0;
    PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1`);
}

/** @throws `state` for what is not a state of this program, and for one of a newer version */
function checkOurs(connection: DatabaseSync, path: string, what?: string): void {
  const why = "it is damaged, or was not created by this program";
  const hint = "nothing was changed; use another directory with --state";
  const [id] = all<{ application_id: number }>(connection, "PRAGMA application_id");
  if (id?.application_id !== applicationId)
    throw unusable(path, why, { hint, next: [command`vault state restore FILE`] }, what);
  checkNotNewer(connection, path);
}

/** The path as a URL with its mode, so that SQLite does not create a file that just disappeared. */
function withMode(path: string, mode = "rw"): URL {
  const url = pathToFileURL(path);
  url.search = `mode=${mode}`;
  return url;
}

/** How long a transaction waits for those of other processes, in milliseconds; each takes a few. */
const busyTimeoutMs = 30_000;

/**
 * Retries while the database is busy, for up to 30 seconds.
 * @throws `state` if it is still busy then, and for every other failure of SQLite
 */
export async function retryBusyDatabase<T>(
  clock: Clock,
  path: string,
  attempt: () => T,
): Promise<T> {
  const deadline = clock.elapsed() + busyTimeoutMs;
  let cause: unknown;
  const done = await retryWhileBusy(clock, { deadline }, 25, () => {
    try {
      return { result: attempt() };
    } catch (error) {
      cause = error;
      if (isBusy(error)) return null;
      throw asStateError(path, error);
    }
  });
  if (done !== null) return done.result;
  throw unusable(path, `other programs have locked it for ${busyTimeoutMs / 1000} seconds`, {
    hint: "find out what is using it (a backup, a database browser), then run it again",
    cause,
  });
}

/**
 * The vaults that `status` lists, for completion; none if there is no state. Reads no key.
 * @throws as `openSnapshot`
 */
export function readKnownVaults(
  directory: string,
): Pick<VaultColumns, "uuid" | "label" | "kind">[] {
  // Of what is no directory, none.
  const path = existsSync(join(directory, "vault.db")) ? databaseIn(directory) : null;
  // SQLite would create the index that a WAL lacks.
  if (path === null || (existsSync(`${path}-wal`) && !existsSync(`${path}-shm`))) return [];
  const sql = `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`;
  return all(openSnapshot(path), sql);
}

/** Path of the database in the directory of a state; null if there is none. @throws `state` */
function databaseIn(directory: string): string | null {
  const path = join(directory, "vault.db");
  const isThere = findPrivateDirectory(directory) !== null && fileIfThere(path) !== null;
  return isThere ? path : null;
}

/**
 * Opens a snapshot of a state (or of `what`) read-only; of an older one a copy in memory, brought up
 * to date for this process alone. Where the WAL is missing or empty, opens the file as immutable,
 * because SQLite would create one beside it.
 * @throws as `checkOurs` and `checkUsable`, and what SQLite throws
 */
export function openSnapshot(path: string, what?: string): DatabaseSync {
  const isAtRest = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
  const mode = isAtRest ? "ro&immutable=1" : "ro";
  const db = new DatabaseSync(withMode(path, mode), { readOnly: true });
  try {
    // What is checked is what is read.
    db.exec("BEGIN");
    checkOurs(db, path, what);
    checkUsable(db, path);
    if (!isOlder(db)) return db;
    db.exec("COMMIT");
    const memory = `file:/${randomUUID()}?vfs=memdb`;
    const copy = new DatabaseSync(memory);
    db.prepare("VACUUM INTO ?").run(memory);
    db.close();
    migrate(copy);
    return copy;
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

/** As `openSnapshot`, while it is busy again, of the state in a directory; null if there is none. */
export async function snapshotIn(directory: string, clock: Clock): Promise<DatabaseSync | null> {
  const path = databaseIn(directory);
  return path === null ? null : await retryBusyDatabase(clock, path, () => openSnapshot(path));
}

/** Compiled statements of each connection: an import of 5,000 vaults takes two thirds of the processor time with them. */
const compiled = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A compiled statement of the connection. Each use runs it to its end, so that one is enough. */
function statement(db: DatabaseSync, sql: string): StatementSync {
  const known = compiled.get(db) ?? new Map<string, StatementSync>();
  const found = known.get(sql) ?? db.prepare(sql);
  compiled.set(db, known.set(sql, found));
  return found;
}

export const dialect: Dialect = {
  prefix: "",
  texts: (mark) => `SELECT value FROM json_each(${mark})`,
  list: (_, mark) => ({
    from: `(SELECT value AS item, key AS n FROM json_each(${mark}))`,
    column: (name) => `item ->> '${name}'`,
  }),
  open: "(SELECT 1)",
  moment: (now) => `SELECT ${now()} AS at`,
};

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the query determines Row
export const rowsIn = <Row>(db: DatabaseSync, { sql, values = [] }: Statement) =>
  statement(db, sql).all(
    Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])),
  ) as Row[];

export const all = <Row>(db: DatabaseSync, sql: string): Row[] => rowsIn<Row>(db, { sql });
