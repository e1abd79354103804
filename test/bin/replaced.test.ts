import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempDir } from "../support/cleanup.ts";
import { offlineNote, openLab, warmLab, type Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { vaultBin, type RunResult } from "../support/run-vault.ts";

/** Runs a command of an installation of its own, which is removed once a request of it has arrived. */
async function runRemoved(lab: Lab, machine: Machine, ...args: string[]): Promise<RunResult> {
  const folder = tempDir("installed");
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(vaultBin, "..", "..", name), join(folder, name), { recursive: true });
  const before = lab.service.sandbox.requests().length;
  lab.faults("any:delay=500ms*2");
  const bin = join(folder, "bin", "vault.js");
  const { child, exit } = machine.start({ bin, cwd: machine.home }, ...args);
  while (lab.service.sandbox.requests().length === before && child.exitCode === null)
    await setTimeout(10);
  rmSync(join(folder, "dist"), { recursive: true });
  return await exit;
}

test.each([
  [["get", "VAULT", "--reveal", "--color"]],
  [["get", "VAULT", "--json"]],
  [["run", "VAULT", "--stdin", "--", "cat"]],
  [["update", "VAULT", "--content", "@note", "--yes"]],
  [["update", "VAULT", "--content", "@note", "--yes", "--json"]],
  [["create", "--kind", "generic/offline", "--content", "@note"]],
])("%j ends well where the program is removed once its call has arrived", async (line) => {
  const { lab, machine, uuid } = await warmLab();
  machine.file("note", "another note");
  const args = line.map((word) => (word === "VAULT" ? uuid : word));
  expect(await runRemoved(lab, machine, ...args)).toMatchObject({ code: 0, stderr: "" });
});

test("rows of many vaults are printed where the program is removed once a start has arrived", async () => {
  const lab = await openLab([offlineNote, offlineNote]);
  const machine = lab.machine();
  const { vaults } = lab.service;
  for (const { uuid, credentials, kind } of vaults)
    await machine.ok("get", uuid, ...machine.given(credentials, kind), "--json");
  const args = ["get", ...vaults.map(({ uuid }) => uuid), "--reveal", "--color"];
  expect(await runRemoved(lab, machine, ...args)).toMatchObject({ code: 0, stderr: "" });
});
