import { beforeAll, describe, expect, it } from "vitest";
import { stride } from "../support/campaign.ts";
import type { Template } from "../support/crash.ts";
import { atEveryStep, expectSteps, runKilledAt, template } from "../support/crash.ts";
import {
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  firstGet,
  note,
  offlineNote,
} from "../support/lab.ts";
import { documentOf, errorOf } from "../support/machine.ts";

/** Every kind of step that a get consists of. */
const wanted = ["lock", "commit journal+vaults", "send", "receive", "stdout", "exit"];

describe("get, killed with SIGKILL before, between and after its steps", () => {
  let made: Template;
  beforeAll(async () => {
    made = await template(offlineNote, async ({ vault }, machine) =>
      expectExit(await firstGet(machine, vault), 0),
    );
  });

  it("the next get goes on with the pair that the service holds", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const steps = await atEveryStep(async (n) => {
      const machine = fresh();
      const run = await runKilledAt(n, machine, ["get", uuid, "--json"]);
      const check = async (): Promise<void> => {
        await expectNothingLost(lab, machine.copy());
        const next = await machine.vault("get", uuid, "--json");
        expectExit(next, 0);
        // That its state is a copy is said to the first one that takes the vault.
        expect(next.stderr.replace(/^vault: warning: .* was copied or moved: .*\n/, "")).toBe("");
        expect(documentOf(next).vault.content).toBe(note);
        await expectInStep(lab, machine, uuid);
        expectFarFromLock(lab, uuid);
      };
      return { ...run, check };
    });
    expectSteps(steps, wanted);
  });

  it("as the run of a program that receives them", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const args = ["run", uuid, "--env", "NOTE=vault.content", "--", "sh", "-c"];
    const steps = await atEveryStep(async (n) => {
      const machine = fresh();
      const run = await runKilledAt(n, machine, [...args, 'printf %s "$NOTE"']);
      const check = async (): Promise<void> => {
        const { sandbox } = lab.service;
        // Whatever it died of: nothing is acknowledged that the program has not received.
        if (sandbox.inspect(uuid).counts.acknowledged > 0) expect(run.result.stdout).toBe(note);
        await expectNothingLost(lab, machine.copy());
        const next = await machine.start({}, ...args, 'test -n "$NOTE"').exit;
        expectExit(next, 0);
        await expectInStep(lab, machine, uuid);
        expectFarFromLock(lab, uuid);
      };
      return { ...run, check };
    });
    expectSteps(
      steps,
      wanted.filter((step) => step !== "stdout"),
    );
  });

  it("ack settles what was left, or says that only a get can; the get after it goes on", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const codes = new Set<number | null>();
    await atEveryStep(async (n) => {
      const machine = fresh();
      const run = await runKilledAt(n, machine, ["get", uuid, "--json"]);
      const check = async (): Promise<void> => {
        const ack = await machine.vault("ack", uuid, "--json");
        codes.add(ack.code);
        expectExit(ack, 0, 12);
        if (ack.code === 12)
          expect(errorOf(ack)).toMatchObject({ code: "in-doubt", exchange: { state: "in-doubt" } });
        else
          await expectInStep(lab, machine.copy(), uuid).catch(() =>
            expectNothingLost(lab, machine.copy()),
          );
        expectExit(await machine.vault("get", uuid, "--json"), 0);
        await expectInStep(lab, machine, uuid);
        expectFarFromLock(lab, uuid);
      };
      return { ...run, check };
    });
    if (stride === 1) expect([...codes].sort()).toEqual([0, 12]);
  });

  it("killed again and again at the same step, it never comes near a lock, and goes on when it is let", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    for (const name of ["receive", "stdout"]) {
      const machine = fresh();
      lab.service.sandbox.rewind();
      // Where a trial of the circuit breaker is due later, it ends with 10.
      const get = ["get", uuid, "--max-wait", "3s"];
      for (let round = 0; round < 5; round += 1) {
        const { killed, result } = await runKilledAt(`commit journal+vaults>${name}`, machine, get);
        if (!killed) expectExit(result, 8, 10);
      }
      expectFarFromLock(lab, uuid);
      await expectNothingLost(lab, machine.copy());
      const last = await machine.vault(...get, "--json");
      if (last.code !== 0) {
        // The starts left are too many, or the breaker waits: a person has a look at it.
        expect(["guard", "network"]).toContain(errorOf(last).code);
        lab.service.sandbox.unlock(uuid);
        expectExit(await machine.vault("guard", uuid, "--reset", "--yes"), 0);
        expectExit(await machine.vault("get", uuid, "--force"), 0);
      }
      await expectInStep(lab, machine, uuid);
    }
  });
});
