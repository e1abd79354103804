import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Dice } from "../support/dice.ts";
import {
  callsSince,
  card,
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  expectOrder,
  firstGet,
  offlineCard,
  openLab,
} from "../support/lab.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { runKilledAt } from "../support/crash.ts";
import type { Calls, Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";

/** One process of a round: a command, and the step before which it is killed; 0 is none. */
interface Process {
  name: string;
  args: string[];
  killAt: number;
  /** What it is killed with. */
  signal: string;
  /** Exit codes that it may end with, beside the others of its round. */
  codes: readonly number[];
}

/** What a round tells of, where it fails. */
interface Round {
  processes: readonly Process[];
  results: readonly RunResult[];
}

const patience = ["--max-wait", "100s"];

/** A command by its name, for one vault or all of them. */
function command(
  name: string,
  lab: Lab,
  machine: Machine,
  uuid: string,
  number: number,
): Pick<Process, "args" | "codes"> {
  const pair = JSON.stringify(lab.service.sandbox.inspect(uuid).pair);
  switch (name) {
    case "get":
      return { args: ["get", uuid, "--json", ...patience], codes: [0] };
    case "update":
      return {
        args: [
          "update",
          uuid,
          "--card",
          `@${machine.file("card.json", { ...card, expiryYear: 2032 })}`,
          ...patience,
        ],
        codes: [0],
      };
    case "ack":
      // In doubt, or its token dead: a later start, whose process was killed before it heard of it, has taken its place. Or the last one
      // that this user began here was discarded by another.
      return { args: ["ack", uuid, "--json", ...patience], codes: [0, 6, 12, 13] };
    case "ack --all":
      return { args: ["ack", "--all", "--json", ...patience], codes: [0, 12, 13, 16] };
    case "guard --reset":
      return { args: ["guard", uuid, "--reset", "--yes", ...patience], codes: [0] };
    case "import":
      // Superseded by then, or an exchange is open that it is not of.
      return {
        args: [
          "import",
          uuid,
          "--kind",
          lab.vault.kind,
          "--credentials",
          `@${machine.file(`pair-${number}.json`, pair)}`,
          ...patience,
        ],
        codes: [0, 4],
      };
    case "export":
      return { args: ["export", uuid, ...patience], codes: [0] };
    case "forget":
      return { args: ["forget", uuid, "--yes", ...patience], codes: [0, 11, 12] };
    case "state rekey":
      return { args: ["state", "rekey", "--yes", ...patience], codes: [0] };
    case "state backup":
      return { args: ["state", "backup", join(machine.home, `backup-${number}.db`)], codes: [0] };
    default:
      return { args: ["status", "--json"], codes: [0] };
  }
}

/** Exchanges more often than the rest; forgetting seldom, as it ends what a round is about. */
const weights = [
  { name: "get", weight: 4 },
  { name: "update", weight: 2 },
  { name: "ack", weight: 1 },
  { name: "ack --all", weight: 1 },
  { name: "guard --reset", weight: 1 },
  { name: "import", weight: 1 },
  { name: "export", weight: 1 },
  { name: "state rekey", weight: 1 },
  { name: "state backup", weight: 1 },
  { name: "status", weight: 2 },
  { name: "forget", weight: 1 },
];

/** Two to four commands at the same moment; at most two of them are killed, so that what they count stays far from a lock. */
function choose(dice: Dice, lab: Lab, machine: Machine, round: number): Process[] {
  let mayBeKilled = 2;
  return Array.from({ length: dice.between(2, 4) }, (_, index) => {
    const name = index === 0 ? dice.pick(["get", "update"]) : dice.draw(weights).name;
    const { uuid } = dice.pick(lab.service.vaults);
    const isKilled = mayBeKilled > 0 && dice.chance(0.4);
    if (isKilled) mayBeKilled -= 1;
    const killAt = isKilled ? dice.between(1, name === "state rekey" ? 150 : 28) : 0;
    return {
      name,
      killAt,
      signal: dice.pick(["SIGKILL", "SIGKILL", "SIGTERM"]),
      ...command(name, lab, machine, uuid, round * 10 + index),
    };
  });
}

/** Starts all of them at once, and checks what they leave: first as it is, then after one more get of each vault. */
async function playRound(dice: Dice, lab: Lab, machine: Machine, round: number): Promise<void> {
  const processes = choose(dice, lab, machine, round);
  const from = lab.service.sandbox.requests().length;
  const results = await Promise.all(
    processes.map(async ({ args, killAt, signal }) => {
      if (killAt === 0) return await machine.start({ timeoutMs: 120_000 }, ...args).exit;
      return (
        await runKilledAt(killAt, machine, args, {
          timeoutMs: 120_000,
          env: { KILL_SIGNAL: signal },
        })
      ).result;
    }),
  );
  try {
    const killed = results.filter(({ signal, code }) => signal !== null || code === 143).length;
    expectCodes({ processes, results });
    for (const vault of lab.service.vaults) {
      const calls = callsSince(lab, vault.uuid, from);
      expectOrder(calls, killed);
      await expectKept({ ...lab, vault }, machine, processes, calls);
    }
  } catch (error) {
    const told = processes.map(({ name, killAt }, index) => ({
      name,
      killAt,
      killedWith: processes[index]?.signal,
      ...results[index],
    }));
    throw new Error(
      `round ${round}: ${(error as Error).message}\n${JSON.stringify(told, null, 1)}`,
      { cause: error },
    );
  }
}

function expectCodes({ processes, results }: Round): void {
  const forgets = processes.some(({ name }) => name === "forget");
  for (const [index, result] of results.entries()) {
    const { codes = [], name = "", killAt = 0, signal } = processes[index] ?? {};
    if (result.signal !== null) {
      expect([result.signal, killAt > 0], name).toEqual([signal, true]);
      continue;
    }
    const forgotten = forgets ? (name === "ack --all" ? [16] : [4]) : [];
    expectExit(
      result,
      ...codes,
      ...forgotten,
      ...(killAt > 0 && signal === "SIGTERM" ? [143] : []),
    );
  }
}

/** Whatever was killed: a pair that the service accepts is there, nobody waits for the dead, and one get brings all in step. */
async function expectKept(
  lab: Lab,
  machine: Machine,
  processes: readonly Process[],
  calls: Calls,
): Promise<void> {
  const { uuid } = lab.vault;
  expectFarFromLock(lab, uuid);
  const isForgotten = (await machine.exported(uuid)) === null;
  if (isForgotten) {
    expect(processes.some(({ name, args }) => name === "forget" && args[1] === uuid)).toBe(true);
    const pair = machine.file("kept.json", lab.service.sandbox.inspect(uuid).pair);
    await machine.ok("import", uuid, "--kind", lab.vault.kind, "--credentials", `@${pair}`);
  } else await expectNothingLost(lab, machine.copy());
  await machine.ok("get", uuid, "--json", "--max-wait", "10s");
  await expectInStep(lab, machine, uuid);
  expectFarFromLock(lab, uuid);
  expect(
    lab.service.sandbox.inspect(uuid).maxFailedAccesses,
    calls.map(({ step }) => step).join(", "),
  ).toBeLessThan(2);
}

/** Each plays its rounds one after the other on one state, which so has a past. */
const tables = Array.from({ length: isWhole ? 60 : 2 }, (_, index) => ({
  seed: `table ${index}`,
  vaults: 1 + (index % 3),
}));
const rounds = isWhole ? 5 : 2;

describe("several processes at the same moment, some killed", () => {
  it.each(tables)(
    "of $vaults vaults, $seed: one exchange at a time, nothing lost, nobody waits for the dead",
    async ({ seed, vaults }) => {
      const lab = await openLab(Array.from({ length: vaults }, () => offlineCard));
      const machine = lab.machine();
      for (const vault of lab.service.vaults) expectExit(await firstGet(machine, vault), 0);
      const dice = new Dice(seed);
      for (let round = 0; round < rounds; round += 1) await playRound(dice, lab, machine, round);
      tried("interleavings of processes", rounds);
    },
  );
});

describe("many processes on one vault", () => {
  it("each has its turn, with the pair of the one before", async () => {
    const lab = await openLab(offlineCard);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    const count = isWhole ? 16 : 4;
    const runs = await Promise.all(
      Array.from(
        { length: count },
        async () =>
          await machine.start({ timeoutMs: 120_000 }, "get", uuid, "--json", "--max-wait", "100s")
            .exit,
      ),
    );
    for (const run of runs) expectExit(run, 0);
    const calls = callsSince(lab, uuid, 0);
    expect(calls).toHaveLength(2 * (count + 1));
    expectOrder(calls, 0);
    await expectInStep(lab, machine, uuid);
    tried("interleavings of processes", 1);
  });
});
