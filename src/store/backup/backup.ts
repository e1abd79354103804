import {
  closeSync,
  openSync,
  readSync,
  accessSync,
  constants,
  existsSync,
  lstatSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { appendingAlone } from "../journal/journal.ts";
import type { SealedRow } from "../document.ts";
import { isKnown, raising, sealedValuesOf } from "../document.ts";
import type { Keyring } from "../keys/keyring.ts";
import { neededKeyId } from "../keys/keyring.ts";
import { checkNotNewer, schemaVersion, withMode } from "../sqlite/open-database.ts";
import { all, one } from "../sqlite/query.ts";
import { applicationId } from "../sqlite/schema.ts";
import type { Dialect, Statement } from "../statement.ts";
import { listed } from "../statement.ts";
import type { BackupFacts, BackupFile, Holdings } from "../state.ts";
import { VaultError } from "../../errors.ts";
import { openStates } from "../../exchange/states.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { onState, asStateError, isDamaged, systemCode } from "../../files/state-error.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { unseal } from "../../secrets/sealing.ts";
import { command } from "../../way.ts";

interface Writing {
  /** Absolute path. */
  file: string;
  /** Time of the backup, in milliseconds since the epoch. */
  now: number;
  warn: (message: string) => void;
  /** Takes a snapshot into an empty file, which need not be durable. */
  copy: (temporary: string) => Promise<void>;
  /** Has the key that seals what is copied. */
  keyring: Keyring;
  /** Of the state, and what changes it. */
  dialect: Dialect;
  change: (statements: readonly Statement[]) => Promise<void>;
}

/** Writes a backup, as `WholeState.backup` says. */
export async function writeBackup(writing: Writing): Promise<BackupFacts> {
  const { file, now, warn, copy, keyring, dialect, change } = writing;
  const at = new Date(now).toISOString();
  try {
    const holdings = await replaceLater(file, async (temporary) => {
      await copy(temporary);
      const copied = onOpened(temporary, (db) => readBack(db, keyring));
      const { vaults, pending, keyId } = copied;
      const detail = { file, vaults, pending, keyId };
      const entry = { at, service: "", uuid: "", exchange: null, event: "backup", detail };
      // After the snapshot, so that all that is in it is known elsewhere; and before the file is there: whoever dies in between leaves
      // none that the state does not know of.
      await change([raising(dialect, "copies"), appendingAlone(dialect, entry)]).catch(
        (error: unknown) =>
          warn(`the state could not record the backup: ${(error as Error).message}`),
      );
      return copied;
    });
    return { ...holdings, file, bytes: statSync(file).size, at };
  } catch (error) {
    throw asStateError(file, error, "the backup cannot be written");
  }
}

/**
 * Reads what was written for a backup.
 * @throws `state` for what is damaged in the state, or does not open
 */
function readBack(db: DatabaseSync, keyring: Keyring): Holdings {
  const [problem] = problemsOf(db);
  if (problem !== undefined)
    throw new VaultError("state", `the state is damaged (${problem}); no backup was written`, {
      next: [command`vault doctor`],
    });
  openAll(db, keyring);
  return holdingsOf(db);
}

/** @throws `invalid-input` for a file that cannot be written or, without `force`, exists */
export function checkTarget(
  { directory, keySource }: { directory: string; keySource: KeySource },
  file: string,
  force: boolean,
): void {
  const refuse = (why: string, hint: string): VaultError =>
    new VaultError("invalid-input", `FILE: ${why}; nothing was written`, { hint });
  const elsewhere = "name a file in a folder that you can write to, such as ./vault-backup.db";
  const folder = dirname(file);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const missing = systemCode(error) === "ENOENT";
    throw refuse(
      `the folder ${folder} ${missing ? "does not exist" : `cannot be written to (${String(systemCode(error))})`}`,
      elsewhere,
    );
  }
  const real = join(realpathSync(folder), basename(file));
  if (
    onState(directory, () => statIfThere(directory)) !== null &&
    `${dirname(real)}/`.startsWith(`${realpathSync(directory)}/`)
  ) {
    throw refuse(
      `${file} is in the folder of the state itself`,
      "name another file, best on another disk",
    );
  }
  const there = lstatSync(file, { throwIfNoEntry: false }) ?? null;
  if (there === null) return;
  if (!there.isFile())
    throw refuse(
      `${file} is ${there.isSymbolicLink() ? "a symbolic link" : "not a file"}`,
      elsewhere,
    );
  if (existsSync(keySource.folder) && dirname(real) === realpathSync(keySource.folder))
    throw refuse(`${file} is a key file`, elsewhere);
  if (!force)
    throw refuse(`${file} already exists`, "name another file, or replace this one with --force");
}

/** Counts what a state holds. Call it in a transaction. */
function holdingsOf(db: DatabaseSync): Holdings {
  const count = (sql: string): number =>
    one<{ n: number }>(db, `SELECT count(*) AS n FROM ${sql}`)?.n ?? 0;
  const format = schemaVersion(db);
  return {
    ...(format === 1
      ? {
          vaults: count("vaults WHERE forgotten = 0"),
          pending: count(`exchanges WHERE state IN (${listed(openStates)})`),
        }
      : {
          vaults: count(`vaults WHERE ${isKnown}`),
          pending: count("vaults WHERE status = 'open'"),
        }),
    keyId: neededKeyId(db),
    format,
  };
}

/**
 * Checks that a file is a whole backup, and that its key opens every sealed value. Does not change the file.
 * @throws `invalid-input` if there is no file, `state` for one that is no backup, is damaged, is newer than this program, or is
 * sealed with another key, which the error names
 */
export function checkBackup(file: string, keyring: Keyring): Holdings {
  checkHeader(file);
  return onBackup(file, () =>
    onOpened(file, (db) => {
      checkNotNewer(db, file);
      const [problem] = problemsOf(db);
      if (problem !== undefined) throw damaged(file, problem);
      try {
        openAll(db, keyring);
      } catch (error) {
        throw damaged(file, (error as Error).message);
      }
      return holdingsOf(db);
    }),
  );
}

function onOpened<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(withMode(file, "ro"), { readOnly: true });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/**
 * Opens every sealed value, one after the other, and returns their number. Of what version 0.2.0 has written nothing can be opened yet.
 * @throws `state` for the first that does not open
 */
export function openAll(db: DatabaseSync, keyring: Keyring): number {
  let opened = 0;
  if (schemaVersion(db) === 1) return opened;
  let key: SealingKey | null = null;
  for (const sql of [
    "SELECT service, uuid, sealed FROM vaults",
    "SELECT service, uuid, exchange, digest FROM runs WHERE digest IS NOT NULL",
  ])
    for (const row of db.prepare(sql).iterate())
      for (const { place, value } of sealedValuesOf(row as unknown as SealedRow)) {
        unseal((key ??= keyring.fitting(db)), place, value);
        opened += 1;
      }
  return opened;
}

/** Runs work on a backup, and converts what it throws to `state`: not to the error of a state, which a restore helps. */
export function onBackup<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isDamaged(error)) throw damaged(file, (error as Error).message);
    throw asStateError(file, error, "the backup cannot be used");
  }
}

/** What SQLite finds wrong with a database, in at most a few lines. */
export function problemsOf(db: DatabaseSync): string[] {
  const found = all<{ integrity_check: string }>(db, "PRAGMA integrity_check(5)").map(
    (row) => row.integrity_check,
  );
  const broken = all<{ table: string; rowid: number | null }>(db, "PRAGMA foreign_key_check");
  return [
    ...found.filter((line) => line !== "ok"),
    ...broken.slice(0, 5).map(({ table }) => `a row of ${table} refers to nothing`),
  ];
}

/** @throws `invalid-input` if there is no file, `state` unless it is a database of this program without a WAL, as backups are */
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
    throw unusable(file, "it is damaged, or was not written by vault state backup");
  if (header.hasWal) {
    throw new VaultError(
      "state",
      `the backup cannot be used: ${file}: it is a copy of a state's database, which is incomplete without its WAL`,
      {
        hint: "nothing was changed; back up a copy of the whole state folder instead",
        next: [command`vault state backup FILE --state FOLDER`],
      },
    );
  }
}

/** Judges by the header alone. */
export function backupFile(file: string): BackupFile {
  try {
    if (statIfThere(file) === null) return "gone";
    return headerOf(file)?.hasWal === false ? "there" : "replaced";
  } catch {
    return "unreadable";
  }
}

/** Reads the header of a database, as SQLite documents it; null for a file that this program did not make. */
function headerOf(file: string): { hasWal: boolean } | null {
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
  return { hasWal: header[18] === 2 };
}

const damaged = (file: string, problem: string): VaultError =>
  unusable(
    file,
    `it is damaged (${problem})`,
    "copy it again from where it was made, or use another backup",
  );

function unusable(file: string, why: string, what = "use another backup"): VaultError {
  return new VaultError("state", `the backup cannot be used: ${file}: ${why}`, {
    hint: `nothing was changed; ${what}`,
  });
}
