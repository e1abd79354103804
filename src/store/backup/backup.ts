import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { appendingAlone, ofState } from "../journal/journal.ts";
import { isKnown, raising } from "../document.ts";
import type { Keyring } from "../keyring.ts";
import { marksOf, migrate, openSnapshot } from "../sqlite/open-database.ts";
import { all, dialect as sqlite, keyIdIn, noteMeta, one, rowsIn } from "../sqlite/query.ts";
import { applicationId } from "../sqlite/schema.ts";
import type { BackupFacts, Holdings } from "../state.ts";
import type { Row, Table } from "../statement.ts";
import type { StoredState } from "../stored-state.ts";
import type { Engine } from "../whole/whole.ts";
import { Whole, WholeReader } from "../whole/whole.ts";
import { VaultError } from "../../errors.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { asStateError, isDamaged, unusable } from "../../files/state-error.ts";
import { command } from "../../way.ts";

/** Writes a backup (`WholeState.backup`). `copy` snapshots into an empty file, durable or not. */
export async function writeBackup(
  store: Pick<StoredState, "dialect" | "parts" | "record">,
  file: string,
  copy: (temporary: string) => Promise<void>,
): Promise<BackupFacts> {
  const { dialect, parts } = store;
  const { clock, warn, keyring } = parts;
  const now = clock.now();
  try {
    const holdings = await replaceLater(file, async (temporary) => {
      await copy(temporary);
      const copied = await contentsOf(
        temporary,
        keyring,
        (problem, error) =>
          error ??
          new VaultError("state", `the state is damaged (${problem}); no backup was written`, {
            next: [command`vault doctor`],
          }),
      );
      const { vaults, pending, keyId } = copied;
      const entry = ofState("backup", now, { file, vaults, pending, keyId });
      // After the snapshot, so that all in it is known elsewhere; and before the file is there: a
      // crash in between leaves none that the state does not know of.
      await store
        .record(raising(dialect, "copies"), appendingAlone(dialect, entry))
        .catch((error: unknown) =>
          warn(`the state could not record the backup: ${(error as Error).message}`),
        );
      return copied;
    });
    const at = new Date(now).toISOString();
    return { ...holdings, file, bytes: statSync(file).size, at };
  } catch (error) {
    throw asStateError(file, error, "the backup cannot be written");
  }
}

/**
 * Reads all that is in a backup that nobody else is writing.
 * @throws what `damaged` makes of a problem that SQLite finds, or of a value that does not open
 */
async function contentsOf(
  file: string,
  keyring: Keyring,
  damaged: (problem: string, error?: unknown) => unknown,
): Promise<Holdings> {
  const db = openSnapshot(file);
  try {
    const [problem] = problemsOf(db);
    if (problem !== undefined) throw damaged(problem);
    await keyring.ensure(keyIdIn(db));
    await readerOf(db, keyring)
      .openAll()
      .catch((error: unknown) => {
        throw damaged((error as Error).message, error);
      });
    const count = (sql: string): number =>
      one<{ n: number }>(db, `SELECT count(*) AS n FROM vaults WHERE ${sql}`)?.n ?? 0;
    return {
      vaults: count(isKnown),
      pending: count("status = 'open'"),
      keyId: keyIdIn(db),
      format: headerOf(file)?.version ?? 0,
    };
  } finally {
    db.close();
  }
}

/**
 * Checks that a file is a whole backup, and that its key opens every sealed value; changes nothing.
 * @throws `invalid-input` if there is no file, `state` for one that is no backup, is damaged, is
 * newer than this program, or is sealed with another key, which the error names
 */
export async function checkBackup(file: string, keyring: Keyring): Promise<Holdings> {
  checkHeader(file);
  try {
    return await contentsOf(file, keyring, (problem) => damaged(file, problem));
  } catch (error) {
    throw asBackupError(file, error);
  }
}

/** Opens a backup that was checked; one of version 0.2.0 as a copy in memory. */
export const openBackup = (file: string): DatabaseSync => onBackup(file, () => openSnapshot(file));

/** Converts what work on a backup throws to `state`, without the advice to restore one. */
const asBackupError = (file: string, error: unknown): unknown =>
  isDamaged(error)
    ? damaged(file, (error as Error).message)
    : asStateError(file, error, "the backup cannot be used");

function onBackup<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asBackupError(file, error);
  }
}

/** What SQLite finds wrong with a database, in at most a few lines. */
export function problemsOf(db: DatabaseSync): string[] {
  const found = all<{ integrity_check: string }>(db, "PRAGMA integrity_check(5)");
  return found.map((row) => row.integrity_check).filter((line) => line !== "ok");
}

/** @throws `invalid-input` without a file, `state` unless it is our database without a WAL */
function checkHeader(file: string): void {
  const stats = onBackup(file, () => statIfThere(file));
  if (stats?.isFile() !== true) {
    throw new VaultError(
      "invalid-input",
      `FILE: ${stats === null ? "no such file:" : "not a file:"} ${file}; nothing was changed`,
      {
        hint: "use a file that vault state backup has written",
      },
    );
  }
  const header = onBackup(file, () => headerOf(file));
  if (header === null)
    throw unusableBackup(file, "it is damaged, or was not written by vault state backup");
  if (header.hasWal) {
    const why = "it is a copy of a state's database, which is incomplete without its WAL";
    throw unusableBackup(file, why, "back up a copy of the whole state folder instead").with({
      next: [command`vault state backup FILE --state FOLDER`],
    });
  }
}

/** Reads the header of a database, as SQLite documents it; null if this program did not make it. */
function headerOf(file: string): { hasWal: boolean; version: number } | null {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, header);
  } finally {
    closeSync(descriptor);
  }
  if (
    header.toString("latin1", 0, 16) !== "SQLite format 3\0" ||
    header.readUInt32BE(68) !== applicationId
  )
    return null;
  return { hasWal: header[18] === 2, version: header.readUInt32BE(60) };
}

const damaged = (file: string, problem: string): VaultError =>
  unusableBackup(
    file,
    `it is damaged (${problem})`,
    "copy it again from where it was made, or use another backup",
  );

function unusableBackup(file: string, why: string, what = "use another backup"): VaultError {
  return unusable(file, why, { hint: `nothing was changed; ${what}` }, "the backup");
}

/** Runs the SQL of operations on a whole state in a transaction of a connection. */
export const engineOf = (db: DatabaseSync): Engine => ({
  ...sqlite,
  query: async (statement) => Promise.resolve(rowsIn<Row>(db, statement)),
});

/** Reads what is in a database, in a transaction of it or where nobody else writes. */
export const readerOf = (db: DatabaseSync, keyring: Pick<Keyring, "key">): WholeReader =>
  new WholeReader(engineOf(db), marksOf(db), keyring);

/** Copies tables of a state into a new database. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  of?: readonly Table[],
): Promise<void> {
  migrate(db);
  noteMeta(db, "state", source.marks.state);
  const none = async () => Promise.reject(new TypeError("nothing is sealed here"));
  const target = new Whole(engineOf(db), marksOf(db), { key: none });
  const { predecessors, copies, doubts } = source.marks;
  await target.mark({ predecessors, copies, doubts });
  await target.takeAll(source, of);
}

/** Writes a state into a new file. It is not durable by itself; nothing is left beside it. */
export async function writeStateFile(path: string, source: WholeReader): Promise<void> {
  const db = new DatabaseSync(path);
  try {
    db.exec("BEGIN EXCLUSIVE");
    await copyInto(db, source);
    db.exec("COMMIT");
  } finally {
    db.close();
    for (const suffix of ["-journal", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  }
}
