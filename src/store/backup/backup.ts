import { accessSync, constants, lstatSync, realpathSync, statSync, truncateSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { basename, dirname, join, resolve } from "node:path";
import { VaultError } from "../../errors.ts";
import type { Holdings } from "./check.ts";
import { checkBackup } from "./check.ts";
import { append } from "../journal/journal.ts";
import type { Opening } from "../sqlite/open-database.ts";
import { openDatabase } from "../sqlite/open-database.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { checkPrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import { run } from "../sqlite/query.ts";
import type { StoreOptions } from "../local-store.ts";
import { retryBusyDatabase, StateDatabase } from "../sqlite/state-database.ts";
import { asStateError, isBusy, isDamaged, onState, systemCode } from "../../files/state-error.ts";
import type { VaultLocks } from "../sqlite/vault-lock.ts";

/** A state on disk, with what operations on the whole of it need. */
export interface WholeState {
  options: StoreOptions;
  opening: Opening;
  locks: Pick<VaultLocks, "withAll">;
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
 * Copies a snapshot of the whole state into one file while other processes go on. Sealed values stay sealed; the key is not
 * copied. The file (mode 0600) is whole and durable when this resolves, or does not exist. All
 * credentials count as known elsewhere before it exists; a failure to record that is a warning.
 * @throws `invalid-input` for a file that cannot be written or, without `force`, exists; `state` if there is no state, or it
 * cannot be read
 */
export async function backupState(
  { options, opening }: WholeState,
  file: string,
  force: boolean,
): Promise<BackupFacts> {
  checkTarget(options, file, force);
  const isThere = checkPrivateDirectory(options.directory);
  const connection = isThere
    ? await retryBusyDatabase(options.clock, opening.path, () => openDatabase(opening))
    : null;
  if (connection === null) {
    throw new VaultError("state", `there is no state in ${options.directory}; nothing to back up`, {
      hint: "use another directory with --state",
    });
  }
  const at = new Date(options.clock.now()).toISOString();
  const record = async (holdings: Holdings): Promise<void> => {
    const detail = {
      file,
      vaults: holdings.vaults,
      pending: holdings.pending,
      keyId: holdings.keyId,
    };
    const entry = { at, service: "", uuid: "", exchange: null, event: "backup", detail };
    await new StateDatabase(connection, opening.path, options.clock).write((db) => {
      append(db, entry);
      // All pairs are known elsewhere now.
      run(db, "UPDATE credentials SET elsewhere = 1");
    });
  };
  try {
    const holdings = await replaceLater(file, async (temporary) => {
      const copied = await retryBusyDatabase(options.clock, file, () =>
        copyWhole(connection, { path: opening.path, file, temporary }),
      );
      // Before it is there: whoever dies in between leaves no file that the state does not know of.
      await record(copied).catch((error: unknown) => {
        options.warn(
          `the backup is complete, but the journal could not be written: ${(error as Error).message}`,
        );
      });
      return copied;
    });
    return { ...holdings, file, bytes: statSync(file).size, at };
  } catch (error) {
    throw asStateError(file, error, "the backup cannot be written");
  }
}

/** Copies by VACUUM INTO, which reads one snapshot, WAL included, and leaves out what was erased. It is not durable by itself. */
function copyWhole(
  connection: DatabaseSync,
  { path, file, temporary }: { path: string; file: string; temporary: string },
): Holdings {
  try {
    truncateSync(temporary);
    connection.prepare("VACUUM INTO ?").run(temporary);
    return checkBackup(temporary, Number.POSITIVE_INFINITY, null);
  } catch (error) {
    if (isBusy(error)) throw error;
    throw isDamaged(error)
      ? asStateError(path, error)
      : asStateError(file, error, "the backup cannot be written");
  }
}

/** @throws `invalid-input` for a file that cannot be written or, without `force`, exists */
export function checkTarget(
  { directory, keySource }: Pick<StoreOptions, "directory" | "keySource">,
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
  const key = keySource.type === "file" ? statIfThere(resolve(keySource.path)) : null;
  if (key?.ino === there.ino && key.dev === there.dev)
    throw refuse(`${file} is the key file`, elsewhere);
  if (!force)
    throw refuse(`${file} already exists`, "name another file, or replace this one with --force");
}
