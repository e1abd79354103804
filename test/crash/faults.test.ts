import { describe, expect, it } from "vitest";
import { some } from "../support/campaign.ts";
import type { Lab } from "../support/lab.ts";
import { expectError, expectExit, expectFarFromLock, expectInStep, expectNothingLost, offlineNote, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { documentOf } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import type { FaultCase } from "./fault-table.ts";
import { codeOf, faultCases } from "./fault-table.ts";

/** Only where no answer comes in time is one not to be waited for: a busy machine may take a second for any. */
const timeoutFor = (action: string): string => (/^(?:hang|delay)/.test(action) ? "700ms" : "15s");

const get = async (machine: Machine, { vault }: Lab, action: string, maxWait: string): Promise<RunResult> =>
  await machine.vault("get", vault.uuid, "--json", "--timeout", timeoutFor(action), "--max-wait", maxWait);

function expectCode(result: RunResult, exitCode: number): void {
  if (exitCode === 0) expectExit(result, 0);
  else expectError(result, exitCode, codeOf[exitCode] ?? "");
}

/** The service is well again: a get, or the way that the last error named, ends with one pair on both sides. */
async function expectRecovery(lab: Lab, machine: Machine): Promise<void> {
  const { uuid } = lab.vault;
  expectFarFromLock(lab, uuid);
  await expectNothingLost(lab, machine.copy());
  lab.service.faults.clear();
  const next = await machine.vault("get", uuid, "--json");
  expectExit(next, 0);
  expect(next.stderr).toBe("");
  expect(documentOf(next).vault.content).toBeDefined();
  await expectInStep(lab, machine, uuid);
  expectFarFromLock(lab, uuid);
}

describe.concurrent("a service that fails once loses nothing", () => {
  const once = faultCases.flatMap((one) => [
    { ...one, step: "start", exit: one.start },
    { ...one, step: "end", exit: one.end },
  ]);
  it.each(some(once))("$step:$action: a get exits with $exit, and the next one goes on", async ({ step, action, exit }) => {
    const lab = await openLab(offlineNote);
    const machine = await lab.warmMachine();
    lab.faults(`get-${step}:${action}`);
    const result = await get(machine, lab, action, "20s");
    expectCode(result, exit);
    if (exit === 0) await expectInStep(lab, machine.copy(), lab.vault.uuid);
    await expectRecovery(lab, machine);
    expect(lab.service.sandbox.inspect(lab.vault.uuid).maxFailedAccesses).toBe(0);
  });
});

describe.concurrent("a service that fails every time loses nothing, however often it is tried", () => {
  it.each(some(faultCases))("start:$action: $starts, then the guard; never the start that could lock", async (fault: FaultCase) => {
    const lab = await openLab(offlineNote);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    lab.faults(`get-start:${fault.action}*all`);
    expectCode(await get(machine, lab, fault.action, "900ms"), fault.starts);
    const codes = new Set<number | null>();
    for (let round = 0; round < 4; round += 1) codes.add((await get(machine, lab, fault.action, "300ms")).code);
    // What is never counted, or succeeds, never comes to the guard.
    const counted = ![0, 9].includes(fault.starts);
    expect([...codes].filter((code) => code !== fault.starts)).toEqual(counted ? [8] : []);
    expectFarFromLock(lab, uuid);
    await expectNothingLost(lab, machine.copy());
    if (counted) {
      expect(await machine.status(uuid)).toMatchObject({ unackedStarts: 2, failedAttempts: 2 });
      // The guard stands, also where the service is well again, until a person has looked at it.
      lab.service.faults.clear();
      expectCode(await get(machine, lab, fault.action, "5s"), 8);
      lab.service.sandbox.unlock(uuid);
      expectExit(await machine.vault("guard", uuid, "--reset", "--unanswered", "--yes"), 0);
    }
    await expectRecovery(lab, machine);
  });

  it.each(some(faultCases))("end:$action: $ends each time, and one start in all", async (fault: FaultCase) => {
    const lab = await openLab(offlineNote);
    const { uuid } = lab.vault;
    const { sandbox } = lab.service;
    const machine = await lab.warmMachine();
    lab.faults(`get-end:${fault.action}*all`);
    for (let round = 0; round < 2; round += 1) {
      expectCode(await get(machine, lab, fault.action, "250ms"), fault.ends);
      expectCode(await machine.vault("ack", uuid, "--json", "--timeout", timeoutFor(fault.action), "--max-wait", "250ms"), fault.ends);
    }
    expectFarFromLock(lab, uuid);
    if (fault.ends === 11) {
      expect(sandbox.inspect(uuid)).toMatchObject({ counts: { starts: 2 }, maxUnackedStarts: 1 });
      expect((await machine.status(uuid)).pending?.state).toBe("ending");
      await expectNothingLost(lab, machine.copy());
      lab.service.faults.clear();
      // Refused where the first of them had arrived after all: only the service's answer to a start can tell then.
      expectCode(await machine.vault("ack", uuid, "--json"), fault.processed ? 12 : 0);
    }
    await expectRecovery(lab, machine);
    expect(sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
  });
});
