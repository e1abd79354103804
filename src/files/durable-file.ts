import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Writes the content of a new file (mode 0600) by its path or descriptor; the caller syncs it. */
type Fill<T> = (temporary: string, descriptor: number) => T;

const suffix = ".vault-new";

/** Uses the global `crypto`, because importing the module would slow down completion. */
const randomHex = (digits: number): string =>
  crypto.randomUUID().replaceAll("-", "").slice(-digits);

/**
 * Replaces a whole file, mode 0600, durably: writes beside it, syncs, renames, syncs the folder. At every instant the path holds
 * the former content or the new one.
 * @throws Node's error; an error with the answer of `inTheWay` as its code if the path is not a file
 */
export function replaceFile(path: string, contents: string | Uint8Array | Iterable<string>): void {
  const why = obstacleAt(path);
  if (why !== null) throw Object.assign(new Error(`it is ${why}`), { code: why });
  replaceWith(path, (_, descriptor) => {
    const isWhole = typeof contents === "string" || contents instanceof Uint8Array;
    for (const part of isWhole ? [contents] : contents) writeFileSync(descriptor, part);
  });
}

/** As `replaceFile`, but `fill` writes the file. A link of that name is replaced, not followed. */
export function replaceWith<T>(path: string, fill: Fill<T>): T {
  return putInPlace(
    path,
    join(dirname(resolve(path)), `.${basename(path)}.${randomHex(16)}${suffix}`),
    fill,
    renameSync,
  );
}

/** As `replaceWith`, for what takes its time; a database that `fill` writes is closed by then. */
export async function replaceLater<T>(
  path: string,
  fill: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = join(dirname(resolve(path)), `.${basename(path)}.${randomHex(16)}${suffix}`);
  try {
    closeSync(openSync(temporary, "wx", 0o600));
    const result = await fill(temporary);
    const descriptor = openSync(temporary, "r+");
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(temporary, path);
    syncFolder(dirname(path));
    return result;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Creates a file in the same way if there is none. If several processes do so at once, one wins and all use its file. */
export function createFile(path: string, fill: Fill<unknown>): void {
  putInPlace(path, `${path}.new-${randomHex(12)}`, fill, (temporary) => {
    linkUnlessThere(temporary, path);
    rmSync(temporary);
  });
}

function putInPlace<T>(
  path: string,
  temporary: string,
  fill: Fill<T>,
  place: (temporary: string, path: string) => void,
): T {
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
 * What prevents the replacement of a path; null if it is a file or does not exist. A link is neither followed, since somebody else
 * may have put it there, nor replaced, since its owner wants the target. Devices are links too, like /dev/stdout.
 */
export function obstacleAt(path: string): "not a file" | "a symbolic link" | null {
  try {
    const found = lstatSync(path);
    if (found.isFile()) return null;
    return found.isSymbolicLink() ? "a symbolic link" : "not a file";
  } catch {
    return null;
  }
}

/** Removes temporary files that killed processes left beside a file, because they hold secrets. Only the caller may write the file. */
export function removeLeftovers(path: string): void {
  const folder = dirname(resolve(path));
  const start = `.${basename(path)}.`;
  for (const name of readdirSync(folder)) {
    const isOurs =
      name.startsWith(start) &&
      name.endsWith(suffix) &&
      /^[0-9a-f]{16}$/.test(name.slice(start.length, -suffix.length));
    if (isOurs) rmSync(join(folder, name), { force: true });
  }
}

/** Makes the names in a folder durable: without it, a name may refer to the old file after a power loss. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
