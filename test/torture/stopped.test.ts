import { beforeAll, describe, expect, it } from "vitest";
import { defaults } from "../../src/protocol/limits.ts";
import { runKilledAt, runStoppedAt } from "../support/crash.ts";
import {
  card,
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectNothingLost,
  offlineCard,
} from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { warm } from "./operations/operation.ts";
import { openRewindLab, type LocalRewindLab } from "./rewind-lab.ts";

const operations = [
  { operation: "get", args: (): string[] => [] },
  {
    operation: "update",
    args: (machine: Machine): string[] => ["--card", `@${machine.file("new.json", card)}`],
  },
];

describe.each(isWhole ? operations : operations.slice(0, 1))(
  "$operation, stopped (SIGSTOP) until its token has expired, then continued (SIGCONT)",
  ({ operation, args }) => {
    let lab: LocalRewindLab;
    let steps: string[];
    let command: string[];

    beforeAll(async () => {
      lab = await openRewindLab([offlineCard], defaults.tokenLifetimeMs);
      await warm(lab);
      command = [operation, lab.vault.uuid, "--json", ...args(lab.machine)];
      lab.keep();
      ({ steps } = await runKilledAt(0, lab.machine, command));
    });

    /** The step before which it is stopped, counted from 1: after ②, after ③, while the end call is on its way. */
    const moments = (): Record<string, number> => {
      const stored = steps.indexOf("receive") + 2;
      const sends = steps.flatMap((step, index) => (step === "send" ? [index] : []));
      const end = (sends[1] ?? 0) + 1;
      return { "after ②": stored + 1, "after ③": end, "during the end call": end + 1 };
    };

    /** Stops it there; another one is busy for as long as it holds the vault, and has its turn as soon as it has not. */
    async function expectTurnsAround(n: number): Promise<void> {
      const { machine } = lab;
      const { uuid } = lab.vault;
      lab.rewind();
      const { run, steps: before } = await runStoppedAt(n, machine, command);
      try {
        // From its lock to ④, which is the last commit; behind that it may have let the vault go already.
        const last = steps.findLastIndex((step) => step.startsWith("commit")) + 1;
        lab.clock.ahead += defaults.tokenLifetimeMs + 60_000;
        const another = await machine.vault("get", uuid, "--json", "--max-wait", "300ms");
        if (!before.slice(0, -1).includes("lock")) expectExit(another, 0);
        else if (n <= last) expectError(another, "busy");
        else expectExit(another, 0, 15);
        await expectNothingLost(lab, lab.aside());
        const waiting = machine.start(
          { timeoutMs: 120_000 },
          "get",
          uuid,
          "--json",
          "--max-wait",
          "100s",
        );
        run.kill("SIGCONT");
        const [result, next] = [await run.exit, await waiting.exit];
        expectExit(next, 0);
        expectExit(result, 0, 13);
        // The service no longer took the token: nothing else may have gone wrong.
        if (result.code === 13)
          expect(errorOf(result)).toMatchObject({ exchange: { state: "expired" } });
        await expectInStep(lab, machine, uuid);
        expectFarFromLock(lab, uuid);
        expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ maxFailedAccesses: 0 });
        tried("interleavings of processes", 1);
      } catch (error) {
        throw new Error(
          `stopped before step ${n}, ${before.at(-1)}, of ${steps.join(", ")}: ${(error as Error).message}`,
          {
            cause: error,
          },
        );
      } finally {
        run.kill("SIGKILL");
        lab.clock.ahead = 0;
      }
    }

    it("after ②, after ③ and during the end call: only the service tells whether the token still lived", async () => {
      for (const n of Object.values(moments())) await expectTurnsAround(n);
    });

    it.runIf(isWhole)("before each of its steps", async () => {
      for (let n = 1; n <= steps.length; n += 1) await expectTurnsAround(n);
    });
  },
);
