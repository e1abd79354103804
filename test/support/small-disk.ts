import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./temp-dir.ts";
import { atEndOfFile } from "./end-of-file.ts";

// At once, whoever still looks at it: this process itself, which never closes a state that it has opened.
const mount = (...args: string[]): boolean => spawnSync("mount", args).status === 0;

/** Whether this user may mount, which only an administrator of a machine that allows it may. */
export const mayMount = ((): boolean => {
  const path = join(tempDir("probe"), "disk");
  mkdirSync(path);
  return (
    mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", path) &&
    spawnSync("umount", [path]).status === 0
  );
})();

/** A disk of so many kilobytes of its own, to be used as a folder. */
export function smallDisk(kilobytes: number): string {
  const path = join(tempDir("disk"), "disk");
  mkdirSync(path, { mode: 0o700 });
  if (!mount("-t", "tmpfs", "-o", `size=${kilobytes}k,mode=0700`, "tmpfs", path))
    throw new Error("mount failed");
  atEndOfFile(() => spawnSync("umount", ["-l", path]));
  return path;
}

/** Gives the disk so many kilobytes; what is on it stays. */
export function resizeDisk(disk: string, kilobytes: number): void {
  if (!mount("-o", `remount,size=${kilobytes}k`, disk)) throw new Error("remount failed");
}

/** From now on nothing in it can be written, by the administrator neither. */
export function makeReadOnly(disk: string): void {
  if (!mount("-o", "remount,ro", disk)) throw new Error("remount failed");
}
