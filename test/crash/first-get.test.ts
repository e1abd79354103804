import { beforeAll, describe, expect, it } from "vitest";
import { stride } from "../support/campaign.ts";
import { atEveryStep, expectSteps, runKilledAt } from "../support/crash.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  firstGetArgs,
  onlineCard,
  openLab,
} from "../support/lab.ts";
import { documentOf } from "../support/machine.ts";

describe("the first get of a vault on a new machine, killed with SIGKILL before, between and after its steps", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab(onlineCard);
  });

  it("the same command again goes on, or says that a later pair is stored, which a get without credentials then uses", async () => {
    const { service, vault } = lab;
    const codes = new Set<number | null>();
    const steps = await atEveryStep(async (n) => {
      service.sandbox.rewind();
      const machine = lab.machine({ env: { VAULTSVC_RATE: "1000" } });
      const pin = machine.file("pin", vault.credentials.hashedPin);
      const args = [...firstGetArgs(machine, vault), "--hashed-pin", `@${pin}`, "--json"];
      const run = await runKilledAt(n, machine, args);
      const check = async (): Promise<void> => {
        await expectNothingLost(lab, machine.copy());
        const again = await machine.vault(...args);
        codes.add(again.code);
        expectExit(again, 0, 4);
        const last = again.code === 0 ? again : await machine.vault("get", vault.uuid, "--json");
        expectExit(last, 0);
        expect(documentOf(last).vault.creditCard?.number).toBe("4111111111111111");
        await expectInStep(lab, machine, vault.uuid);
        expectFarFromLock(lab, vault.uuid);
        expect(service.sandbox.inspect(vault.uuid).counts.failed).toBe(0);
      };
      return { ...run, check };
    });
    if (stride === 1) expect([...codes].sort()).toEqual([0, 4]);
    // The key and the database are there, whole and durable, before the first start; ①, ②, ③ and ④ are commits.
    expectSteps(steps, ["linkSync", "fsyncSync", "lock", "send", "receive", "stdout"]);
    expect(steps.filter((name) => name.startsWith("commit")).length).toBeGreaterThanOrEqual(6);
    expect(steps.lastIndexOf("linkSync")).toBeLessThan(steps.indexOf("send"));
  });
});
