import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { expect } from "vitest";
import { tempDir, atEndOfFile } from "./cleanup.ts";
import type { RunOptions } from "./run-vault.ts";
import { expectError, type Lab } from "./lab.ts";
import type { Machine } from "./machine.ts";

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

export function fifo(path: string): void {
  expect(spawnSync("mkfifo", [path]).status).toBe(0);
}

/** A node of our own: a program that fails here would change one of the machine's. Only an administrator may make one. */
function device(path: string): void {
  if (mayBeOther) expect(spawnSync("mknod", [path, "c", "1", "5"]).status).toBe(0);
  else fifo(path);
}

/** The program's own files, below the home of a machine. */
export const places = [
  "config/keys",
  "config/config.json",
  "config/config.lock",
  "state/vault.db",
  "state/vault.db-wal",
  "state/vault.db-shm",
  "state/locks",
] as const;

/** What may stand in the place of a file. */
export interface Thing {
  what: string;
  make(path: string): void;
}

export const things: readonly Thing[] = [
  { what: "a pipe", make: fifo },
  { what: "a device", make: device },
  { what: "a link in a circle", make: (path) => symlinkSync(path, path) },
  {
    what: "a link to a device",
    make: (path) => {
      device(`${path}.device`);
      symlinkSync(`${path}.device`, path);
    },
  },
  { what: "a link that leads nowhere", make: (path) => symlinkSync(`${path}.nowhere`, path) },
  {
    what: "a folder",
    make: (path) => void mkdirSync(`${path}/inside`, { recursive: true, mode: 0o700 }),
  },
];

/** With that in the place of a file of a machine that has read the vault of the lab: exit 14 in time, nothing sent, nothing changed. */
export async function expectRefusedInPlace(
  lab: Lab,
  machine: Machine,
  place: (typeof places)[number],
  { make }: Thing,
): Promise<void> {
  const path = join(machine.home, place);
  if (existsSync(path)) renameSync(path, `${path}.aside`);
  make(path);
  const modes = (): (number | undefined)[] =>
    [path, `${path}.device`].map((each) => lstatSync(each, { throwIfNoEntry: false })?.mode);
  const before = modes();
  const args =
    place === "config/config.lock" ? ["config", "set", "rateLimit", "5"] : ["get", lab.vault.uuid];
  const sent = lab.service.sandbox.requests().length;
  expectError(await machine.vault(...args, "--json"), "state");
  expect(lab.service.sandbox.requests()).toHaveLength(sent);
  expect(modes()).toEqual(before);
  expect(existsSync(`${path}.nowhere`)).toBe(false);
}
