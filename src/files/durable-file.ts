import { attempt } from "../attempt.ts";
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

const suffix = ".vault-new";

/**
 * Makes an empty file (mode 0600) beside the one that it is to become. `finish` syncs it, puts it in place and syncs the folder: at every
 * instant the path holds the former content or the new one. `end` removes it otherwise.
 */
function draftOf(path: string, place: (draft: string, path: string) => void = renameSync) {
  // By the global `crypto`, because importing the module would slow down completion.
  const digits = crypto.randomUUID().replaceAll("-", "").slice(-16);
  const draft = join(dirname(resolve(path)), `.${basename(path)}.${digits}${suffix}`);
  const descriptor = openSync(draft, "wx", 0o600);
  return {
    path: draft,
    descriptor,
    finish: (): void => {
      fsyncSync(descriptor);
      place(draft, path);
      syncFolder(dirname(path));
    },
    end: (): void => {
      closeSync(descriptor);
      rmSync(draft, { force: true });
    },
  };
}

/**
 * Replaces a whole file, mode 0600, durably.
 * @throws Node's error; an error with the answer of `obstacleAt` as its code if the path is not a file
 */
export function replaceFile(path: string, contents: string | Uint8Array | Iterable<string>): void {
  const why = obstacleAt(path);
  if (why !== null) throw Object.assign(new Error(`it is ${why}`), { code: why });
  const isWhole = typeof contents === "string" || contents instanceof Uint8Array;
  place(draftOf(path), ({ descriptor }) => {
    for (const part of isWhole ? [contents] : contents) writeFileSync(descriptor, part);
  });
}

/** As `replaceFile`, but `fill` writes the file, and has closed it by then. A link of that name is replaced, not followed. */
export async function replaceLater<T>(
  path: string,
  fill: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = draftOf(path);
  try {
    const result = await fill(draft.path);
    draft.finish();
    return result;
  } finally {
    draft.end();
  }
}

/** Creates a file in the same way if there is none. If several processes do so at once, one wins and all use its file. */
export function createFile(path: string, fill: (draft: string) => void): void {
  place(draftOf(path, linkUnlessThere), (draft) => fill(draft.path));
}

function place(draft: Draft, fill: (draft: Draft) => void): void {
  try {
    fill(draft);
    draft.finish();
  } finally {
    draft.end();
  }
}

type Draft = ReturnType<typeof draftOf>;

function linkUnlessThere(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  rmSync(draft);
}

/**
 * What prevents the replacement of a path; null if it is a file or does not exist. A link is neither followed, since somebody else
 * may have put it there, nor replaced, since its owner wants the target. Devices are links too, like /dev/stdout.
 */
export function obstacleAt(path: string): "not a file" | "a symbolic link" | null {
  const found = attempt(() => lstatSync(path));
  if (found === undefined || found.isFile()) return null;
  return found.isSymbolicLink() ? "a symbolic link" : "not a file";
}

/**
 * Removes temporary files that killed processes left beside a file, because they hold secrets: as far as the folder and its owner let.
 * Only the caller may write the file.
 */
export function removeLeftovers(path: string): void {
  const folder = dirname(resolve(path));
  const start = `.${basename(path)}.`;
  const names = attempt(() => readdirSync(folder)) ?? [];
  for (const name of names) {
    const isOurs =
      name.startsWith(start) &&
      name.endsWith(suffix) &&
      /^[0-9a-f]{16}$/.test(name.slice(start.length, -suffix.length));
    // One that is another user's, as in /tmp, keeps no other there.
    if (isOurs) attempt(() => rmSync(join(folder, name), { force: true }));
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
