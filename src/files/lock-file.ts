import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { ensurePrivateDirectory, fileIfThere } from "./private-directory.ts";
import { isBusy, onState, systemCode } from "./state-error.ts";

/**
 * Takes a lock: a small database in which an exclusive transaction is open; the operating system ends it when the process
 * dies. Null while another process has it. The file is made, in a private directory, and never removed.
 */
export function tryLockFile(path: string): DatabaseSync | null {
  return onState(path, () => {
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
  });
}

export function letGo(connection: DatabaseSync): void {
  try {
    connection.close();
  } catch {
    // Nothing is written in a lock file, so nothing can be lost; the process's end lets it go in any case.
  }
}

/** Does the work with a lock file held; `what` it protects is named by `busy`. Raises `busy`, `interrupted`, `state`. */
export async function withLockFile<T>(path: string, what: string, clock: Clock, waiting: Waiting, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const connection = tryLockFile(path);
    if (connection === null) {
      const left = waiting.deadline - clock.elapsed();
      if (left <= 0)
        throw new VaultError("busy", `another process is changing ${what}`, { hint: "run it again when that one has finished" });
      await clock.sleep(Math.min(left, 20 + Math.random() * 30), waiting.signal);
      continue;
    }
    try {
      return await work();
    } finally {
      letGo(connection);
    }
  }
}

/** A lock file is opened by SQLite alone once it exists: POSIX drops a process's locks when it closes any handle. */
function createLockFile(path: string): void {
  if (fileIfThere(path) !== null) return;
  ensurePrivateDirectory(dirname(path));
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}
