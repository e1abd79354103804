import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { fileIfThere } from "./private-directory.ts";
import { retryWhileBusy } from "./retry-while-busy.ts";
import { isBusy, onState, systemCode } from "./state-error.ts";

/**
 * Takes a lock: a small database in which an exclusive transaction is open; the operating system ends it when the process dies.
 * Null while another process has it. The file is made (mode 0600) and never removed: a lock on a removed file locks nothing.
 * @throws what SQLite or the system throws, and `state` for what is not a file
 */
export function tryLockFile(path: string): DatabaseSync | null {
  createLockFile(path);
  const connection = new DatabaseSync(path);
  try {
    // Nothing is ever written: no journal file, which a killed process would leave behind.
    connection.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Never throws; a second call does nothing. */
export function releaseLockFile(connection: DatabaseSync): void {
  try {
    connection.close();
  } catch {
    // Nothing is written in a lock file, so nothing can be lost; the process's end releases it in any case.
  }
}

/**
 * Does the work with a lock file held; `what` it protects is named by `busy`.
 * @throws `busy`, `interrupted`, `state`
 */
export async function withLockFile<T>(path: string, what: string, clock: Clock, waiting: Waiting, work: () => Promise<T>): Promise<T> {
  const connection = await retryWhileBusy(clock, waiting, 50, () => onState(path, () => tryLockFile(path)));
  if (connection === null) {
    throw new VaultError("busy", `another process is changing ${what}`, { hint: "run it again when that one has finished" });
  }
  try {
    return await work();
  } finally {
    releaseLockFile(connection);
  }
}

/** A lock file is opened by SQLite alone once it exists: POSIX drops a process's locks when it closes any handle. */
function createLockFile(path: string): void {
  if (fileIfThere(path) !== null) return;
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}
