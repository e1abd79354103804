import { closeSync, openSync, readSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { appendingAlone, ofState } from "../journal.ts";
import { isKnown, raising } from "../document.ts";
import type { Keyring } from "../keyring.ts";
import { marksOf, migrate } from "../sqlite/open-database.ts";
import { all, dialect as sqlite, keyIdIn, noteMeta, one, rowsIn } from "../sqlite/query.ts";
import { openSnapshot } from "../sqlite/snapshot.ts";
import { quoted, type Row, type Table } from "../tables.ts";
import type { StoredState } from "../stored-state.ts";
import { Whole, WholeReader, type Engine } from "../whole/whole.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { asStateError, isDamaged, onState, unusable } from "../../files/state-error.ts";

/** What a backup or a state holds. */
export interface Holdings {
  vaults: number;
  /** Exchanges that wait for an acknowledgement, or are in doubt. */
  pending: number;
  /** Id of the key that opens the sealed values; null if there are none. */
  keyId: string | null;
  /** Version of the schema. */
  format: number;
}

export interface BackupFacts extends Holdings {
  /** Absolute path. */
  file: string;
  /** Size of the file. */
  bytes: number;
  /** Time of the backup, ISO 8601. */
  at: string;
}

/**
 * Writes a backup, of which `copy` writes a snapshot into an empty file, durable or not. Values stay
 * sealed; the key is not copied. The file (mode 0600, alike for both engines) is whole and durable
 * when this resolves, or does not exist. Before, all credentials count as known elsewhere; failing
 * that is a warning.
 * @throws `state` if there is no state, or the file cannot be written
 */
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
      const copied = await contentsOf(temporary, keyring);
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

/** What helps where a backup is damaged. The ways out of a damaged state lead back to it. */
const hint = "nothing was changed; copy it again from where it was made, or use another backup";

const damaged = (file: string, problem: string): VaultError =>
  unusable(file, `it is damaged (${problem})`, { hint }, "the backup");

/**
 * Reads all that is in a backup that nobody else is writing.
 * @throws `state` for what is found wrong with it; what `unopened` makes of a value that does not open
 */
async function contentsOf(
  file: string,
  keyring: Keyring,
  unopened = (error: Error): Error => error,
): Promise<Holdings> {
  const db = openSnapshot(file, "the backup");
  try {
    const [problem] = problemsOf(db);
    if (problem !== undefined) throw damaged(file, problem);
    const keyId = keyIdIn(db);
    await keyring.ensure(keyId);
    await readerOf(db, keyring)
      .openAll()
      .catch((error: unknown) => {
        throw unopened(error as Error);
      });
    const count = (sql: string): number =>
      one<{ n: number }>(db, `SELECT count(*) AS n FROM vaults WHERE ${sql}`)?.n ?? 0;
    const [vaults, pending] = [isKnown, "status = 'open'"].map(count) as [number, number];
    return { vaults, pending, keyId, format: headerOf(file).format };
  } finally {
    db.close();
  }
}

/** What SQLite's header of a database says: that a WAL belongs to it, and who wrote it. */
function headerOf(file: string): { hasWal: boolean; format: number } {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, header);
  } finally {
    closeSync(descriptor);
  }
  return { hasWal: header[18] === 2, format: header.readUInt32BE(60) };
}

/**
 * Checks that a file is a whole backup, and that its key opens every sealed value; changes nothing.
 * `warn` is told of a state's own database that may lack what was written last.
 * @throws `invalid-input` if there is no file, `state` for one that is no backup, is damaged, is
 * newer than this program, or is sealed with another key, which the error names
 */
export async function checkBackup(
  file: string,
  keyring: Keyring,
  warn: (message: string) => void,
): Promise<Holdings> {
  const what = "the backup cannot be used";
  const stats = onState(file, () => statIfThere(file), what);
  if (stats?.isFile() !== true)
    throw new VaultError(
      "invalid-input",
      `FILE: ${stats === null ? "no such file:" : "not a file:"} ${file}; nothing was changed`,
      { hint: "use a file that vault state backup has written" },
    );
  try {
    const holdings = await contentsOf(file, keyring, ({ message }) => damaged(file, message));
    if (headerOf(file).hasWal && !statIfThere(`${file}-wal`)?.size)
      warn(
        `${file} is the database of a state, without its WAL: what was written last may be missing`,
      );
    return holdings;
  } catch (cause) {
    const error = asVaultError(asStateError(file, cause, what));
    const isCircle = error.facts.next?.some(({ argv }) => argv.includes("restore"));
    throw isCircle === true ? new VaultError(error.code, error.message, { hint, cause }) : error;
  }
}

/** What SQLite finds wrong with a database, or with its documents, in at most a few lines. */
export function problemsOf(db: DatabaseSync): string[] {
  const checked = all<{ integrity_check: string }>(db, "PRAGMA integrity_check(5)");
  const found = checked.map((row) => row.integrity_check).filter((line) => line !== "ok");
  if (found.length > 0) return found;
  const where = "NOT (json_valid(doc) AND json_valid(sealed)) LIMIT 5";
  return all<{ uuid: string }>(db, `SELECT uuid FROM vaults WHERE ${where}`).map(
    ({ uuid }) => `the document of vault ${uuid} is not JSON`,
  );
}

/**
 * Runs the SQL of operations on a whole state in a transaction of a connection. Between statements
 * the process hears signals.
 */
export const engineOf = (db: DatabaseSync): Engine => ({
  ...sqlite,
  query: async (statement) => {
    await setImmediate();
    return rowsIn<Row>(db, statement);
  },
});

/** Reads what is in a database, in a transaction of it or where nobody else writes. */
export const readerOf = (db: DatabaseSync, keyring: Pick<Keyring, "key">): WholeReader =>
  new WholeReader(engineOf(db), marksOf(db), keyring);

/** A new database, in which nothing is replaced: rows one by one take half the time of lists. */
class NewDatabase extends Whole {
  readonly #db: DatabaseSync;
  readonly #signal: AbortSignal | undefined;

  constructor(db: DatabaseSync, signal?: AbortSignal) {
    const none = async () => Promise.reject(new TypeError("nothing is sealed here"));
    super(engineOf(db), marksOf(db), { key: none });
    this.#db = db;
    this.#signal = signal;
  }

  override async put(table: Table, rows: readonly Row[]): Promise<void> {
    await setImmediate();
    this.#signal?.throwIfAborted();
    const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== "seq");
    const marks = columns.map(() => "?").join(", ");
    const sql = `INSERT INTO ${table} (${columns.map(quoted).join(", ")}) VALUES (${marks})`;
    const insert = this.#db.prepare(sql);
    for (const row of rows) insert.run(...columns.map((name) => row[name] ?? null));
  }
}

/** Copies tables of a state into a new database. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  of?: readonly Table[],
  signal?: AbortSignal,
): Promise<void> {
  migrate(db);
  noteMeta(db, "state", source.marks.state);
  const target = new NewDatabase(db, signal);
  const { predecessors, copies, doubts } = source.marks;
  await target.mark({ predecessors, copies, doubts });
  await target.takeAll(source, of);
}

/**
 * Writes a state into an empty file, in the place of which messages name `file`. It is not durable
 * by itself; nothing is left beside it.
 */
export async function writeStateFile(
  empty: string,
  file: string,
  source: WholeReader,
  signal?: AbortSignal,
): Promise<void> {
  const db = new DatabaseSync(empty);
  try {
    db.exec("PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE");
    await copyInto(db, source, undefined, signal);
    db.exec("COMMIT");
  } catch (error) {
    // A damaged source is told as that.
    throw isDamaged(error) ? error : asStateError(file, error, "the backup cannot be written");
  } finally {
    db.close();
  }
}
