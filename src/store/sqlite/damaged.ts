import { existsSync, mkdtempSync, readdirSync, renameSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { dirname, join } from "node:path";
import { syncFolder } from "../../files/durable-file.ts";
import { isDamaged } from "../../files/state-error.ts";
import { headerOf, problemsOf } from "../backup/check.ts";
import { withMode } from "./open-database.ts";

/** Whether the database is damaged, or no database of this program, or was just being moved aside. */
export function isUnreadable(path: string): boolean {
  if (!existsSync(path)) return false;
  if (begunAside(dirname(path)) !== undefined) return true;
  try {
    if (!statSync(path).isFile() || headerOf(path) === null) return true;
    // Others may write meanwhile, so it is not opened as immutable.
    const db = new DatabaseSync(withMode(path, "ro"), { readOnly: true });
    try {
      return problemsOf(db).length > 0;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDamaged(error)) return true;
    throw error;
  }
}

/** A folder to which the WAL of a damaged state was moved, and the database was not. */
function begunAside(directory: string): string | undefined {
  const folders = readdirSync(directory).filter((name) => name.startsWith("damaged-"));
  const has = (folder: string, name: string): boolean => existsSync(join(directory, folder, name));
  const begun = folders.find((folder) => has(folder, "vault.db-wal") && !has(folder, "vault.db"));
  return begun && join(directory, begun);
}

/**
 * Moves a damaged database into a folder beside it, and returns that. Its WAL goes first, because a new database must not meet
 * it. Call it with every vault locked.
 */
export function moveAside(directory: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const folder = begunAside(directory) ?? mkdtempSync(join(directory, `damaged-${stamp}-`));
  syncFolder(directory);
  for (const name of ["vault.db-shm", "vault.db-wal", "vault.db"]) {
    if (!existsSync(join(directory, name))) continue;
    renameSync(join(directory, name), join(folder, name));
    syncFolder(folder);
    syncFolder(directory);
  }
  return folder;
}
