import { spawnSync } from "node:child_process";
import { chownSync } from "node:fs";
import type { RunOptions } from "./run-vault.ts";
import { vaultBin } from "./run-vault.ts";
import { tempDir } from "./temp-dir.ts";

/** Numbers of users that nobody has; the first is the one to run as. */
export const other = 65_533;
export const third = 65_532;

/** Whether this user may give files away and run programs as another, which only an administrator may. */
export const mayBeOther = process.geteuid?.() === 0 && spawnSync("setpriv", ["--version"]).error === undefined;

export function give(path: string, uid = other): string {
  chownSync(path, uid, uid);
  return path;
}

/** A folder of the other user's own. */
export const othersDir = (): string => give(tempDir("other"));

/** Options and arguments for running the program as the other user. */
export function asOther(args: readonly string[], options: RunOptions = {}): [RunOptions, ...string[]] {
  const user = [`--regid=${other}`, "--clear-groups", process.execPath, vaultBin];
  return [{ ...options, node: "setpriv", bin: `--reuid=${other}` }, ...user, ...args];
}
