import { attempt } from "../attempt.ts";
import { chmodSync, lstatSync, mkdirSync, statSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncFolder } from "./durable-file.ts";
import { onState, systemCode, unusable } from "./state-error.ts";
import { command } from "../way.ts";

/**
 * Creates a directory that only its owner can use, durably, with missing parents. Checks an existing one with
 * `checkPrivateDirectory`.
 */
export function ensurePrivateDirectory(path: string, what = "the state"): void {
  if (checkPrivateDirectory(path, what)) return;
  onState(path, () => createFolder(resolve(path)), `${what} cannot be used`);
}

/**
 * Creates a folder (mode 0700), durably, with missing parents. Works level by level, because Node's recursive mkdir never ends
 * if the system refuses folders, as in /proc.
 */
export function createFolder(path: string): void {
  const parent = dirname(path);
  if (statIfThere(parent) === null) createFolder(parent);
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if (systemCode(error) !== "EEXIST" || statIfThere(path)?.isDirectory() !== true) throw error;
  }
  syncFolder(parent);
}

/** Whether the directory exists, as `findPrivateDirectory`. Removes the rights of others to read it, if it is ours. */
export function checkPrivateDirectory(path: string, what?: string): boolean {
  const stats = findPrivateDirectory(path, what);
  if (stats === null) return false;
  if ((stats.mode & 0o055) !== 0) onState(path, () => tighten(path, 0o700));
  return true;
}

/**
 * Inspects a directory, for what changes nothing; null if there is none.
 * @throws `state` if it is not a directory, or if others can write to it and so exchange its contents
 */
export function findPrivateDirectory(path: string, what = "the state"): Stats | null {
  const stats = onState(path, () => statIfThere(path), `${what} cannot be used`);
  if (stats === null) return null;
  if (!stats.isDirectory()) {
    const hint = "move that file away, or use another directory";
    throw unusable(path, "a file is where a directory should be", { hint }, what);
  }
  checkWriters(path, stats, what);
  return stats;
}

/** @throws `state` if other users can write to a file or folder */
export function checkWriters(path: string, { mode }: Stats, what: string): void {
  if ((mode & 0o022) === 0) return;
  const next = [command`chmod go-w ${path}`];
  throw unusable(path, "other users can write to it", { next }, what);
}

/**
 * Inspects what is at a path; null if nothing is.
 * @throws Node's error, also if a parent folder is a file
 */
export function statIfThere(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * Inspects a file; null if there is none.
 * @throws `state` for anything else: opening a pipe would never return, writing would change a device, and a dangling link would
 * create a file elsewhere
 */
export function fileIfThere(path: string, what = "the state"): Stats | null {
  const stats = onState(path, () => statIfThere(path), `${what} cannot be used`);
  // A file that another process has created in the meantime is not a link.
  const isLost =
    stats === null && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (stats?.isFile() !== false && !isLost) return stats;
  const hint = "nothing was changed; move it away, then run it again";
  throw unusable(path, isLost ? "it is a broken link" : "it is not a file", { hint }, what);
}

/** Sets the mode of a file or folder, if it is ours and the file system is writable. */
export function tighten(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (systemCode(error) !== "EPERM" && systemCode(error) !== "EROFS") throw error;
  }
}

/**
 * Checks the owner of a file or folder, and of a symbolic link by that name: an owner can exchange the contents, or redirect the
 * link. Does nothing if the path cannot be inspected, or on a system without user ids (`uid` undefined).
 * @throws `state` if it belongs to another user than `uid` or root
 */
export function checkOwner(path: string, uid: number | undefined, what: string): void {
  if (uid === undefined) return;
  const owners = [lstatSync, statSync].map((look) => attempt(() => look(path).uid) ?? uid);
  const foreign = owners.find((owner) => owner !== uid && owner !== 0);
  if (foreign === undefined) return;
  const hint = "run it as that user, give it to yours (chown), or use another place";
  throw unusable(path, `it belongs to another user (uid ${foreign})`, { hint }, what);
}
