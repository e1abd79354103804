import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, constants, copyFileSync, cpSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunOptions } from "./run-vault.ts";
import { atEndOfFile } from "./end-of-file.ts";
import { tempDir } from "./temp-dir.ts";

/** Numbers of users that nobody has; the first is the one to run as. */
export const other = 65_533;
export const third = 65_532;

const user = [`--reuid=${other}`, `--regid=${other}`, "--clear-groups"];

/** Whether this user may give files away and run programs as another, which only an administrator may, in a folder that both can enter. */
export const mayBeOther =
  process.geteuid?.() === 0 && spawnSync("setpriv", [...user, "test", "-x", tmpdir()]).status === 0;

export function give(path: string, uid = other): string {
  chownSync(path, uid, uid);
  return path;
}

/** A folder of the other user's own. */
export const othersDir = (): string => give(tempDir("other"));

let copied: { node: string; bin: string } | undefined;

/** The program and its runtime where everybody can enter: the checkout may be closed to others. */
function copyOfProgram(): { node: string; bin: string } {
  if (copied !== undefined) return copied;
  const folder = tempDir("program");
  // The folder goes with the file, and the next file may be run by the same worker.
  atEndOfFile(() => (copied = undefined));
  chmodSync(folder, 0o755);
  const root = join(import.meta.dirname, "..", "..");
  for (const name of ["bin", "dist"])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  const node = join(folder, "node");
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  spawnSync("chmod", ["-R", "go+rX", folder]);
  return (copied = { node, bin: join(folder, "bin", "vault.js") });
}

/** Options and arguments for running the program as the other user. */
export function asOther(
  args: readonly string[],
  options: RunOptions = {},
): [RunOptions, ...string[]] {
  const { node, bin } = copyOfProgram();
  const [reuid = "", ...rest] = user;
  return [{ ...options, node: "setpriv", bin: reuid }, ...rest, node, bin, ...args];
}
