import { describe, expect, it } from "vitest";
import { killEverywhere } from "./kill-everywhere.ts";
import { operations, sharedOperations } from "./operations/operations.ts";
import { openRewindLab, openSharedRewindLab } from "./rewind-lab.ts";
import type { RewindLab } from "./rewind-lab.ts";
import { changesSomething, straceMissing } from "./strace.ts";
import { wholes } from "./operations/keeping.ts";

const named = operations.map((operation, nth) => [operation.name, operation, nth] as const);
const whole = wholes.map((operation, nth) => [operation.name, operation, nth] as const);
const shared = sharedOperations.map((operation, nth) => [operation.name, operation, nth] as const);

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
