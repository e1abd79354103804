import { expect } from "vitest";
import { runKilledAt } from "../support/crash.ts";
import { expectExit, note, offlineNote } from "../support/lab.ts";
import type { Operation } from "./operation.ts";
import { ackGoesOn, get, getGoesOn, here, inStep, nothingLost, warm } from "./operation.ts";
import type { RewindLab } from "./rewind-lab.ts";

/** Longer than a token of the lab lives. */
const long = 24 * 3_600_000;

/** A get that was killed before the n-th step of this name (test/support/kill-at.cjs), counted from 0. */
async function leave(lab: RewindLab, name: string, n = 0): Promise<void> {
  await lab.keep();
  const { steps } = await runKilledAt(0, lab.machine, get(lab));
  await lab.rewind();
  const index = steps.flatMap((step, at) => (step === name ? [at] : []))[n] ?? -1;
  expect((await runKilledAt(index + 1, lab.machine, get(lab))).killed).toBe(true);
}

async function leftIn(lab: RewindLab, state: string): Promise<void> {
  expect((await (await lab.aside()).status(lab.vault.uuid)).exchange?.state ?? "intent").toBe(
    state,
  );
}

/** An exchange whose end call went unanswered until its token had died. */
async function leaveInDoubt(lab: RewindLab, step: string, n: number): Promise<void> {
  await warm(lab);
  await leave(lab, step, n);
  await leftIn(lab, "ending");
  lab.clock.ahead = long;
  expectExit(await here(lab, "ack", lab.vault.uuid), 12);
  await leftIn(lab, "in-doubt");
}

export const leftOnes: Operation[] = (
  [
    ["intent", async (lab) => await leave(lab, "send")],
    ["intent, whose start had arrived,", async (lab) => await leave(lab, "receive")],
    ["started", async (lab) => await leave(lab, "stdout")],
    ["ending", async (lab) => await leave(lab, "send", 1)],
    ["ending, whose end call had arrived,", async (lab) => await leave(lab, "receive", 1)],
  ] as [string, (lab: RewindLab) => Promise<void>][]
).map(([state, leaving]) => ({
  name: `get after an exchange left at ${state}`.replace(/,$/, ""),
  seed: [offlineNote],
  prepare: async (lab) => {
    await warm(lab);
    await leaving(lab);
    await leftIn(lab, state.replace(/,.*/, ""));
  },
  args: get,
  goesOn: async (lab) => void (await getGoesOn(lab)),
}));

export const heldOnes: Operation[] = [
  {
    name: "ack of an exchange left before its end call",
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      await leave(lab, "send", 1);
      await leftIn(lab, "ending");
    },
    args: ({ vault }) => ["ack", vault.uuid, "--json"],
    goesOn: ackGoesOn,
  },
  {
    name: "get --discard-pending after a held exchange",
    seed: [offlineNote],
    prepare: async (lab) => {
      await warm(lab);
      expectExit(await here(lab, ...get(lab, "--no-ack")), 0);
    },
    args: (lab) => get(lab, "--discard-pending"),
    goesOn: async (lab) => {
      await nothingLost(lab);
      const next = await here(lab, ...get(lab));
      expectExit(next, 0, 11);
      // Held still: it is run again.
      if (next.code === 11) await getGoesOn(lab, { content: note }, "--discard-pending");
      await inStep(lab);
    },
  },
  {
    name: "get after an exchange in doubt, not acknowledged",
    seed: [offlineNote],
    prepare: async (lab) => await leaveInDoubt(lab, "send", 1),
    args: get,
    goesOn: async (lab) => void (await getGoesOn(lab)),
  },
  {
    name: "get after an exchange in doubt, acknowledged",
    seed: [offlineNote],
    prepare: async (lab) => await leaveInDoubt(lab, "receive", 1),
    args: get,
    goesOn: async (lab) => void (await getGoesOn(lab)),
  },
];
