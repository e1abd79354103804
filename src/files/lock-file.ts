import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { fileIfThere } from "./private-directory.ts";
import { asStateError, isBusy, isDamaged, systemCode, unusable } from "./state-error.ts";

/**
 * Takes a lock alone: an open exclusive transaction in a small database, which the operating system ends when the process dies. Returns
 * null while another process has it. Creates the file (mode 0600), which is never removed: a lock on a removed file locks nothing.
 * `patience`: how long it may keep others from sharing the lock, in milliseconds, to outlast those who do so for an instant.
 * @throws what SQLite or the file system throws, and `state` if the path is not a file
 */
export function tryLockFile(path: string, patience = 50): DatabaseSync | null {
  createLockFile(path);
  const lock = tryLock(path, 0);
  // Whoever only looks, as `isLockTaken` does, is in the way for an instant.
  return lock ?? (isLockTaken(path) ? null : tryLock(path, patience));
}

// A journal file would stay behind a killed process; nothing is ever written, so none is needed.
const tryLock = (path: string, timeout: number): DatabaseSync | null =>
  begin(path, { timeout }, "PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");

/** Takes a lock as others may at the same time, none of them alone; otherwise as `tryLockFile`. */
export function tryShareLockFile(path: string): DatabaseSync | null {
  createLockFile(path);
  return begin(path, { readOnly: true }, "BEGIN; SELECT 1 FROM sqlite_schema");
}

function begin(path: string, options: DatabaseSyncOptions, sql: string): DatabaseSync | null {
  const connection = new DatabaseSync(path, options);
  try {
    connection.exec(sql);
    return connection;
  } catch (error) {
    connection.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Whether a process has a lock alone. Does not wait, creates nothing, and makes nobody wait who tries to take it. */
export function isLockTaken(path: string): boolean {
  if (fileIfThere(path) === null) return false;
  const shared = tryShareLockFile(path);
  if (shared !== null) releaseLockFile(shared);
  return shared === null;
}

/** Releases a lock; a second call does nothing. */
export function releaseLockFile(connection: DatabaseSync): void {
  if (connection.isOpen) connection.close();
}

/**
 * Repeats an attempt, with pauses of at most `longest` milliseconds, until it returns something; null once the deadline has
 * passed. Rejects with what the attempt throws, or with the signal's reason.
 */
export async function retryWhileBusy<T>(
  clock: Clock,
  { deadline, signal }: Pick<Waiting, "deadline"> & Partial<Waiting>,
  longest: number,
  attempt: () => T | null | Promise<T | null>,
): Promise<T | null> {
  for (let pause = 1; ; pause = Math.min(pause * 2, longest)) {
    const result = await attempt();
    if (result !== null) return result;
    const left = deadline - clock.elapsed();
    if (left <= 0) return null;
    await clock.sleep(Math.min(left, pause * (0.5 + Math.random() / 2)), signal);
  }
}

/**
 * Does the work with a lock file held; `told` is the message of `busy`, and says of `interrupted` that nothing was done.
 * @throws `busy` at the deadline, `interrupted`, `state`
 */
export async function withLockFile<T>(
  path: string,
  told: string,
  clock: Clock,
  waiting: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const connection = await retryWhileBusy(clock, waiting, 50, () => tryLockFile(path)).catch(
    (error: unknown) => {
      if (waiting.signal.aborted)
        throw new VaultError("interrupted", `interrupted: ${told}`, { retry: "safe" });
      // Not the state, which `asStateError` would have moved aside: its folder may be anybody's.
      if (isDamaged(error))
        throw unusable(path, "it is not a lock", { hint: "move this one file away" }, "a lock");
      throw asStateError(path, error, "a lock cannot be taken");
    },
  );
  if (connection === null)
    throw new VaultError("busy", told, {
      hint: "run it again when it has finished, or wait longer with --max-wait",
    });
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
