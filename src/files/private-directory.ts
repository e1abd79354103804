import type { Stats } from "node:fs";
import { chmodSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { VaultError } from "../errors.ts";
import { syncFolder } from "./durable-file.ts";
import { onState, systemCode } from "./state-error.ts";

/**
 * Makes a directory that only its owner can use, durably, with the parents that it lacks; an existing one is checked
 * as `checkPrivateDirectory` does.
 */
export function ensurePrivateDirectory(path: string): void {
  if (checkPrivateDirectory(path)) return;
  onState(path, () => makeFolder(resolve(path)));
}

/**
 * Makes a folder (mode 0700), durably, with the parents that it lacks. One level at a time: Node's recursive mkdir never ends where
 * the system takes no folders, as in /proc.
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  if (statIfThere(parent) === null) makeFolder(parent);
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if (systemCode(error) !== "EEXIST" || statIfThere(path)?.isDirectory() !== true) throw error;
  }
  syncFolder(parent);
}

/** As `findPrivateDirectory`; one that others can only read is tightened, if it is ours. */
export function checkPrivateDirectory(path: string): boolean {
  const stats = findPrivateDirectory(path);
  if (stats === null) return false;
  if ((stats.mode & 0o055) !== 0) tighten(path, 0o700);
  return true;
}

/** The directory, or null if there is none. One that others can write to is refused (`state`): they could exchange what is in it. */
export function findPrivateDirectory(path: string): Stats | null {
  const stats = onState(path, () => statIfThere(path));
  if (stats === null) return null;
  if (!stats.isDirectory()) {
    throw new VaultError("state", `the state cannot be used: ${path}: a file is where a directory should be`, {
      hint: "move that file away, or name another directory with --state",
    });
  }
  if ((stats.mode & 0o022) !== 0) {
    throw new VaultError("state", `the state cannot be used: ${path}: other users can write to this directory`, {
      hint: `chmod go-w ${path}, or name a directory of your own below it`,
    });
  }
  return stats;
}

/** Null if there is nothing of that name. A file in the place of a folder on the way is an error. */
export function statIfThere(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * The file of that name, or null if there is nothing.
 * @throws `state` for anything else: a pipe would be waited for without end, a device would be changed, and by a link that leads
 * nowhere a file would be made elsewhere
 */
export function fileIfThere(path: string): Stats | null {
  const stats = onState(path, () => statIfThere(path));
  // Another process may have made it just now: that is no link.
  const isLost = stats === null && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (stats?.isFile() !== false && !isLost) return stats;
  throw new VaultError("state", `the state cannot be used: ${path}: ${isLost ? "it is a link that leads nowhere" : "it is not a file"}`, {
    hint: "nothing was changed: move it away, then run it again",
  });
}

/** Takes all rights from others; where the file is not ours it stays as it is. */
export function tighten(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (systemCode(error) !== "EPERM" && systemCode(error) !== "EROFS") throw error;
  }
}
