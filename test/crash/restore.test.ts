import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { restoredOf } from "../support/state-file.ts";
import { stride } from "../support/campaign.ts";
import { atEveryStep, expectSteps, runKilledAt } from "../support/crash.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectExit,
  expectFarFromLock,
  expectInStep,
  firstGetArgs,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

const extra = "7d9f7c1e-2d3c-4b5a-8697-a8b9cadbecfd";

/** The vaults that a machine knows. */
async function known(machine: Machine): Promise<string[]> {
  const result = await machine.ok("status", "--json");
  return (JSON.parse(result.stdout) as { vaults: { uuid: string }[] }).vaults
    .map(({ uuid }) => uuid)
    .sort();
}

describe("backup and restore, killed with SIGKILL before, between and after their steps", () => {
  let lab: Lab;
  let machine: Machine;
  let file: string;
  /** Of the machine, which has forgotten what the backup has, and of one that has both. */
  let before: string[];
  let both: string[];
  beforeAll(async () => {
    lab = await openLab(offlineNote);
    machine = await lab.warmMachine();
    file = join(tempDir("backups"), "backup.db");
    await machine.ok("state", "backup", file);
    // By a process of its own: what it wrote last is in the WAL.
    const [, , ...given] = firstGetArgs(machine, lab.vault);
    await machine.ok("import", extra, ...given);
    both = [extra, lab.vault.uuid].sort();
    before = [extra];
  });

  it("a restore leaves the state of before or the merged one whole, and can be run again", async () => {
    const { uuid } = lab.vault;
    const found = { before: 0, merged: 0 };
    const run = async (n: number) => {
      const one = machine.copy();
      await one.ok("forget", uuid, "--yes");
      const killed = await runKilledAt(n, one, ["state", "restore", file, "--yes"]);
      const check = async (): Promise<void> => {
        const now = await known(one);
        const isMerged = now.length === 2;
        found[isMerged ? "merged" : "before"] += 1;
        expect(now).toEqual(isMerged ? both : before);
        if (!killed.killed) expectExit(killed.result, 0);
        const again = await one.ok("state", "restore", file, "--yes", "--json");
        expect(restoredOf(again).vaults.find((vault) => vault.uuid === uuid)?.reason).toBe(
          isMerged ? "known" : "returned",
        );
        expect(await known(one)).toEqual(both);
      };
      return { ...killed, check };
    };
    const steps = await atEveryStep(run);
    expectSteps(steps, ["lock", "commit journal+vaults", "commit meta"]);
    if (stride === 1) for (const count of Object.values(found)) expect(count).toBeGreaterThan(0);
    const one = machine.copy();
    await one.ok("state", "restore", file, "--yes");
    await one.ok("get", uuid);
    await expectInStep(lab, one, uuid);
    expectFarFromLock(lab, uuid);
  });

  it("a restore of a state that was lost leaves nothing, or the restored one", async () => {
    const { uuid } = lab.vault;
    const found = { before: 0, restored: 0 };
    await atEveryStep(async (n) => {
      const one = machine.copy();
      rmSync(one.stateDir, { recursive: true });
      const killed = await runKilledAt(n, one, ["state", "restore", file, "--yes"]);
      const check = async (): Promise<void> => {
        const now = await one.ok("status", "--json");
        const isRestored = now.stdout.includes(uuid);
        found[isRestored ? "restored" : "before"] += 1;
        if (isRestored) expect(await known(one)).toEqual([uuid]);
        await one.ok("state", "restore", file, "--yes");
        expect(await known(one)).toEqual([uuid]);
      };
      return { ...killed, check };
    });
    if (stride === 1) for (const count of Object.values(found)) expect(count).toBeGreaterThan(0);
  });

  it("a backup leaves nothing under its name, or all; one that it replaces stays whole until then", async () => {
    const folder = tempDir("backups");
    const target = join(folder, "b.db");
    const found = { nothing: 0, whole: 0 };
    const steps = await atEveryStep(async (n) => {
      const run = await runKilledAt(n, machine.copy(), ["state", "backup", target, "--force"]);
      const check = async (): Promise<void> => {
        found[existsSync(target) ? "whole" : "nothing"] += 1;
        if (!existsSync(target)) return;
        const other = lab.machine({
          home: machine.home,
          configDir: machine.configDir,
          stateDir: join(tempDir("anew"), "state"),
        });
        await other.ok("state", "restore", target);
        expect(await known(other)).toEqual(both);
      };
      return { ...run, check };
    });
    expectSteps(steps, ["fsyncSync", "renameSync", "commit journal+meta"]);
    if (stride === 1) for (const count of Object.values(found)) expect(count).toBeGreaterThan(0);
  });
});
