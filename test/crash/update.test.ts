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

const newCard = {
  number: "5555555555554444",
  name: "Grace Hopper",
  expiryMonth: 12,
  expiryYear: 2030,
};

describe("update, killed with SIGKILL before, between and after its steps", () => {
  let made: Template;
  beforeAll(async () => {
    made = await template(offlineCard, async ({ vault }, machine) =>
      expectExit(await firstGet(machine, vault), 0),
    );
  });

  it("the next get goes on, and reads the new card wherever the service had told of it", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const steps = await atEveryStep(async (n) => {
      const machine = fresh();
      const run = await runKilledAt(n, machine, [
        "update",
        uuid,
        "--card",
        `@${machine.file("card.json", newCard)}`,
        "--json",
      ]);
      const check = async (): Promise<void> => {
        await expectNothingLost(lab, machine.copy());
        const next = await machine.vault("get", uuid, "--json");
        expectExit(next, 0);
        const { settled, vault } = documentOf(next);
        // A start that the state does not know of is dropped; one whose pair is stored is what the user had asked for.
        if (settled.length > 0)
          expect(settled).toMatchObject([{ operation: "update", outcome: "applied" }]);
        expect([card.number, newCard.number]).toContain(vault.creditCard?.number);
        if (settled.length > 0 || run.result.stdout !== "")
          expect(vault.creditCard).toEqual(newCard);
        await expectInStep(lab, machine, uuid);
        expectFarFromLock(lab, uuid);
      };
      return { ...run, check };
    });
    expectSteps(steps, ["lock", "commit journal+vaults", "send", "receive", "stdout", "exit"]);
  });
});
