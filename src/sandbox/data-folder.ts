import fs from "node:fs";
import path from "node:path";
import { VaultError } from "../errors.ts";
import { removeLeftovers, replaceFile } from "../files/durable-file.ts";
import { releaseLockFile, tryLockFile } from "../files/lock-file.ts";
import { createFolder } from "../files/private-directory.ts";
import type { State } from "./model.ts";

/** The folder of `--data`, which only one sandbox uses at a time. */
export interface DataFolder {
  /** State of an earlier sandbox; undefined in a new folder. */
  readonly state: State | undefined;
  /**
   * Saves the state, durably when it returns; does nothing if the state has not changed.
   * @throws `state` if the file cannot be written; it keeps its former contents
   */
  save(state: State): void;
  /** Releases the folder; the operating system does so when the process dies. */
  close(): void;
}

/**
 * Opens the folder, creating it if needed, and locks it.
 * @throws `busy` if another sandbox uses the folder, `state` if it cannot be used or its file is damaged
 */
export function openDataFolder(folder: string): DataFolder {
  const file = path.join(folder, "sandbox.json");
  const trying = <T>(what: string, work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      const { code = "unknown reason" } = cause as NodeJS.ErrnoException;
      throw new VaultError("state", `--data ${folder}: cannot be ${what} (${code})`, { cause });
    }
  };
  const lock = trying("created or used", () => {
    if (!fs.existsSync(folder)) createFolder(path.resolve(folder));
    return tryLockFile(path.join(folder, "sandbox.lock"));
  });
  if (lock === null)
    throw new VaultError("busy", `--data ${folder}: another sandbox is using it`, {
      hint: "stop it, or choose another directory",
    });
  const close = (): void => releaseLockFile(lock);
  try {
    removeLeftovers(file);
    let saved = trying("read", () =>
      fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined,
    );
    const state = saved === undefined ? undefined : stateIn(file, saved);
    const save = (now: State): void => {
      const next = `${JSON.stringify({ version: 1, state: now })}\n`;
      if (next === saved) return;
      trying("written", () => replaceFile(file, next));
      saved = next;
    };
    return { state, save, close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Returns the saved state.
 * @throws `state` for a file that this version of the program has not written
 */
function stateIn(file: string, text: string): State {
  try {
    const { version, state } = JSON.parse(text) as { version: number; state?: State };
    if (version === 1 && state !== undefined) return state;
  } catch {
    // Not JSON: as any other file that is not ours.
  }
  const message = `${file}: damaged, or written by another version of this program; it was not changed`;
  const hint = "restore it from a copy, update this program, or choose another directory";
  throw new VaultError("state", message, { hint });
}
