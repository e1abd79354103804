import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, it } from "vitest";
import type { Pair } from "../../src/protocol/answers.ts";
import { stride } from "../support/campaign.ts";
import { atEveryStep, expectSteps, runKilledAt } from "../support/crash.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { device } from "../support/examples.ts";
import { warm } from "../torture/operations/operation.ts";
import { openRewindLab } from "../torture/rewind-lab.ts";

const others = ({ service, vault }: Lab): string[] =>
  service.sandbox.vaults().flatMap(({ uuid }) => (uuid === vault.uuid ? [] : [uuid]));

async function known(machine: Machine): Promise<string[]> {
  const { stdout } = await machine.vault("status", "--json");
  return (JSON.parse(stdout) as { vaults: { uuid: string }[] }).vaults.map(({ uuid }) => uuid);
}

/** The external reference of the create that the log of the state has begun, if it has. */
function referenceIn({ stateDir }: Machine): string | undefined {
  const path = join(stateDir, "vault.db");
  if (!existsSync(path)) return undefined;
  const state = new DatabaseSync(path);
  const [made] = state.prepare("SELECT 1 FROM sqlite_master WHERE name = 'journal'").all();
  const sql = "SELECT detail ->> 'externalRef' AS reference FROM journal WHERE event = 'creating'";
  const [row] = made === undefined ? [] : state.prepare(sql).all();
  state.close();
  return row?.["reference"] as string | undefined;
}

describe("vault create, killed with SIGKILL before, between and after its steps", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab();
  });

  it("its credentials are stored before anything is printed; else the log has the reference by which it is found", async () => {
    const { service } = lab;
    const outcomes = new Set<string>();
    const steps = await atEveryStep(async (n) => {
      service.sandbox.rewind();
      const machine = lab.machine({ env: { VAULTSVC_RATE: "1000" } });
      machine.file("device.json", device);
      machine.file("pin", "cGlu");
      machine.file("note.txt", "a note");
      const online = ["--device", "@device.json", "--hashed-pin", "@pin"];
      const create = [
        "create",
        "--kind",
        "generic/online",
        "--content",
        "@note.txt",
        ...online,
        "--json",
      ];
      const run = await runKilledAt(n, machine, create);
      const check = async (): Promise<void> => {
        const [made, ...more] = others(lab);
        expect(more).toEqual([]);
        const stored = await known(machine);
        if (run.result.stdout !== "") expect(stored).toEqual([made]);
        const reference = referenceIn(machine);
        const again = await machine.ok(...create);
        expect(again.stderr).toBe("");
        const items = service.sandbox
          .audit()
          .filter(({ externalRef, vaultUuid }) => externalRef === reference && vaultUuid === made);
        if (stored.length > 0) {
          outcomes.add("stored");
          expect(stored).toEqual([made]);
          const pair = await machine.exported(made ?? "");
          expect(service.sandbox.accepts(made ?? "", pair as Pair)).toBe(true);
          await machine.ok("get", made ?? "", "--json");
          await expectInStep(lab, machine, made ?? "");
        } else if (made !== undefined) {
          outcomes.add("found by its reference");
          expect(items.map(({ action }) => action)).toEqual(["CREATE_VAULT"]);
        } else {
          outcomes.add(
            reference === undefined ? "nothing" : "nothing, and the log says that there may be one",
          );
        }
        const { vault } = JSON.parse(again.stdout) as { vault: { credentials: Pair } };
        const { encryptedData, payload } = vault.credentials;
        const last = others(lab).filter((uuid) =>
          service.sandbox.accepts(uuid, { encryptedData, payload }),
        );
        expect(last).toHaveLength(1);
      };
      return { ...run, check };
    }, 1);
    const all = [
      "found by its reference",
      "nothing",
      "nothing, and the log says that there may be one",
      "stored",
    ];
    expect(all).toEqual(expect.arrayContaining([...outcomes]));
    if (stride === 1) expect(outcomes.size).toBe(all.length);
    expectSteps(steps, ["linkSync", "send", "receive", "stdout"]);
    const firstSend = steps.indexOf("send");
    const isCommit = (step: string): boolean => step.startsWith("commit");
    expect(steps.slice(0, firstSend).some((step) => step === "commit journal")).toBe(true);
    expect(steps.findLastIndex(isCommit)).toBeLessThan(steps.indexOf("stdout"));
  });
});

describe("vault delete, killed with SIGKILL before, between and after its steps", () => {
  it("the credentials are removed only after the vault is; the same command again finishes or says that it is gone", async () => {
    const lab = await openRewindLab([offlineNote]);
    await warm(lab);
    lab.keep();
    const { service, vault, machine } = lab;
    const codes = new Set<number | null>();
    const steps = await atEveryStep(async (n) => {
      lab.rewind();
      const args = ["delete", vault.uuid, "--yes", "--json"];
      const run = await runKilledAt(n, machine, args);
      const check = async (): Promise<void> => {
        const isDeleted = (): boolean => service.sandbox.inspect(vault.uuid).state === "deleted";
        const kept = await machine.exported(vault.uuid);
        if (!isDeleted()) await expectNothingLost(lab, machine);
        if (kept === null) expect(isDeleted()).toBe(true);
        if (run.result.stdout !== "") expect(kept).toBeNull();
        const again = await machine.vault(...args);
        codes.add(again.code);
        // Deleted by this one; probably by the first one, which a read can tell; or known to be deleted already.
        expectExit(again, 0, 13, 4);
        if (again.code === 13) {
          expectExit(await machine.vault("get", vault.uuid, "--json"), 7);
          await machine.ok("forget", vault.uuid, "--yes");
        }
        expect(isDeleted()).toBe(true);
        expect(await machine.exported(vault.uuid)).toBeNull();
        expectFarFromLock(lab, vault.uuid);
      };
      return { ...run, check };
    }, 1);
    if (stride === 1) expect([...codes].sort()).toEqual([0, 13, 4]);
    expectSteps(steps, ["lock", "send", "receive", "stdout"]);
    expect(steps.filter((step) => step.startsWith("commit")).length).toBeGreaterThanOrEqual(2);
  });
});
