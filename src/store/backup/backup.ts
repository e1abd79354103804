import { createReadStream, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import {
  isKnown,
  mapSealed,
  nameOf,
  parseStored,
  raising,
  resealing,
  rowsOf,
  type VaultColumns,
} from "../document.ts";
import { Keyring } from "../keyring.ts";
import {
  all,
  dialect as sqlite,
  keyIdIn,
  marksOf,
  migrate,
  noteMeta,
  one,
  rowsIn,
} from "../sqlite/database.ts";
import { openSnapshot } from "../sqlite/snapshot.ts";
import { keyOf, type Owner } from "../steps/generations.ts";
import type { VaultRows } from "../steps/rows.ts";
import { appendingAlone, marking, ofState, quoted } from "../tables.ts";
import type { Row, Table } from "../tables.ts";
import type { StoredState } from "../stored-state.ts";
import * as version1 from "../version-1.ts";
import { withPredecessors } from "../whole/marks.ts";
import { marksAt, tables, WholeReader } from "../whole/whole.ts";
import type { Engine, WholePlace } from "../whole/whole.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { BackupFacts, RestoredVault } from "../../documents/state.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { asStateError, isDamaged, onState, unusable } from "../../files/state-error.ts";
import { ofBackup, type GivenKey } from "../../secrets/keys.ts";
import { command, noted } from "../../way.ts";
import { countedThere, restoreVault } from "./restore-vault.ts";

/** A state that is copied to a backup, or into which one is restored. */
interface Place extends WholePlace {
  readonly store: Pick<StoredState, "dialect" | "lock" | "parts" | "record">;
}

const isUnwritable = "the backup cannot be written";
const isUnusable = "the backup cannot be used";

/**
 * Writes a backup of a state that is there. Values stay sealed; the key is not copied. The file
 * (mode 0600, alike for both engines) is whole and durable when this resolves, or does not exist.
 * Before, all credentials count as known elsewhere; failing that is a warning.
 * @throws `state` if the state cannot be read, or the file not be written
 */
export async function writeBackup(
  place: Place,
  file: string,
  signal?: AbortSignal,
): Promise<BackupFacts> {
  const { store } = place;
  const { dialect, parts } = store;
  const { clock, warn, keyring } = parts;
  const now = clock.now();
  try {
    const holdings = await replaceLater(file, async (temporary) => {
      await place.read(async (source) => {
        const db = new DatabaseSync(temporary);
        try {
          // It is synced as a whole, and nothing is left beside it.
          db.exec("PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE");
          await copyInto(db, source, tables, signal);
          db.exec("COMMIT");
        } catch (error) {
          // A damaged source is told as that.
          throw isDamaged(error) ? error : asStateError(file, error, isUnwritable);
        } finally {
          db.close();
        }
      });
      const copied = await contentsOf(temporary, keyring, warn);
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
    throw asStateError(file, error, isUnwritable);
  }
}

/** Copies tables of a state into an empty database; rows one by one take half the time of lists. */
export async function copyInto(
  db: DatabaseSync,
  source: WholeReader,
  of: readonly Table[],
  signal?: AbortSignal,
): Promise<void> {
  migrate(db, version1);
  const { state, key, predecessors, copies, doubts } = source.marks;
  noteMeta(db, "state", state);
  if (key !== null) noteMeta(db, "key", key);
  for (const [name, value] of Object.entries({ predecessors, copies, doubts }))
    noteMeta(db, name, JSON.stringify(value));
  for (const table of of)
    for await (const rows of source.rows(table)) {
      signal?.throwIfAborted();
      const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== "seq");
      const marks = columns.map(() => "?").join(", ");
      const insert = db.prepare(
        `INSERT INTO ${table} (${columns.map(quoted).join(", ")}) VALUES (${marks})`,
      );
      for (const row of rows) insert.run(...columns.map((name) => row[name] ?? null));
    }
}

/** What helps where a backup is damaged. The ways out of a damaged state lead back to it. */
const hint = "nothing was changed; copy it again from where it was made, or use another backup";

const damaged = (file: string, problem: string): VaultError =>
  unusable(file, `it is damaged (${problem})`, { hint }, "the backup");

/**
 * Reads all that is in a backup that nobody else is writing. `warn` is told of a state's own
 * database that may lack what was written last.
 * @throws `state` for what is found wrong with it; what `unopened` makes of a value that does not open
 */
async function contentsOf(
  file: string,
  keyring: Keyring,
  warn: (message: string) => void,
  unopened = (error: Error): Error => error,
): Promise<Holdings> {
  const db = openSnapshot(file, "the backup");
  try {
    const [problem] = problemsOf(db);
    if (problem !== undefined) throw damaged(file, problem);
    const reader = readerOf(db, keyring);
    // That this machine lacks the key is told as that.
    await reader.key();
    await reader.openAll().catch((error: unknown) => {
      throw unopened(error as Error);
    });
    const count = (sql: string): number =>
      one<{ n: number }>(db, `SELECT count(*) AS n FROM vaults WHERE ${sql}`)?.n ?? 0;
    const [vaults, pending] = [isKnown, "status = 'open'"].map(count) as [number, number];
    // SQLite's: that a WAL belongs to the file, and who wrote it.
    const header = await buffer(createReadStream(file, { end: 99 }));
    if (header[18] === 2 && !statIfThere(`${file}-wal`)?.size)
      warn(
        `${file} is the database of a state, without its WAL: what was written last may be missing`,
      );
    return { vaults, pending, keyId: keyIdIn(db), format: header.readUInt32BE(60) };
  } finally {
    db.close();
  }
}

/**
 * Checks that a file is a whole backup, and that its key opens every sealed value; changes nothing.
 * @throws `invalid-input` if there is no file, `state` for one that is no backup, is damaged, is
 * newer than this program, or is sealed with another key, which the error names
 */
async function checkBackup(
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
    return await contentsOf(file, keyring, warn, ({ message }) => damaged(file, message));
  } catch (cause) {
    const error = asVaultError(asStateError(file, cause, isUnusable));
    const isCircle = error.facts.next?.some(({ argv }) => argv.includes("restore"));
    throw isCircle === true ? new VaultError(error.code, error.message, { hint, cause }) : error;
  }
}

/** What SQLite finds wrong with a database, or with its documents, in at most a few lines. */
export function problemsOf(db: DatabaseSync): string[] {
  const checked = all<{ integrity_check: string }>(db, "PRAGMA integrity_check(5)");
  const found = checked.map((row) => row.integrity_check).filter((line) => line !== "ok");
  if (found.length > 0) return found;
  const sql = "SELECT uuid, doc, sealed FROM vaults WHERE status <> 'absent'";
  for (const row of db.prepare(sql).iterate() as Iterable<VaultColumns>)
    try {
      parseStored(row.uuid, row);
    } catch (error) {
      return [(error as Error).message];
    }
  return [];
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

export interface RestoreFacts {
  vaults: RestoredVault[];
  /** Vaults that others held for too long; nothing of them was restored. */
  failed: { service: string; uuid: string; label: string | null; error: VaultError }[];
}

type Holdings = Pick<BackupFacts, "vaults" | "pending" | "keyId" | "format">;

/** A restore that was prepared: nothing is changed yet. */
export interface Restore {
  backup: Holdings;
  /** There is no state yet that holds anything. */
  isEmpty: boolean;
  /** @throws `interrupted`, `state`, with some of the vaults restored; `busy` before that */
  run: (waiting: Waiting) => Promise<RestoreFacts>;
}

/**
 * Prepares a restore; `given` is the key of the file if that is not this state's. Each vault is
 * restored under its own lock: killed at any instant and run again, it has the same result.
 * @throws `invalid-input`, `state` for a file that is no whole backup, or an unusable present state
 */
export async function prepareRestore(
  place: Place,
  file: string,
  given?: GivenKey,
): Promise<Restore> {
  const { keySource, warn, keys } = place.store.parts;
  const keyring = new Keyring(ofBackup(keySource, given), file, warn, keys);
  const backup = await checkBackup(file, keyring, warn);
  const isEmpty = (await place.read(async (here) => await here.isEmpty())) ?? true;
  const run = async (waiting: Waiting): Promise<RestoreFacts> => {
    const db = onState(file, () => openSnapshot(file, "the backup"), isUnusable);
    try {
      return await restoreAll(place, file, readerOf(db, keyring), waiting);
    } finally {
      db.close();
    }
  };
  return { backup, isEmpty, run };
}

async function restoreAll(
  place: Place,
  file: string,
  source: WholeReader,
  waiting: Waiting,
): Promise<RestoreFacts> {
  const { store } = place;
  const { dialect, parts } = store;
  const from = await source.key();
  const at = new Date(parts.clock.now()).toISOString();
  const rowsAt = (row: VaultColumns): VaultRows => rowsOf({ ...row, at }, row, source.marks);
  const counted: string[] = [];
  for await (const row of source.vaults()) counted.push(...countedThere(rowsAt(row)).ids);
  const past = new Set(await place.read(async (here) => await here.exchangesAmong(counted)));
  const vaults: RestoredVault[] = [];
  const failed: RestoreFacts["failed"] = [];
  const restoreOne = async (row: VaultColumns): Promise<void> => {
    const { service, uuid, label } = row;
    const { credentials, superseded } = rowsAt(row);
    const spent = new Set([...superseded, ...(await source.spent(row))]);
    const prints = [...spent, ...credentials.map(({ fingerprint }) => fingerprint)];
    try {
      const session = await store.lock(service, uuid, waiting, false);
      const restore = async (isLabelTaken: boolean): Promise<RestoredVault> =>
        await session.run((rows) => {
          const theirs = rowsAt(mapSealed(row, resealing(from, keyOf(rows))));
          return restoreVault(rows, { ...theirs, superseded: spent }, { past, isLabelTaken });
        }, prints);
      try {
        vaults.push(
          await restore(false).catch(async (error: unknown) => {
            // A label that another vault has here is dropped.
            if (!(error instanceof VaultError) || error.code !== "usage") throw error;
            return await restore(true);
          }),
        );
      } finally {
        await session.release();
      }
    } catch (cause) {
      const error = asVaultError(cause);
      const next = [noted(command`vault state restore ${file}`, "restores what is missing")];
      const facts = { retry: "safe", next } as const;
      if (error.code === "interrupted")
        throw new VaultError("interrupted", "interrupted; the restore is incomplete", facts);
      if (error.code !== "busy") throw error;
      failed.push({ service, uuid, label, error });
    }
  };
  await eachOf(source.vaults(), vaultsAtATime, restoreOne);
  const { state, predecessors: former } = source.marks;
  const predecessors = withPredecessors((await marksAt(place)) ?? source.marks, [state, ...former]);
  const taken = vaults.filter(({ reason }) => reason === "taken").length;
  await store.record(
    appendingAlone(dialect, ofState("restored", parts.clock.now(), { file, taken })),
    marking(dialect.prefix, "predecessors", JSON.stringify(predecessors)),
  );
  const byName = (a: Owner, b: Owner): number => (nameOf(a) < nameOf(b) ? -1 : 1);
  return { vaults: vaults.toSorted(byName), failed: failed.toSorted(byName) };
}
