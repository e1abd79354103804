import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { asVaultError, VaultError } from "../../errors.ts";
import { diskOf } from "../../files/disk.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import type { KeyPlace } from "../../secrets/key-source.ts";
import { keyPlace } from "../../secrets/key-source.ts";
import { backupFile, openAll, problemsOf } from "../backup/backup.ts";
import { keyIdOfFile, Keyring, namedKeyId } from "../keys/keyring.ts";
import type { DirectoryFacts, StateFacts } from "../state.ts";
import type { Opening } from "./open-database.ts";
import { isOlder, marksOf, openReadOnly, openSnapshot } from "./open-database.ts";
import { all, one } from "./query.ts";
import { clockJump } from "../statement.ts";
import type { VaultColumns } from "../document.ts";
import { isListed, rowsOf } from "../document.ts";
import { vaultRecord } from "../vault-record.ts";
import type { StoreOptions } from "./state-connection.ts";
import type { VaultLocks } from "./vault-lock.ts";

/** Inspects a state: opens its database read-only, creates nothing but the file of a key of version 0.2.0, and fixes nothing. Never throws. */
export async function inspectState(
  options: StoreOptions,
  opening: Opening,
  locks: Pick<VaultLocks, "holders">,
): Promise<StateFacts> {
  const { directory, keySource } = options;
  const { path } = opening;
  const files = [path, `${path}-wal`, join(directory, "locks")];
  const key = await keyOf(options, keyIdOfFile(path, namedKeyId));
  let found: ReturnType<typeof read> | null = null;
  let problem: VaultError | null = null;
  try {
    if (onState(path, () => statIfThere(path)) !== null)
      found = onState(path, () => read(path, key.keyring, options, locks));
  } catch (error) {
    problem =
      error instanceof VaultError
        ? error
        : new VaultError("state", `the state cannot be used: ${path}: ${String(error)}`);
  }
  const { source, file, id } = key;
  return {
    problem,
    vaults: found?.vaults ?? null,
    locks: found?.locks ?? [],
    queues: found?.queues ?? [],
    place: {
      type: "directory",
      directory,
      damage: found?.damage ?? [],
      isOlder: found?.isOlder ?? false,
      tooOpen: [
        ...tooOpenOf([directory], 0o700),
        ...tooOpenOf(files.slice(0, 2), 0o600),
        ...tooOpenOf(file === null ? [] : [file], 0o600),
        // Listing the folder of the key reveals nothing, so only write permission counts.
        ...tooOpenOf([keySource.folder, dirname(keySource.folder)], 0o755, 0o022),
      ],
      unwritable: unwritableOf([directory, ...files]),
      disk: diskOf(directory),
      keyDisk: keySource.given === undefined ? diskOf(keySource.folder) : null,
      key: {
        source,
        file,
        id,
        opened: found?.opened ?? 0,
        problem: found?.keyProblem ?? key.problem,
      },
      lastBackup: found?.lastBackup ?? null,
    },
  };
}

/** The key that the state needs, or that is given for one that has none yet, as far as it is there. Never throws. */
async function keyOf(
  { keySource, directory, keys }: StoreOptions,
  needed: string | null,
): Promise<KeyPlace & { id: string | null; keyring: Keyring | null; problem: VaultError | null }> {
  try {
    const id = needed ?? (await keySource.given?.read())?.id ?? null;
    // Permissions are reported as `tooOpen`.
    const keyring = new Keyring(keySource, directory, () => undefined, keys);
    await keyring.ensure(needed);
    return { ...keyPlace(keySource, id), id, keyring, problem: null };
  } catch (error) {
    const problem = asVaultError(error);
    return { ...keyPlace(keySource, needed), id: needed, keyring: null, problem };
  }
}

function read(
  path: string,
  keyring: Keyring | null,
  options: StoreOptions,
  locks: Pick<VaultLocks, "holders">,
) {
  const db = openSnapshot(path);
  try {
    const damage = problemsOf(db);
    const at = new Date(options.clock.now()).toISOString();
    const since = marksOf(db);
    const rows = all<VaultColumns>(
      db,
      `SELECT service, uuid, label, kind, doc FROM vaults WHERE ${isListed} ORDER BY service, uuid`,
    );
    const vaults = rows.flatMap((row) => vaultRecord(rowsOf({ ...row, at }, row, since)) ?? []);
    const backup = one<{ at: string; file: string }>(
      db,
      "SELECT at, detail ->> 'file' AS file FROM journal WHERE event = 'backup' ORDER BY seq DESC LIMIT 1",
    );
    return {
      damage,
      isOlder: isOlderAt(path),
      vaults,
      locks: locks.holders(),
      queues: all<{ application: string; next: number }>(
        db,
        "SELECT application, next FROM limiter WHERE reservedAt <= ?",
        options.clock.now() + clockJump,
      ),
      lastBackup: backup === undefined ? null : { ...backup, now: backupFile(backup.file) },
      ...(keyring === null || damage.length > 0 ? {} : tried(db, keyring)),
    };
  } finally {
    db.close();
  }
}

function isOlderAt(path: string): boolean {
  const db = openReadOnly(path);
  try {
    return isOlder(db);
  } finally {
    db.close();
  }
}

/** Tries the key on every sealed value. Never throws. */
function tried(db: DatabaseSync, keyring: Keyring): { opened?: number; keyProblem?: VaultError } {
  try {
    return { opened: openAll(db, keyring) };
  } catch (error) {
    return { keyProblem: asVaultError(error) };
  }
}

function tooOpenOf(
  paths: readonly string[],
  wanted: number,
  unwanted = 0o077,
): DirectoryFacts["tooOpen"] {
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

function unwritableOf(paths: readonly string[]): DirectoryFacts["unwritable"] {
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
