import { closeSync, linkSync, openSync, rmSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { syncDirectory } from "./private-directory.ts";
import { systemCode } from "./state-error.ts";

/**
 * Makes a file that appears under its name whole and durable, or not at all, readable by its owner only. `write` fills
 * and syncs the empty file at the path it is given. Where two processes do this at once, one file wins, and both go on
 * with it. Errors of the file system are thrown as they are.
 */
export function createWhole(path: string, write: (temporary: string) => void): void {
  const temporary = `${path}.new-${randomBytes(6).toString("hex")}`;
  try {
    closeSync(openSync(temporary, "wx", 0o600));
    write(temporary);
    linkUnlessThere(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
  syncDirectory(dirname(path));
}

function linkUnlessThere(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}
