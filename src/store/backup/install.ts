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

/** In a folder `replaced-…` of the state directory: the prepared database, whole and durable. */
export const prepared = "restored.db";
const database = "vault.db";
const files = [database, `${database}-wal`, `${database}-shm`];

/** Creates the folder for the database that a restore replaces, durably. `at` in milliseconds since the epoch. */
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

/**
 * Moves the database in place, with its WAL, into the folder, then the prepared one out of the folder into its place. A process
 * that is killed in between leaves no database, and the folder with both; whoever opens the state next finishes the restore.
 * Returns the folder if it holds a former database, else null. Call it with every vault locked.
 */
export function install(directory: string, folder: string): string | null {
  for (const name of files) {
    // The WAL is part of the database: after a power loss, neither may be in place without the other.
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

/** Removes the folders of restores that ended before they replaced anything. */
export function removeUnused(directory: string): void {
  for (const folder of keptFolders(directory)) {
    const isOurs = (name: string): boolean => name.replace(/^\./, "").startsWith(prepared);
    if (readdirSync(folder).every(isOurs)) rmSync(folder, { recursive: true });
  }
}

/** The folder of an interrupted restore that has moved the former database away, but not the new one into its place. */
export function interruptedRestore(directory: string): string | null {
  if (existsSync(join(directory, database))) return null;
  return keptFolders(directory).find((folder) => [database, prepared].every((name) => existsSync(join(folder, name)))) ?? null;
}

/**
 * Finishes an interrupted restore and opens the database; returns it with its inode number, or null if there is none. SQLite
 * opens a database and its WAL one after the other, by name: if a restore came in between, both are opened again.
 * @throws what `openDatabase` throws, and `state`
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
    if (onState(path, () => interruptedRestore(directory)) !== null) {
      const waiting = { deadline: clock.elapsed() + 30_000, signal: new AbortController().signal };
      await locks.withAll(waiting, async () => Promise.resolve(onState(path, () => finish(directory))));
    }
    const file = fileNow();
    const connection = await retryBusyDatabase(clock, path, () => openDatabase(opening));
    if (file === fileNow()) return connection === null || file === undefined ? null : { connection, file };
  }
}

/** Finishes an interrupted restore, unless another process has. Call it with every vault locked. */
export function finish(directory: string): void {
  const folder = interruptedRestore(directory);
  if (folder !== null) install(directory, folder);
}

/** The folders that hold the databases which restores have replaced, oldest first. */
export function keptFolders(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).filter((name) => name.startsWith("replaced-"));
  return names
    .sort()
    .map((name) => join(directory, name))
    .filter((path) => statIfThere(path)?.isDirectory() === true);
}
