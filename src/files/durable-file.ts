import { closeSync, fsyncSync, linkSync, lstatSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Writes a new, empty file (mode 0600), by its path or its descriptor; what it has written is synced afterwards. */
type Fill<T> = (temporary: string, descriptor: number) => T;

const ending = ".vault-new";

/** Of the runtime's own crypto: importing the module would load it for completion, too. */
const randomHex = (digits: number): string => crypto.randomUUID().replaceAll("-", "").slice(-digits);

/**
 * Replaces a file as a whole, mode 0600, durable when it returns: written beside it, synced, renamed, the folder synced. At
 * every instant the path holds the former content or the new one.
 *
 * @throws Node's error, with what is `inTheWay` as its code.
 */
export function replaceFile(path: string, contents: string | Uint8Array | Iterable<string>): void {
  const why = inTheWay(path);
  if (why !== null) throw Object.assign(new Error(`it is ${why}`), { code: why });
  replaceWith(path, (_, descriptor) => {
    const isWhole = typeof contents === "string" || contents instanceof Uint8Array;
    for (const part of isWhole ? [contents] : contents) writeFileSync(descriptor, part);
  });
}

/** As `replaceFile`, for what writes the file itself. A link of that name is replaced, not followed. */
export function replaceWith<T>(path: string, fill: Fill<T>): T {
  return putInPlace(path, join(dirname(resolve(path)), `.${basename(path)}.${randomHex(16)}${ending}`), fill, renameSync);
}

/** Makes a file in the same way, where there is none. Of several processes that do this at once one wins, and all go on with its file. */
export function createFile(path: string, fill: Fill<unknown>): void {
  putInPlace(path, `${path}.new-${randomHex(12)}`, fill, (temporary) => {
    linkUnlessThere(temporary, path);
    rmSync(temporary);
  });
}

function putInPlace<T>(path: string, temporary: string, fill: Fill<T>, place: (temporary: string, path: string) => void): T {
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    let result: T;
    try {
      result = fill(temporary, descriptor);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    place(temporary, path);
    syncFolder(dirname(path));
    return result;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function linkUnlessThere(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * What stands in the place of a file that is to be replaced; null for a file, and for nothing. A link is not followed, since
 * another may have put it there, nor replaced: its owner wants what it leads to. Least of all a device: /dev/stdout is a link.
 */
export function inTheWay(path: string): "not a file" | "a symbolic link" | null {
  try {
    const found = lstatSync(path);
    if (found.isFile()) return null;
    return found.isSymbolicLink() ? "a symbolic link" : "not a file";
  } catch {
    return null;
  }
}

/** Removes what killed processes have left beside a file that only the caller writes: it holds secrets, and nobody relies on it. */
export function removeLeftovers(path: string): void {
  const folder = dirname(resolve(path));
  const start = `.${basename(path)}.`;
  for (const name of readdirSync(folder)) {
    const isOurs = name.startsWith(start) && name.endsWith(ending) && /^[0-9a-f]{16}$/.test(name.slice(start.length, -ending.length));
    if (isOurs) rmSync(join(folder, name), { force: true });
  }
}

/** Makes the names in a folder durable: without it, one may still lead to the old file after a power loss. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
