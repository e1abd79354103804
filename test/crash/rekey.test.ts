import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { atEveryStep, expectSteps, runKilledAt } from "../support/crash.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectExit,
  expectInStep,
  expectNothingLost,
  firstGet,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

/** Copies of state and configuration. */
function copyOf(lab: Lab, machine: Machine, env: Record<string, string>): Machine {
  const home = tempDir("rekey");
  for (const [from, name] of [
    [machine.stateDir, "state"],
    [machine.configDir, "config"],
  ] as const)
    cpSync(from, join(home, name), { recursive: true });
  return lab.machine({ home, env });
}

const keysOf = ({ configDir }: Machine): string[] =>
  readdirSync(join(configDir, "keys")).filter((name) => name !== "config.key");

describe("state rekey, killed with SIGKILL before, between and after its steps", () => {
  let lab: Lab;
  let first: Machine;
  /** Without the variable, so that the sealed apiKey of the profile is what the service is called with. */
  const withoutKey = { VAULTSVC_API_KEY: "" };

  beforeAll(async () => {
    lab = await openLab(offlineNote);
    first = lab.machine();
    expectExit(await firstGet(first, lab.vault), 0);
    await first.ok("config", "set", "apiKey", "env:VAULTSVC_API_KEY");
    await first.okWith({ env: withoutKey }, "get", lab.vault.uuid, "--no-ack");
  });

  async function checkAll(machine: Machine): Promise<void> {
    await expectNothingLost(lab, machine);
    await checkKey(machine);
  }

  /** The secrets of the configuration have a key of their own. */
  async function checkKey(machine: Machine): Promise<void> {
    const shown = await machine.ok("config", "get", "apiKey", "--reveal");
    expect(shown.stdout.trim()).toBe(lab.service.application.apiKey);
  }

  it("from a key file to another: the next command works, and so does a second rekey", async () => {
    const [former = ""] = keysOf(first);
    const steps = await atEveryStep(async (n) => {
      const machine = copyOf(lab, first, withoutKey);
      const run = await runKilledAt(n, machine, ["state", "rekey", "--yes"]);
      const check = async (): Promise<void> => {
        await checkAll(machine);
        const again = await machine.ok("state", "rekey", "--yes", "--json");
        expect(again.stderr).toBe("");
        expect(keysOf(machine)).toContain(former);
        await checkAll(machine);
      };
      return { ...run, check };
    });
    expectSteps(steps, ["lock", "fsyncSync", "commit journal+meta+vaults", "exit"]);
  });

  it("to a given key: what is left opens with that key or with the file, and the same command finishes", async () => {
    const key = Buffer.alloc(32, 9).toString("base64");
    const given = { VAULTSVC_STATE_KEY: key };
    await atEveryStep(async (n) => {
      const machine = copyOf(lab, first, withoutKey);
      const command = ["state", "rekey", "--new-state-key", "env:NEW_KEY", "--yes"];
      machine.env["NEW_KEY"] = key;
      const run = await runKilledAt(n, machine, command);
      const check = async (): Promise<void> => {
        const early = await machine.vault("export", lab.vault.uuid, "--json");
        // Where it was killed late the key is needed already; where early, the key file still does.
        if (early.code === 0) await machine.ok(...command);
        else
          expect(errorOf(early)).toMatchObject({
            code: "state",
            message: expect.stringMatching(/key file .* is missing/) as string,
          });
        await machine.okWith({ env: given }, "export", lab.vault.uuid);
        await checkKey(machine);
      };
      return { ...run, check };
    });
  });

  it("leaves an exchange that can be acknowledged", async () => {
    const machine = copyOf(lab, first, withoutKey);
    await machine.ok("state", "rekey", "--yes");
    await machine.ok("ack", lab.vault.uuid);
    await expectInStep(lab, machine, lab.vault.uuid);
  });
});
