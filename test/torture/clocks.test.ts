import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { Dice } from "../support/dice.ts";
import { defaults } from "../../src/protocol/limits.ts";
import {
  card,
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  offlineCard,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { warm } from "./operations/operation.ts";
import { openRewindLab, type LocalRewindLab } from "./rewind-lab.ts";

const hook = join(import.meta.dirname, "..", "support", "clock-jump.cjs");
const hour = 3_600_000;

interface Clock {
  shift?: number;
  jump?: number;
  /** How often the clock is looked at before it jumps. */
  at?: number;
}

/** Runs the program with a wrong clock; also returns how often it has looked at it. */
async function runAt(
  clock: Clock,
  machine: Machine,
  args: readonly string[],
): Promise<RunResult & { looks: number }> {
  const log = join(tempDir("clock"), "looks");
  const { shift = 0, jump = 0, at = 0 } = clock;
  const env = {
    NODE_OPTIONS: `--require=${hook}`,
    CLOCK_SHIFT: `${shift}`,
    CLOCK_JUMP: `${jump}`,
    CLOCK_JUMP_AT: `${at}`,
    CLOCK_LOG: log,
  };
  // The rate limit has a clock of its own to mind.
  const result = await machine.vaultWith({ env: { ...env, VAULTSVC_RATE: "" } }, ...args);
  return { ...result, looks: Number(readFileSync(log, "utf8")) };
}

describe("a clock that jumps", () => {
  let lab: LocalRewindLab;
  let machine: Machine;
  let uuid: string;
  beforeAll(async () => {
    lab = await openRewindLab([offlineCard], defaults.tokenLifetimeMs);
    ({ machine } = lab);
    ({ uuid } = lab.vault);
    await warm(lab);
    lab.keep();
  });

  async function expectAllWell(): Promise<void> {
    await expectNothingLost(lab, lab.aside());
    expectExit(await machine.vault("get", uuid, "--json"), 0);
    await expectInStep(lab, machine, uuid);
    expectFarFromLock(lab, uuid);
    expect(lab.service.sandbox.inspect(uuid).maxFailedAccesses).toBe(0);
    tried("interleavings of processes", 1);
  }

  it.each([
    { operation: "get", jump: 3 * hour },
    { operation: "get", jump: -3 * hour },
    { operation: "update", jump: 3 * hour },
    { operation: "update", jump: -3 * hour },
  ])("by $jump ms in the midst of $operation: all the same", async ({ operation, jump }) => {
    lab.rewind();
    const argsOf = (): string[] =>
      operation === "get"
        ? ["get", uuid, "--json"]
        : ["update", uuid, "--json", "--card", `@${machine.file("new.json", card)}`];
    const { looks } = await runAt({}, machine, argsOf());
    expect(looks).toBeGreaterThan(3);
    const moments = Array.from({ length: looks }, (_, index) => index + 1);
    for (const at of isWhole ? moments : [Math.ceil(looks / 2)]) {
      lab.rewind();
      expectExit(await runAt({ jump, at }, machine, argsOf()), 0);
      // The first ones were of the preparation.
      expect(lab.service.sandbox.inspect(uuid).counts).toMatchObject({
        starts: 2,
        ends: 2,
        acknowledged: 2,
      });
      await expectAllWell();
    }
  });

  it.each([
    { fault: "get-start:status=429*all", code: "rate-limited" },
    { fault: "get-end:drop-before*all", code: "pending" },
  ] as const)(
    "back by hours while it waits ($fault): --max-wait ends the waiting all the same",
    async ({ fault, code }) => {
      const args = ["get", uuid, "--json", "--max-wait", "900ms"];
      lab.rewind();
      lab.faults(fault);
      const { looks } = await runAt({}, machine, args);
      const moments = Array.from({ length: looks - 2 }, (_, index) => index + 2);
      for (const at of isWhole ? moments : [Math.ceil(looks / 2)]) {
        lab.rewind();
        lab.faults(fault);
        expectError(await runAt({ jump: -3 * hour, at }, machine, args), code);
        lab.service.faults.clear();
        await expectAllWell();
      }
    },
  );

  it("from one run to the next, on both sides: every exchange is finished or begun anew", async () => {
    lab.rewind();
    const dice = new Dice("clocks");
    for (let round = 0; round < (isWhole ? 60 : 4); round += 1) {
      lab.clock.ahead = dice.between(-8, 8) * hour;
      const shift = dice.between(-8, 8) * hour;
      const held = dice.chance(0.3) ? ["--no-ack", "--discard-pending"] : ["--discard-pending"];
      expectExit(await runAt({ shift }, machine, ["get", uuid, "--json", ...held]), 0);
      lab.clock.ahead = dice.between(-8, 8) * hour;
      expectExit(
        await runAt({ shift: dice.between(-8, 8) * hour }, machine, ["ack", uuid, "--json"]),
        0,
        13,
      );
      expectFarFromLock(lab, uuid);
    }
    lab.clock.ahead = 0;
    await expectAllWell();
  });
});
