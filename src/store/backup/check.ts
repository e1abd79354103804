import { closeSync, openSync, readSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import { openStates } from "../../exchange/states.ts";
import type { Keyring } from "../keys/keyring.ts";
import { checkNotNewer, schemaVersion, withMode } from "../sqlite/open-database.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { all, one } from "../sqlite/query.ts";
import { listed } from "../statement.ts";
import { applicationId } from "../sqlite/schema.ts";
import { sealedValues } from "../keys/sealed-values.ts";
import { keyIdOf, unseal } from "../../secrets/sealing.ts";
import { onState } from "../../files/state-error.ts";

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

/** Counts what a state holds. Call it in a transaction. */
function holdingsOf(db: DatabaseSync): Holdings {
  const [first] = sealedValues(db);
  return {
    vaults: one<{ n: number }>(db, "SELECT count(*) AS n FROM vaults WHERE forgotten = 0")?.n ?? 0,
    pending:
      one<{ n: number }>(
        db,
        `SELECT count(*) AS n FROM exchanges WHERE state IN (${listed(openStates)})`,
      )?.n ?? 0,
    keyId: first === undefined ? null : keyIdOf(first.sealed),
    format: schemaVersion(db),
  };
}

/**
 * Checks that a file is a whole backup and, with a keyring, that its key opens every sealed value. Does not change the file.
 * @throws `invalid-input` if there is no file, `state` for one that is no backup, is damaged, is newer than this program, or is
 * sealed with another key, which the error names
 */
export function checkBackup(file: string, newest: number, keyring: Keyring | null): Holdings {
  checkHeader(file);
  const what = "the backup cannot be used";
  return onState(
    file,
    () => {
      const db = new DatabaseSync(withMode(file, "ro"), { readOnly: true });
      try {
        checkNotNewer(db, file, newest);
        const [problem] = problemsOf(db);
        if (problem !== undefined) throw unusable(file, `it is damaged (${problem})`);
        if (keyring !== null)
          for (const { place, sealed } of sealedValues(db))
            unseal(keyring.fitting(db), place, sealed);
        return holdingsOf(db);
      } finally {
        db.close();
      }
    },
    what,
  );
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
  const stats = onState(file, () => statIfThere(file), "the backup cannot be used");
  if (stats?.isFile() !== true) {
    throw new VaultError(
      "invalid-input",
      `FILE: ${stats === null ? "no such file:" : "not a file:"} ${file}; nothing was changed`,
      {
        hint: "use a file that vault state backup has written",
      },
    );
  }
  const header = onState(file, () => headerOf(file), "the backup cannot be used");
  if (header === null)
    throw unusable(file, "it is damaged, or was not written by vault state backup");
  if (header.hasWal) {
    throw new VaultError(
      "state",
      `the backup cannot be used: ${file}: it is a copy of a state's database, which is incomplete without its WAL`,
      {
        hint: "nothing was changed; back up a copy of the whole state folder instead; vault state backup FILE --state FOLDER",
      },
    );
  }
}

/** What is now at the path of a backup. */
export type BackupFile = "there" | "gone" | "replaced" | "unreadable";

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
export function headerOf(file: string): { hasWal: boolean } | null {
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

function unusable(file: string, why: string): VaultError {
  return new VaultError("state", `the backup cannot be used: ${file}: ${why}`, {
    hint: "nothing was changed; use another backup",
  });
}
