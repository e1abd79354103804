import { randomUUID } from "node:crypto";
import { existsSync, statSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { all, one } from "./query.ts";
import { applicationId, migrations } from "./schema.ts";
import type { VaultColumns } from "../document.ts";
import { isListed } from "../document.ts";
import type { Marks } from "../whole/marks.ts";
import { marksIn, notHere } from "../whole/marks.ts";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import { retryWhileBusy } from "../../files/lock-file.ts";
import { createFile } from "../../files/durable-file.ts";
import { fileIfThere, statIfThere, tighten } from "../../files/private-directory.ts";
import { asStateError, isBusy, onState, unusable } from "../../files/state-error.ts";
import { command } from "../../way.ts";

export interface Opening {
  path: string;
  platform: string;
}

/** Creates the database if there is none, durably and all at once: it never exists in part. */
export function createDatabase({ path, platform }: Opening): void {
  if (onState(path, () => statIfThere(path)) !== null) return;
  onState(path, () =>
    createFile(path, (temporary) => {
      const connection = new DatabaseSync(temporary);
      try {
        configure(connection, platform);
        connection.exec("BEGIN EXCLUSIVE");
        migrate(connection);
        connection.exec("COMMIT");
        const mode = one<{ journal_mode: string }>(
          connection,
          "PRAGMA journal_mode = WAL",
        )?.journal_mode;
        if (mode !== "wal")
          throw unusable(path, "this file system lacks what SQLite's WAL needs", {
            hint: "use a directory on a local disk with --state",
          });
      } finally {
        connection.close();
        for (const suffix of ["-journal", "-wal", "-shm"])
          rmSync(temporary + suffix, { force: true });
      }
    }),
  );
}

/**
 * Opens the database, or returns null if there is none.
 * @throws `state` for a file, left unchanged, that is no state of this program or is of a newer
 * version; what SQLite throws, also if it is busy
 */
export function openDatabase({ path, platform }: Opening): DatabaseSync | null {
  const [stats] = ["", "-wal", "-shm"].map((suffix) => fileIfThere(path + suffix));
  if (!stats) return null;
  if ((stats.mode & 0o077) !== 0) onState(path, () => tighten(path, 0o600));
  const connection = new DatabaseSync(withMode(path));
  try {
    configure(connection, platform);
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
  for (const script of migrations.slice(schemaVersion(connection))) {
    if (typeof script === "string") connection.exec(script);
    else script(connection);
  }
  connection.exec(
    `PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationId}`,
  );
}

/** Whether `migrate` has something to do. */
export const isOlder = (connection: DatabaseSync): boolean =>
  schemaVersion(connection) < migrations.length;

export const schemaVersion = (connection: DatabaseSync): number =>
  one<{ user_version: number }>(connection, "PRAGMA user_version")?.user_version ?? 0;

/** @throws `state` for a state that was moved, or was changed by a newer version of this program */
export function checkUsable(connection: DatabaseSync, path: string): void {
  checkNotNewer(connection, path);
  if (one(connection, "SELECT 1 FROM meta WHERE name IN ('fence', 'moved')") !== undefined)
    throw notHere(dirname(path), marksOf(connection));
}

/** What version 0.2.0 has written in place of the version of a state that it was to move. */
const givenUp = 1_000_000;

function checkNotNewer(connection: DatabaseSync, path: string): void {
  const version = schemaVersion(connection);
  if (version <= migrations.length) return;
  if (version === givenUp)
    throw unusable(path, "version 0.2.0 of this program has given it up for a move", {
      hint: "finish or cancel the move with that version; nothing was changed",
    });
  throw new VaultError(
    "state",
    `the state ${path} was written by a newer version of this program (format ${version}, known: ${migrations.length})`,
    {
      hint: "it was not changed; update this program, or use another directory with --state",
    },
  );
}

/** What the state says of itself. */
export function marksOf(connection: DatabaseSync): Marks {
  const rows = all<{ name: string; value: string }>(connection, "SELECT name, value FROM meta");
  return marksIn(Object.fromEntries(rows.map(({ name, value }) => [name, value])));
}

function configure(connection: DatabaseSync, platform: string): void {
  connection.exec("PRAGMA synchronous = FULL; PRAGMA busy_timeout = 0");
  if (platform === "darwin")
    connection.exec("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1");
}

/** Whether this program has made the database. */
export const isOurs = (connection: DatabaseSync): boolean =>
  one<{ application_id: number }>(connection, "PRAGMA application_id")?.application_id ===
  applicationId;

/** @throws `state` for what is not a state of this program, and for one of a newer version */
function checkOurs(connection: DatabaseSync, path: string, what?: string): void {
  const why = "it is damaged, or was not created by this program";
  const hint = "nothing was changed; use another directory with --state";
  if (!isOurs(connection))
    throw unusable(path, why, { hint, next: [command`vault state restore FILE`] }, what);
  checkNotNewer(connection, path);
}

/** The path as a URL with its mode, so that SQLite does not create a file that just disappeared. */
function withMode(path: string, mode = "rw"): URL {
  const url = pathToFileURL(path);
  url.search = `mode=${mode}`;
  return url;
}

/**
 * Opens a database read-only and creates nothing beside it: if a file with one of the suffixes is
 * missing or empty, opens it as immutable, because SQLite would create an empty WAL.
 * @throws what SQLite throws
 */
function openReadOnly(path: string, beside: readonly string[] = ["-wal"]): DatabaseSync {
  const isAtRest = beside.some(
    (suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) === 0,
  );
  return new DatabaseSync(withMode(path, isAtRest ? "ro&immutable=1" : "ro"), { readOnly: true });
}

/**
 * The vaults that `status` lists, for completion; none if there is no state or it is of a newer
 * version. Changes nothing, reads no key and never waits.
 * @throws what SQLite or the file system throws
 */
export function readKnownVaults(
  directory: string,
): Pick<VaultColumns, "uuid" | "label" | "kind">[] {
  const path = join(directory, "vault.db");
  if (!existsSync(path) || !isPrivate(directory)) return [];
  // SQLite would create the index that a WAL lacks.
  const db = openReadOnly(path, ["-wal", "-shm"]);
  if (!isOurs(db) || schemaVersion(db) > migrations.length) return [];
  return all(
    db,
    `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`,
  );
}

/** Whether nobody else can write in a folder: what others can write is not believed. */
const isPrivate = (folder: string): boolean => (statSync(folder).mode & 0o022) === 0;

/** A copy in memory, brought up to date for this process alone. */
function migratedInMemory(file: string): DatabaseSync {
  const memory = `file:/${randomUUID()}?vfs=memdb`;
  const copy = new DatabaseSync(memory);
  const from = openReadOnly(file);
  try {
    from.prepare("VACUUM INTO ?").run(memory);
  } finally {
    from.close();
  }
  migrate(copy);
  return copy;
}

/**
 * Opens a snapshot of a state (or of `what`) read-only; of an older one, a copy.
 * @throws as `checkOurs` and `checkUsable`, and what SQLite throws
 */
export function openSnapshot(path: string, what?: string): DatabaseSync {
  const db = openReadOnly(path);
  try {
    db.exec("BEGIN");
    checkOurs(db, path, what);
    checkUsable(db, path);
    if (!isOlder(db)) return db;
    db.close();
    return migratedInMemory(path);
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
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
  let cause: unknown;
  const done = await retryWhileBusy(
    clock,
    { deadline: clock.elapsed() + busyTimeoutMs },
    25,
    () => {
      try {
        return { result: attempt() };
      } catch (error) {
        if (!isBusy(error)) throw asStateError(path, error);
        cause = error;
        return null;
      }
    },
  );
  if (done !== null) return done.result;
  throw unusable(path, `other programs have locked it for ${busyTimeoutMs / 1000} seconds`, {
    hint: "find out what is using it (a backup, a database browser), then run it again",
    cause,
  });
}
