import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import type { Machine } from "./machine.ts";

/** All of the state in the database file, none of it in the WAL. */
export function checkpoint(machine: Pick<Machine, "stateDir">): void {
  const script = `const { DatabaseSync } = require("node:sqlite"); new DatabaseSync(process.argv[1]).exec("PRAGMA wal_checkpoint(TRUNCATE)")`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["-e", script, join(machine.stateDir, "vault.db")],
    { encoding: "utf8" },
  );
  expect(status, stderr).toBe(0);
}
