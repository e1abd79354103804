import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { dirname, join } from "node:path";
import type { Clock } from "../../exchange/ports.ts";
import type { Opening } from "../sqlite/open-database.ts";
import { openDatabase } from "../sqlite/open-database.ts";
import { syncFolder } from "../../files/durable-file.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { retryBusyDatabase } from "../sqlite/state-database.ts";
import { onState, systemCode } from "../../files/state-error.ts";
import type { VaultLocks } from "../sqlite/vault-lock.ts";

/**
 * The last part of a restore: the database in place goes, with its WAL, into a folder beside it, the prepared one from that
 * folder into its place. A process that is killed in between leaves no database, and the folder with both: whoever opens the
 * state next finishes it. To be called with every vault held.
 */

/** Of a folder `replaced-…` in the state directory: what is ready to be put in place, whole and durable. */
export const prepared = "restored.db";
const database = "vault.db";
const files = [database, `${database}-wal`, `${database}-shm`];

/** A new, durable folder for what a restore replaces. `at` in milliseconds since the epoch. */
export function makeKeptFolder(directory: string, at: number): string {
  const stamp = new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  for (let n = 1; ; n += 1) {
    const folder = join(directory, `replaced-${stamp}${n === 1 ? "" : `-${n}`}`);
    try {
      mkdirSync(folder, { mode: 0o700 });
      syncFolder(directory);
      return folder;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  }
}

/** Puts the prepared database in place. Returns the folder that holds the former one, or null if there was none. */
export function install(directory: string, folder: string): string | null {
  for (const name of files) {
    // The WAL is a part of the database: never one in place without the other, whatever of this reaches the disk.
    if (!existsSync(join(directory, name))) continue;
    renameSync(join(directory, name), join(folder, name));
    syncFolder(folder);
    syncFolder(directory);
  }
  renameSync(join(folder, prepared), join(directory, database));
  syncFolder(directory);
  if (readdirSync(folder).length > 0) return folder;
  rmdirSync(folder);
  return null;
}

/** Removes the folders of restores that ended before they had replaced anything: those that hold nothing else. */
export function removeUnused(directory: string): void {
  for (const folder of keptFolders(directory)) {
    const isOurs = (name: string): boolean => name.replace(/^\./, "").startsWith(prepared);
    if (readdirSync(folder).every(isOurs)) rmSync(folder, { recursive: true });
  }
}

/** The folder of a restore that was cut off between taking the former database away and putting the new one in place. */
export function leftRestore(directory: string): string | null {
  if (existsSync(join(directory, database))) return null;
  return keptFolders(directory).find((folder) => [database, prepared].every((name) => existsSync(join(folder, name)))) ?? null;
}

/**
 * `openDatabase`, after finishing a restore that was cut off; with the number of the file that it opened. A database and its
 * WAL are opened one after the other, by their names: where a restore came between them, both are opened anew.
 */
export async function openFinished(
  opening: Opening,
  locks: Pick<VaultLocks, "withAll">,
  clock: Clock,
): Promise<{ connection: DatabaseSync; file: number } | null> {
  const { path } = opening;
  const directory = dirname(path);
  const fileNow = (): number | undefined => onState(path, () => statIfThere(path))?.ino;
  for (;;) {
    if (onState(path, () => leftRestore(directory)) !== null) {
      const waiting = { deadline: clock.elapsed() + 30_000, signal: new AbortController().signal };
      await locks.withAll(waiting, async () => Promise.resolve(onState(path, () => finish(directory))));
    }
    const file = fileNow();
    const connection = await retryBusyDatabase(clock, path, () => openDatabase(opening));
    if (file === fileNow()) return connection === null || file === undefined ? null : { connection, file };
  }
}

/** Another process may have been faster. */
export function finish(directory: string): void {
  const folder = leftRestore(directory);
  if (folder !== null) install(directory, folder);
}

/** The folders of what restores have replaced in a state, oldest first. */
export function keptFolders(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).filter((name) => name.startsWith("replaced-"));
  return names
    .sort()
    .map((name) => join(directory, name))
    .filter((path) => statIfThere(path)?.isDirectory() === true);
}
