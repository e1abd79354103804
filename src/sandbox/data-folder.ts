import fs from "node:fs";
import path from "node:path";
import { VaultError } from "../errors.ts";
import { removeLeftovers, replaceFile } from "../files/durable-file.ts";
import { releaseLockFile, tryLockFile } from "../files/lock-file.ts";
import { createFolder } from "../files/private-directory.ts";
import type { State } from "./model.ts";

/**
 * Opens the folder of `--data`, creating it if needed, and locks it: only one sandbox uses it at a
 * time. `state` is that of an earlier one. `save` is durable when it returns; if it throws, the
 * file keeps its former contents. The operating system releases the folder when the process dies.
 * @throws `busy` if another sandbox uses it; `state`, as `save` does, if unusable or damaged
 */
export function openDataFolder(folder: string) {
  const file = path.join(folder, "sandbox.json");
  const trying = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      const { code = "unknown reason" } = cause as NodeJS.ErrnoException;
      throw new VaultError("state", `--data ${folder}: cannot be used (${code})`, { cause });
    }
  };
  const lock = trying(() => {
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
    const saved = trying(() => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined));
    return {
      state: saved === undefined ? undefined : stateIn(file, saved),
      save: (state: State): void =>
        trying(() => replaceFile(file, `${JSON.stringify({ version: 1, state })}\n`)),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** What a vault need not have: 0.2.0 writes null for it. */
const described = new Set(["label", "hashedPin", "device", "creditCard", "content"]);

/**
 * Returns the saved state.
 * @throws `state` for a file that this version of the program has not written
 */
function stateIn(file: string, text: string): State {
  try {
    const { version, state } = JSON.parse(text, (name, value: unknown) =>
      value === null && described.has(name) ? undefined : value,
    ) as { version: number; state?: State };
    if (version === 1 && state !== undefined) return state;
  } catch {
    // Not JSON: as any other file that is not ours.
  }
  const message = `${file}: damaged, or written by another version of this program; it was not changed`;
  const hint = "restore it from a copy, update this program, or choose another directory";
  throw new VaultError("state", message, { hint });
}
