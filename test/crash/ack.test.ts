import { beforeAll, describe, expect, it } from "vitest";
import type { Template } from "../support/crash.ts";
import { atEveryStep, expectSteps, runKilledAt, template } from "../support/crash.ts";
import {
  card,
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  firstGet,
  offlineCard,
} from "../support/lab.ts";
import { documentOf } from "../support/machine.ts";

describe("ack of a held exchange, killed with SIGKILL before, between and after its steps", () => {
  let made: Template;
  beforeAll(async () => {
    made = await template(offlineCard, async ({ vault }, machine) =>
      expectExit(await firstGet(machine, vault), 0),
    );
  });

  it("ack again finishes it, or says that only a get can tell; a get goes on", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const steps = await atEveryStep(async (n) => {
      const machine = fresh();
      expectExit(await machine.vault("get", uuid, "--no-ack", "--json"), 0);
      const run = await runKilledAt(n, machine, ["ack", uuid]);
      const check = async (): Promise<void> => {
        await expectNothingLost(lab, machine.copy());
        const again = await machine.vault("ack", uuid, "--json");
        expectExit(again, 0, 12);
        if (again.code === 0) await expectInStep(lab, machine.copy(), uuid);
        const next = await machine.vault("get", uuid, "--json");
        expectExit(next, 0);
        expect(documentOf(next).vault.creditCard?.number).toBe(card.number);
        const outcomes = documentOf(next).settled.map(({ outcome }) => outcome);
        expect(outcomes).toEqual(again.code === 12 ? ["acknowledged"] : []);
        await expectInStep(lab, machine, uuid);
        expectFarFromLock(lab, uuid);
        expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
      };
      return { ...run, check };
    });
    expectSteps(steps, ["lock", "send", "receive", "stdout"]);
  });
});
