import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { documentOf, type Machine } from "../support/machine.ts";

const hour = 3_600_000;

async function expectGet(
  lab: Lab,
  machine: Machine,
  outcomes: string[],
  failed: number,
  ...more: string[]
): Promise<void> {
  const { uuid } = lab.vault;
  const next = await machine.ok("get", uuid, "--json", ...more);
  expect(documentOf(next).settled.map(({ outcome }) => outcome)).toEqual(outcomes);
  await expectInStep(lab, machine, uuid);
  expectFarFromLock(lab, uuid);
  expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(failed);
}

describe.concurrent("a token that dies before its acknowledgement", () => {
  it("of a held exchange: ack says that the old pair is the current one, and a get goes on with it", async () => {
    const lab = await openLab(offlineNote);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    await machine.ok("get", uuid, "--no-ack", "--json");
    lab.clock.ahead = hour;
    expectError(
      await machine.vault("ack", uuid, "--json"),
      "service",
      /no longer accepts the token .*; the read was not acknowledged, and the old credentials are still valid$/,
    );
    expect(await machine.status(uuid)).toMatchObject({ status: "ready", exchange: null });
    await expectInStepButForTheStart(lab, machine.copy());
    await expectGet(lab, machine, [], 0);
  });

  it("by our own clock only: the end call is tried once more, and settles it", async () => {
    const lab = await openLab(offlineNote, { policy: { tokenTtlMs: hour } });
    const { uuid } = lab.vault;
    lab.clock.ahead = -2 * hour;
    const machine = await lab.warmMachine();
    await machine.ok("get", uuid, "--no-ack", "--json");
    await machine.ok("ack", uuid, "--json");
    await expectInStep(lab, machine, uuid);
  });

  it("while its answer was waited for: in doubt at once", async () => {
    const lab = await openLab(offlineNote, { policy: { tokenTtlMs: 3000 } });
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    lab.faults("get-end:hang");
    expectError(
      await machine.vault("get", uuid, "--timeout", "3500ms", "--json"),
      "in-doubt",
      /may or may not have arrived/,
    );
    await expectNothingLost(lab, machine.copy());
    await expectGet(lab, machine, ["acknowledged"], 0);
  });

  it.each([
    { generation: "2", holds: "the old pair", action: "drop-before" },
    { generation: "3", holds: "the new pair", action: "drop-after" },
  ])(
    "in doubt, a person may choose $holds by --generation $generation",
    async ({ generation, action }) => {
      const lab = await openLab(offlineNote);
      const { uuid } = lab.vault;
      const machine = await leftEnding(lab, action);
      await machine.ok("get", uuid, "--generation", generation, "--json");
      await expectInStep(lab, machine, uuid);
      expect(lab.service.sandbox.inspect(uuid).counts.failed).toBe(0);
    },
  );
});

/** A machine whose last exchange had its end call unanswered; the service is well again, and the token is dead. */
async function leftEnding(lab: Lab, action: string): Promise<Machine> {
  const { uuid } = lab.vault;
  const machine = await lab.warmMachine();
  lab.faults(`get-end:${action}*all`);
  expectError(await machine.vault("get", uuid, "--max-wait", "100ms", "--json"), "pending");
  // One, or two where its wait was short enough for another.
  const { exchange } = await machine.status(uuid);
  expect(exchange?.state).toBe("ending");
  expect([1, 2]).toContain(exchange?.endsUnanswered);
  lab.service.faults.clear();
  lab.clock.ahead = hour;
  await expectNothingLost(lab, machine.copy());
  return machine;
}

/** The start is on the service's record, unacknowledged; the pair is the one that it accepts. */
async function expectInStepButForTheStart(lab: Lab, machine: Machine): Promise<void> {
  await expectNothingLost(lab, machine);
  expect(await machine.exported(lab.vault.uuid)).toEqual(
    lab.service.sandbox.inspect(lab.vault.uuid).pair,
  );
}
