import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { stride } from "../support/campaign.ts";
import { atEveryStep, expectSteps, runKilledAt } from "../support/crash.ts";
import { expectExit, expectFarFromLock, offlineNote, openLab, type Lab } from "../support/lab.ts";
import { pairIn, readJson } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

describe("a container without a lasting disk, --credentials-out on a volume, killed with SIGKILL before, between and after its steps", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab(offlineNote);
  });

  /** The volume has a file of the credentials that the service accepts, and nothing else but its lock. */
  function expectCredentials(volume: string): void {
    const { service, vault } = lab;
    const file = join(volume, "pair.json");
    const names = ["format", "uuid", "label", "kind", "credentials"];
    expect(Object.keys(readJson(file) as object)).toEqual(names);
    expect(service.sandbox.accepts(vault.uuid, pairIn(file))).toBe(true);
    expect(readdirSync(volume)).toEqual([".pair.json.vault-lock", "pair.json"]);
    expectFarFromLock(lab, vault.uuid);
  }

  it("another container goes on from the file that it left", async () => {
    const { service, vault } = lab;
    const left = { nothing: 0, recovery: 0, credentials: 0 };
    const run = async (n: number) => {
      service.sandbox.rewind();
      const volume = tempDir("volume");
      const file = join(volume, "pair.json");
      const get = ["get", vault.uuid, "--kind", vault.kind, "--json", "--credentials-out", file];
      const input = JSON.stringify(vault.credentials);
      const killed = await runKilledAt(n, lab.machine(), [...get, "--credentials", "-"], { input });
      const check = async (): Promise<void> => {
        const content = existsSync(file) ? (readJson(file) as Record<string, unknown>) : null;
        left[content === null ? "nothing" : "old" in content ? "recovery" : "credentials"] += 1;
        if (content !== null) expect(statSync(file).mode & 0o777).toBe(0o600);
        // Any number of containers may die one after the other; each starts from what the last one left.
        const credentials =
          content === null ? ["--credentials", "-"] : ["--credentials", `@${file}`];
        const next = await lab.machine().vaultWith({ input }, ...get, ...credentials);
        expectExit(next, 0);
        expectCredentials(volume);
        expect(service.sandbox.inspect(vault.uuid).counts.failed).toBe(0);
      };
      return { ...killed, check };
    };
    // How the state comes into being on a new machine is seen in exchanges.test.ts.
    const whole = await run(0);
    const steps = await atEveryStep(run, whole.steps.indexOf("send"));
    expectSteps(steps, ["fsyncSync", "renameSync"]);
    expect(steps.filter((name) => name === "renameSync")).toHaveLength(2);
    if (stride === 1) for (const count of Object.values(left)) expect(count).toBeGreaterThan(0);
  });

  it("the same command goes on where the file is what it was given", async () => {
    const { service, vault } = lab;
    const left = { given: 0, recovery: 0, credentials: 0 };
    const run = async (n: number) => {
      service.sandbox.rewind();
      const volume = tempDir("volume");
      const file = join(volume, "pair.json");
      writeFileSync(file, JSON.stringify(vault.credentials));
      const from = ["--kind", vault.kind, "--credentials", `@${file}`];
      const get = ["get", vault.uuid, ...from, "--json", "--credentials-out", file];
      const killed = await runKilledAt(n, lab.machine(), get);
      const check = async (): Promise<void> => {
        const content = readJson(file) as object;
        left["old" in content ? "recovery" : "format" in content ? "credentials" : "given"] += 1;
        expectExit(await lab.machine().vault(...get), 0);
        expectCredentials(volume);
      };
      return { ...killed, check };
    };
    const { steps } = await run(0);
    await atEveryStep(run, steps.indexOf("renameSync") - 2);
    expect(steps.filter((name) => name === "renameSync")).toHaveLength(2);
    if (stride === 1) for (const count of Object.values(left)) expect(count).toBeGreaterThan(0);
  });
});
