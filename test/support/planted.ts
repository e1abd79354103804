import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Lab } from "./lab.ts";
import { expectError } from "./lab.ts";
import type { Machine } from "./machine.ts";
import { mayBeOther } from "./other-user.ts";

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
  "config/state.key",
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
  expectError(await machine.vault(...args, "--json"), 14, "state");
  expect(lab.service.sandbox.requests()).toHaveLength(sent);
  expect(modes()).toEqual(before);
  expect(existsSync(`${path}.nowhere`)).toBe(false);
}
