import fs from "node:fs";
import path from "node:path";

/**
 * Replaces a file so that a reader, or a machine that loses power, finds the old or the new contents, whole. Mode 0600.
 * Only one process may write a given file. Throws what the file system raises; the old contents are still there then.
 */
export function writeDurably(file: string, contents: string): void {
  const there = fs.lstatSync(file, { throwIfNoEntry: false });
  // A link, as /dev/stdout is one, or a device: never to be put aside.
  if (there?.isFile() === false) throw Object.assign(new Error(`${file} is not a file`), { code: "not a file" });
  const temporary = `${file}.tmp`;
  fs.rmSync(temporary, { force: true });
  const handle = fs.openSync(temporary, "wx", 0o600);
  try {
    fs.writeFileSync(handle, contents);
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
  fs.renameSync(temporary, file);
  syncFolder(path.dirname(file));
}

/** Without this, the name may still lead to the old file after a power loss. */
function syncFolder(folder: string): void {
  const handle = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}
