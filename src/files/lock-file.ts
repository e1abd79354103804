import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { fileIfThere } from "./private-directory.ts";
import { retryWhileBusy } from "./retry-while-busy.ts";
import { isBusy, onState, systemCode } from "./state-error.ts";

/**
 * Takes a lock: an open exclusive transaction in a small database, which the operating system ends when the process dies. Returns
 * null while another process has it. Creates the file (mode 0600), which is never removed: a lock on a removed file locks nothing.
 * @throws what SQLite or the file system throws, and `state` if the path is not a file
 */
export function tryLockFile(path: string): DatabaseSync | null {
  createLockFile(path);
  const lock = tryLock(path, 0);
  // Whoever only looks, as `isLockTaken` does, is in the way for an instant.
  return lock ?? (isLockTaken(path) ? null : tryLock(path, 50));
}

function tryLock(path: string, timeout: number): DatabaseSync | null {
  const connection = new DatabaseSync(path, { timeout });
  try {
    // A journal file would stay behind a killed process; nothing is ever written, so none is needed.
    connection.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Whether another process has a lock. Does not wait, and makes nobody wait who tries to take it. */
export function isLockTaken(path: string): boolean {
  if (fileIfThere(path) === null) return false;
  const connection = new DatabaseSync(path, { readOnly: true });
  try {
    connection.exec("SELECT 1 FROM sqlite_schema");
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    connection.close();
  }
}

/** Releases a lock. Never throws; a second call does nothing. */
export function releaseLockFile(connection: DatabaseSync): void {
  try {
    connection.close();
  } catch {
    // Nothing can be lost, and the end of the process releases the lock in any case.
  }
}

/**
 * Does the work with a lock file held. `what` names what it protects, for the message of `busy`.
 * @throws `busy` at the deadline, `state`; rejects with the signal's reason when aborted
 */
export async function withLockFile<T>(
  path: string,
  what: string,
  clock: Clock,
  waiting: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const connection = await retryWhileBusy(clock, waiting, 50, () =>
    onState(path, () => tryLockFile(path)),
  );
  if (connection === null) {
    throw new VaultError("busy", `another process is changing ${what}`, {
      hint: "run it again when it has finished",
    });
  }
  try {
    return await work();
  } finally {
    releaseLockFile(connection);
  }
}

/** Creates a lock file unless it exists. Then only SQLite may open it: POSIX drops a process's locks when it closes any descriptor. */
function createLockFile(path: string): void {
  if (fileIfThere(path) !== null) return;
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}
