import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isWhole, stride } from "../support/campaign.ts";
import type { KilledRun } from "../support/crash.ts";
import { expectSteps, runKilledAt } from "../support/crash.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectExit,
  expectInStep,
  expectNothingLost,
  firstGet,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

const keyLines = (machine: Machine): string[] =>
  readFileSync(join(machine.configDir, "state.key"), "utf8").trimEnd().split("\n");

/** Copies of state and configuration: a rekey changes both. The state stands where the key file knows it to be. */
function copyOf(lab: Lab, machine: Machine, env: Record<string, string>): Machine {
  const home = tempDir("rekey");
  cpSync(machine.stateDir, join(home, "state"), { recursive: true });
  cpSync(machine.configDir, join(home, "config"), {
    recursive: true,
    filter: (path) => !path.endsWith(".states"),
  });
  return lab.machine({ home, env });
}

/** Runs it once to its end, then once for each of its steps, killed before that. Returns the steps. */
async function atEachStep(
  run: (n: number) => Promise<KilledRun & { check(): Promise<void> }>,
  wanted: (step: string) => boolean = () => true,
): Promise<string[]> {
  const whole = await run(0);
  await whole.check();
  const { steps } = whole;
  for (let n = 1; n <= steps.length; n += 1) {
    if (n % stride !== 0) continue;
    // What is durable changes with these; the others take time only, which a passphrase takes enough of.
    if (!wanted(steps[n - 1] ?? "")) continue;
    const { killed, check, result } = await run(n);
    expect(killed, `step ${n}, ${steps[n - 1]}: ${JSON.stringify(result)}`).toBe(true);
    try {
      await check();
    } catch (error) {
      throw new Error(
        `killed after step ${n - 1}, ${steps[n - 2]}, before ${steps[n - 1]}: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
  return steps;
}

describe("state rekey, killed with SIGKILL before, between and after its steps", () => {
  let lab: Lab;
  let first: Machine;
  /** Without the variable, so that the sealed apiKey of the profile is what the service is called with. */
  const withoutKey = { VAULTSVC_API_KEY: "" };

  beforeAll(async () => {
    lab = await openLab(offlineNote);
    first = lab.machine();
    expectExit(await firstGet(first, lab.vault), 0);
    expectExit(await first.vault("config", "set", "apiKey", "env:VAULTSVC_API_KEY"), 0);
    expectExit(await first.vaultWith({ env: withoutKey }, "get", lab.vault.uuid, "--no-ack"), 0);
  });

  async function checkAll(machine: Machine): Promise<void> {
    await expectNothingLost(lab, machine);
    const status = await machine.vault("config", "get", "apiKey", "--reveal");
    expectExit(status, 0);
    expect(status.stdout.trim()).toBe(lab.service.application.apiKey);
  }

  it("from a key file to another: the next command works, and a second rekey finishes", async () => {
    const steps = await atEachStep(async (n) => {
      const machine = copyOf(lab, first, withoutKey);
      const run = await runKilledAt(n, machine, ["state", "rekey", "--yes"]);
      const check = async (): Promise<void> => {
        await checkAll(machine);
        const again = await machine.vault("state", "rekey", "--yes", "--json");
        expectExit(again, 0);
        expect(again.stderr).toBe("");
        const { rekeyed } = JSON.parse(again.stdout) as { rekeyed: { to: string } };
        expect(keyLines(machine)).toEqual([
          expect.stringContaining(`vaultsvc-key-1 ${rekeyed.to} `),
        ]);
        await checkAll(machine);
      };
      return { ...run, check };
    });
    expectSteps(steps, [
      "lock",
      "fsyncSync",
      "renameSync",
      "commit credentials+exchanges+journal",
      "exit",
    ]);
    expect(steps.filter((step) => step === "renameSync").length).toBeGreaterThanOrEqual(3);
  });

  it("to a given key: what is left opens with that key, and the same command finishes", async () => {
    const key = Buffer.alloc(32, 9).toString("base64");
    await atEachStep(async (n) => {
      const machine = copyOf(lab, first, withoutKey);
      machine.env["NEW_KEY"] = key;
      const command = ["state", "rekey", "--new-state-key", "env:NEW_KEY", "--yes"];
      const run = await runKilledAt(n, machine, command);
      const check = async (): Promise<void> => {
        // Where it was killed late the key is needed already; where early, the key file still does.
        const early = await machine.vault("export", lab.vault.uuid, "--json");
        if (early.code !== 0) {
          expect(errorOf(early)).toMatchObject({
            code: "state",
            message: expect.stringContaining("must be given") as string,
          });
          expectExit(
            await machine.vaultWith({ env: { VAULTSVC_STATE_KEY: key } }, "export", lab.vault.uuid),
            0,
          );
        }
        expectExit(await machine.vault(...command), 0);
        expect(keyLines(machine)).toEqual([
          expect.stringMatching(/^vaultsvc-given-1 [0-9a-f]{16}$/),
        ]);
        const given = { VAULTSVC_STATE_KEY: key };
        expectExit(await machine.vaultWith({ env: given }, "export", lab.vault.uuid), 0);
        const shown = await machine.vaultWith(
          { env: given },
          "config",
          "get",
          "apiKey",
          "--reveal",
        );
        expect(shown.stdout.trim()).toBe(lab.service.application.apiKey);
      };
      return { ...run, check };
    });
  });

  // Each passphrase takes half a second of a processor, many times: in the campaign alone.
  it.runIf(isWhole)(
    "from one passphrase to another: one of the two opens it, and the same command finishes",
    async () => {
      const [old, next] = ["correct horse battery", "staple of the stable"];
      const before = copyOf(lab, first, withoutKey);
      expectExit(
        await before.vaultWith({ input: old }, "state", "rekey", "--new-passphrase", "-", "--yes"),
        0,
      );
      await atEachStep(
        async (n) => {
          const machine = copyOf(lab, before, {
            ...withoutKey,
            VAULTSVC_STATE_PASSPHRASE: old,
            NEXT: next,
          });
          const command = ["state", "rekey", "--new-passphrase", "env:NEXT", "--yes"];
          const run = await runKilledAt(n, machine, command);
          const check = async (): Promise<void> => {
            const early = await machine.vault("export", lab.vault.uuid, "--json");
            if (early.code !== 0) {
              expect(errorOf(early)).toMatchObject({
                code: "state",
                message: expect.stringContaining("wrong passphrase") as string,
              });
              expectExit(
                await machine.vaultWith(
                  { env: { VAULTSVC_STATE_PASSPHRASE: next } },
                  "export",
                  lab.vault.uuid,
                ),
                0,
              );
            }
            expectExit(await machine.vault(...command), 0);
            expect(keyLines(machine)).toEqual([expect.stringMatching(/^vaultsvc-passphrase-1 /)]);
            const shown = await machine.vaultWith(
              { env: { VAULTSVC_STATE_PASSPHRASE: next } },
              "config",
              "get",
              "apiKey",
              "--reveal",
            );
            expect(shown.stdout.trim()).toBe(lab.service.application.apiKey);
          };
          return { ...run, check };
        },
        (step) => /^(commit|renameSync|stdout)/.test(step),
      );
    },
  );

  it("leaves an exchange that can be acknowledged", async () => {
    const machine = copyOf(lab, first, withoutKey);
    expectExit(await machine.vault("state", "rekey", "--yes"), 0);
    expectExit(await machine.vault("ack", lab.vault.uuid), 0);
    await expectInStep(lab, machine, lab.vault.uuid);
  });
});
