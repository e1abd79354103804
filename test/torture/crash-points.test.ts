import { describe, expect, it } from "vitest";
import { isWhole } from "../support/campaign.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operations.ts";
import type { RewindLab } from "./rewind-lab.ts";
import { openRewindLab } from "./rewind-lab.ts";
import type { CrashPoint, Traced } from "./strace.ts";
import { compiled } from "../support/run-vault.ts";
import { crashPoints, killedAt, straceMissing, traced } from "./strace.ts";
import { tried } from "../support/tally.ts";

/** A whole run under strace. A first one may still fill the cache of compiled code; what comes after it does all the same. */
async function wholeRun(lab: RewindLab, { args, env = {} }: Operation): Promise<Traced> {
  for (;;) {
    lab.rewind();
    const run = await traced(lab.machine, args(lab), [], { env });
    if (!run.calls.some((call) => call.name === "rename" && call.args.includes(compiled))) return run;
  }
}

/** Two of them, half a run apart, elsewhere for each operation. */
function few(points: readonly CrashPoint[], nth: number): CrashPoint[] {
  const half = Math.floor(points.length / 2);
  const first = (nth * 13 + 7) % half;
  return points.filter(({ index }) => index === first || index === first + half);
}

describe.skipIf(straceMissing !== null)(
  `killed with SIGKILL at every system call that changes something${straceMissing === null ? "" : ` (skipped: ${straceMissing})`}`,
  () => {
    it.each(operations.map((operation) => [operation.name, operation] as const))("%s", async (_, operation) => {
      const lab = await openRewindLab(operation.seed);
      await operation.prepare(lab);
      lab.keep();
      const whole = await wholeRun(lab, operation);
      expect(whole.result.code, whole.result.stderr).toBe(0);
      await operation.goesOn(lab, whole.result.stdout, true);
      const points = crashPoints(whole.calls);
      // It has not been looking at nothing.
      expect(points.map(({ name }) => name)).toEqual(expect.arrayContaining(["pwrite64", "fsync", "write", "exit_group"]));
      const chosen = isWhole ? points : few(points, operations.indexOf(operation));
      for (const point of chosen) {
        const { result } = await killedAt(point, async (more) => {
          lab.rewind();
          return await traced(lab.machine, operation.args(lab), more, { env: operation.env ?? {} });
        });
        try {
          await operation.goesOn(lab, result.stdout, false);
        } catch (error) {
          throw new Error(`killed before ${point.index}, ${point.what}: ${(error as Error).message}`, { cause: error });
        }
      }
      tried("crash points, killed at a system call", chosen.length);
    });
  },
);
