import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { VaultError } from "../errors.ts";
import type { VaultRecord } from "../exchange/records.ts";
import type { BackupFile } from "./backup/check.ts";
import { backupFile, holdingsOf, problemsOf } from "./backup/check.ts";
import type { WholeState } from "./backup/backup.ts";
import type { DiskFacts } from "../files/disk.ts";
import { diskOf } from "../files/disk.ts";
import type { KeyFacts } from "./keys/inspect-key.ts";
import { keyFacts } from "./keys/inspect-key.ts";
import { checkOurs } from "./sqlite/open-database.ts";
import { openReadOnly } from "./sqlite/open-read-only.ts";
import { statIfThere } from "../files/private-directory.ts";
import { all, one } from "./sqlite/query.ts";
import { listVaults } from "./sqlite/read-vaults.ts";
import { onState } from "../files/state-error.ts";

/** What can be found out about a state without changing anything. */
export interface StateFacts {
  directory: string;
  /** Null if there is no state yet, or it cannot be read. */
  contents: Contents | null;
  /** Why the state cannot be read. */
  problem: VaultError | null;
  /** Files and folders that others can read or write. */
  tooOpen: { path: string; mode: number; wanted: number }[];
  /** The first file or folder that cannot be read and written, with the system's error code. */
  unwritable: { path: string; code: string } | null;
  disk: DiskFacts | null;
  key: KeyFacts;
}

export interface Contents {
  /** What SQLite finds wrong with the database; empty if nothing is. */
  damage: string[];
  format: number;
  vaults: VaultRecord[];
  /** When the next place under the rate limit of each application is free, in milliseconds since the epoch. */
  queues: { application: string; next: number }[];
  /** Lifetime of the newest token in seconds; null if unknown. */
  tokenSeconds: number | null;
  /** The newest backup in the journal, and what is at its path now. */
  lastBackup: { at: string; file: string; now: BackupFile } | null;
}

/** Inspects a state: opens its database read-only, creates nothing and fixes nothing. Never throws. */
export function inspectState({ options, opening }: WholeState): StateFacts {
  const { directory } = options;
  const { path } = opening;
  const files = [path, `${path}-wal`, join(directory, "locks")];
  let found: { contents: Contents; key: KeyFacts } | null = null;
  let problem: VaultError | null = null;
  try {
    if (onState(path, () => statIfThere(path)) !== null)
      found = onState(path, () => read(path, opening.migrations.length, options));
  } catch (error) {
    problem =
      error instanceof VaultError
        ? error
        : new VaultError("state", `the state cannot be used: ${path}: ${String(error)}`);
  }
  return {
    directory,
    contents: found?.contents ?? null,
    problem,
    tooOpen: [
      ...tooOpenOf([directory], 0o700),
      ...tooOpenOf(files.slice(0, 2), 0o600),
      ...tooOpenOf(keyFiles(options), 0o600),
      // Listing the folder of the key reveals nothing, so only write permission counts.
      ...tooOpenOf(keyFiles(options).map(dirname), 0o755, 0o022),
    ],
    unwritable: unwritableOf([directory, ...files]),
    disk: diskOf(directory),
    key: found?.key ?? keyFacts(options, null, []),
  };
}

function read(
  path: string,
  newest: number,
  options: WholeState["options"],
): { contents: Contents; key: KeyFacts } {
  const db = openReadOnly(path);
  try {
    db.exec("BEGIN");
    checkOurs(db, path, newest);
    const damage = problemsOf(db);
    const { format } = holdingsOf(db);
    const vaults = listVaults(db);
    const token = one<{ started_at: string; token_expiry: string }>(
      db,
      "SELECT started_at, token_expiry FROM exchanges WHERE token_expiry IS NOT NULL ORDER BY seq DESC LIMIT 1",
    );
    const backup = one<{ at: string; file: string }>(
      db,
      "SELECT at, detail ->> 'file' AS file FROM journal WHERE event = 'backup' ORDER BY seq DESC LIMIT 1",
    );
    const contents: Contents = {
      damage,
      format,
      vaults,
      queues: all<{ application: string; next: number }>(
        db,
        "SELECT application, next FROM limiter",
      ),
      tokenSeconds:
        token === undefined ? null : secondsBetween(token.started_at, token.token_expiry),
      lastBackup: backup === undefined ? null : { ...backup, now: backupFile(backup.file) },
    };
    return { contents, key: keyFacts(options, db, damage) };
  } finally {
    db.close();
  }
}

function secondsBetween(from: string, to: string): number | null {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return seconds > 0 ? seconds : null;
}

const keyFiles = ({ keySource }: WholeState["options"]): string[] =>
  keySource.type === "file" ? [keySource.path] : [];

function tooOpenOf(
  paths: readonly string[],
  wanted: number,
  unwanted = 0o077,
): StateFacts["tooOpen"] {
  return paths.flatMap((path) => {
    const mode = modeOf(path);
    return mode === null || (mode & unwanted) === 0 ? [] : [{ path, mode, wanted }];
  });
}

function modeOf(path: string): number | null {
  try {
    const stats = statIfThere(path);
    return stats === null ? null : stats.mode & 0o777;
  } catch {
    return null;
  }
}

function unwritableOf(paths: readonly string[]): StateFacts["unwritable"] {
  for (const path of paths.filter((each) => existsSync(each))) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
      if (path.endsWith("locks"))
        for (const name of readdirSync(path))
          accessSync(join(path, name), constants.R_OK | constants.W_OK);
    } catch (error) {
      return { path, code: (error as NodeJS.ErrnoException).code ?? "" };
    }
  }
  return null;
}
