import { createReadStream } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import type { BackupFacts } from "../../documents/state.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { asStateError, onState, unusable } from "../../files/state-error.ts";
import { isKnown, parseStored, type VaultColumns } from "../document.ts";
import type { Keyring } from "../../secrets/keys.ts";
import * as sqlite from "../sqlite/database.ts";
import type { Row, Table } from "../tables.ts";
import { Whole, WholeReader, type Engine } from "../whole/whole.ts";

const isUnusable = "the backup cannot be used";

/** What is in a backup. */
export type Holdings = Pick<BackupFacts, "vaults" | "pending" | "keyId" | "format">;

/** Copies tables of a state into an empty database. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  of: readonly Table[],
  signal?: AbortSignal,
): Promise<void> {
  sqlite.migrate(db);
  const { state, predecessors, copies, doubts } = source.marks;
  const copy = new Whole(engineOf(db, signal), sqlite.marksOf(db), source.keyring);
  await copy.mark({ state, predecessors, copies, doubts });
  await copy.takeAll(source, of);
}

/** What helps if a backup is damaged. The ways out of a damaged state lead back to it. */
const hint = "nothing was changed; copy it again from where it was made, or use another backup";

const damaged = (file: string, problem: string): VaultError =>
  unusable(file, `it is damaged (${problem})`, { hint }, "the backup");

/**
 * Reads all that is in a backup that nobody else is writing, and opens every sealed value. `warn` is
 * told of a state's own database that may lack what was written last.
 * @throws `state` for what is found wrong with it
 */
export async function contentsOf(
  file: string,
  keyring: Keyring,
  warn: (message: string) => void,
): Promise<Holdings> {
  const db = sqlite.openSnapshot(file, "the backup");
  try {
    const problem = problemOf(db);
    if (problem !== null) throw damaged(file, problem);
    await readerOf(db, keyring).openAll();
    const [counts = { vaults: 0, pending: 0 }] = sqlite.all<Pick<Holdings, "vaults" | "pending">>(
      db,
      `SELECT count(*) FILTER (WHERE ${isKnown}) AS vaults, count(*) FILTER (WHERE status = 'open') AS pending FROM vaults`,
    );
    // SQLite's: that a WAL belongs to the file, and who wrote it.
    const header = await buffer(createReadStream(file, { end: 99 }));
    if (header[18] === 2 && !statIfThere(`${file}-wal`)?.size)
      warn(
        `${file} is the database of a state, without its WAL: what was written last may be missing`,
      );
    return { ...counts, keyId: sqlite.marksOf(db).key, format: header.readUInt32BE(60) };
  } finally {
    db.close();
  }
}

/**
 * Checks that a file is a whole backup, and that its key opens every sealed value; changes nothing.
 * @throws `invalid-input` if there is no file, `state` for one that is no backup, is damaged, is
 * newer than this program, or is sealed with another key, which the error names
 */
export async function checkBackup(
  file: string,
  keyring: Keyring,
  warn: (message: string) => void,
): Promise<Holdings> {
  const stats = onState(file, () => statIfThere(file), isUnusable);
  if (stats?.isFile() !== true)
    throw new VaultError(
      "invalid-input",
      `FILE: ${stats === null ? "no such file:" : "not a file:"} ${file}; nothing was changed`,
      { hint: "use a backup, or the database of a state" },
    );
  try {
    return await contentsOf(file, keyring, warn);
  } catch (cause) {
    const error = asVaultError(asStateError(file, cause, isUnusable));
    const { next, uuid } = error.facts;
    if (next?.some(({ argv }) => argv.includes("restore")) !== true) throw error;
    if (uuid !== undefined) throw damaged(file, error.message);
    throw new VaultError(error.code, error.message, { hint, cause });
  }
}

/** What SQLite finds wrong with a database, or with its documents first; null if nothing is. */
export function problemOf(db: DatabaseSync): string | null {
  const [found] = sqlite.all<{ integrity_check: string }>(db, "PRAGMA integrity_check(1)");
  if (found !== undefined && found.integrity_check !== "ok") return found.integrity_check;
  const sql = "SELECT uuid, doc, sealed FROM vaults WHERE status <> 'absent'";
  for (const row of db.prepare(sql).iterate() as Iterable<VaultColumns>)
    try {
      parseStored(row.uuid, row);
    } catch (error) {
      return (error as Error).message;
    }
  return null;
}

/**
 * Runs the SQL of operations on a whole state in a transaction of a connection. Between statements
 * the process hears signals.
 */
export const engineOf = (db: DatabaseSync, signal?: AbortSignal): Engine => ({
  ...sqlite.dialect,
  query: async (statement) => {
    await setImmediate();
    signal?.throwIfAborted();
    return sqlite.rowsIn<Row>(db, statement);
  },
});

/** Reads what is in a database, in a transaction of it or while nobody else writes. */
export const readerOf = (db: DatabaseSync, keyring: Pick<Keyring, "key">): WholeReader =>
  new WholeReader(engineOf(db), sqlite.marksOf(db), keyring);
