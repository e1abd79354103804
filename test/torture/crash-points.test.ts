import { describe, expect, it } from "vitest";
import { exchanges } from "./operations/exchanges.ts";
import { many } from "./operations/many.ts";
import { openRewindLab, openSharedRewindLab, type RewindLab } from "./rewind-lab.ts";
import {
  changesSomething,
  straceMissing,
  crashPoints,
  isEvent,
  killedAt,
  traced,
} from "./strace.ts";
import { keeping, wholes } from "./operations/keeping.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { compiled } from "../support/run-vault.ts";
import type { Operation } from "./operations/operation.ts";
import type { CrashPoint, IsEvent, Traced } from "./strace.ts";

const operations = [...exchanges, ...keeping, ...many];
/** Those that are tried on a shared state, too: what all steps are of, and what leaves nothing in files. */
const alike =
  /^(get|run|update|ack of a held exchange|the last read of a limited vault|import|forget|get of three vaults)$/;

const named = operations.map((operation, nth) => [operation.name, operation, nth] as const);
const whole = wholes.map((operation, nth) => [operation.name, operation, nth] as const);
const shared = operations
  .filter(({ name }) => alike.test(name))
  .map((operation, nth) => [operation.name, operation, nth] as const);

describe.skipIf(straceMissing !== null)(
  `killed with SIGKILL at every system call that changes something${straceMissing === null ? "" : ` (skipped: ${straceMissing})`}`,
  () => {
    it.each(named)("%s", async (_, operation, nth) => {
      const lab = await openRewindLab(operation.seed);
      const calls = ["pwrite64", "fsync", "write", "exit_group"];
      await expect(killEverywhere(lab, operation, { calls, nth })).resolves.toBeUndefined();
    });

    it.each(shared)(
      "on a shared state, which another machine uses then: %s",
      async (_, operation, nth) => {
        const lab = await openSharedRewindLab(operation.seed);
        const calls = ["connect", "write", "exit_group"];
        await expect(
          killEverywhere(lab, operation, {
            calls,
            nth,
            next: lab.elsewhere,
            isPoint: changesSomething,
          }),
        ).resolves.toBeUndefined();
      },
    );

    it.each(whole)("on a shared state, of the whole of it: %s", async (_, operation, nth) => {
      const lab = await openSharedRewindLab(operation.seed);
      const calls = ["connect", "write", "exit_group"];
      const next = async (): Promise<RewindLab> => {
        await lab.elsewhere();
        return lab;
      };
      await expect(
        killEverywhere(lab, operation, { calls, nth, next, isPoint: changesSomething }),
      ).resolves.toBeUndefined();
    });
  },
);

interface Killing {
  /** Calls that a whole run makes, so that it has not been looking at nothing. */
  calls: readonly string[];
  /** The short form tries two crash points, elsewhere for each of these numbers. */
  nth: number;
  /** Which calls are crash points; by default all that change something or hear from others. */
  isPoint?: IsEvent;
  /** Where the next command runs, once the process is dead; the same machine by default. */
  next?: () => Promise<RewindLab>;
}

/** Kills a command with SIGKILL at every system call that changes something, each time from the same beginning. */
async function killEverywhere(
  lab: RewindLab,
  operation: Operation,
  { calls, nth, next, isPoint = isEvent }: Killing,
): Promise<void> {
  await operation.prepare(lab);
  await lab.keep();
  const goesOn = async (printed: string, ended: boolean): Promise<unknown> =>
    await operation.goesOn((await next?.()) ?? lab, printed, ended);
  const whole = await wholeRun(lab, operation);
  expect(whole.result.code, whole.result.stderr).toBe(0);
  await goesOn(whole.result.stdout, true);
  const points = crashPoints(whole.calls, isPoint);
  expect(points.map(({ name }) => name)).toEqual(expect.arrayContaining([...calls]));
  const chosen = isWhole ? points : few(points, nth);
  for (const point of chosen) {
    const run = async (more: string[]): Promise<Traced> => {
      await lab.rewind();
      return await runTraced(lab, operation, more);
    };
    const { result } = await killedAt(point, run, isPoint);
    try {
      await goesOn(result.stdout, false);
    } catch (error) {
      throw new Error(`killed before ${point.index}, ${point.what}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
  tried("crash points, killed at a system call", chosen.length);
}

/** A whole run under strace. The first ones may still fill the cache of compiled code; what comes after them does all the same. */
async function wholeRun(lab: RewindLab, operation: Operation): Promise<Traced> {
  for (let tries = 0; tries < 5; tries += 1) {
    await lab.rewind();
    const run = await runTraced(lab, operation);
    if (!run.calls.some((call) => call.name === "rename" && call.args.includes(compiled)))
      return run;
  }
  throw new Error("each run writes its compiled code again");
}

async function runTraced(
  lab: RewindLab,
  operation: Operation,
  more: readonly string[] = [],
): Promise<Traced> {
  const { args, env = {}, shell, hasChildren } = operation;
  const through = shell === undefined ? [] : ["/bin/sh", "-c", shell, "sh"];
  return await traced(lab.machine, args(lab), [...(hasChildren ? ["-b", "execve"] : []), ...more], {
    env,
    through,
  });
}

/** Two of them, half a run apart, elsewhere for each operation. */
function few(points: readonly CrashPoint[], nth: number): CrashPoint[] {
  const half = Math.floor(points.length / 2);
  const first = (nth * 13 + 7) % half;
  return points.filter(({ index }) => index === first || index === first + half);
}
