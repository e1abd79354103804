import { describe, expect, it } from "vitest";
import { isWhole, stride } from "../support/campaign.ts";
import { runStoppedAt } from "../support/crash.ts";
import { expectExit, expectFarFromLock, expectInStep } from "../support/lab.ts";
import { closeConnections, team, type Team } from "../support/shared-state.ts";
import { postgres } from "../support/postgres.ts";
import { copyKeys, type Machine } from "../support/machine.ts";

/** An operation on the whole of a shared state, by the first machine. */
interface Operation {
  name: string;
  args(all: Team): Promise<string[]>;
  /** The machine that goes on when the operation was done. */
  after(all: Team, args: string[]): Machine;
}

let made = 0;

/** Each step takes a team of its own. */
const each = isWhole ? 1 : 2 * stride;

const operations: Operation[] = [
  {
    name: "rekey",
    args: async () => await Promise.resolve(["state", "rekey", "--yes"]),
    after: ({ machines: [first, , third] }) => {
      copyKeys(first, third);
      return third;
    },
  },
  {
    name: "move",
    args: async ({ another, machines: [first] }) => {
      const to = another((await postgres()).location(`stalled_${(made += 1)}`));
      expectExit(await to.vault("state", "init"), 0);
      copyKeys(to, first);
      return ["state", "move", "--to", to.stateDir, "--yes"];
    },
    after: ({ another }, args) => another(args[3] ?? ""),
  },
];

describe.each(operations)(
  "state $name of a shared state that stands still for longer than every lease, at each of its steps",
  (operation) => {
    it(
      "writes over nothing that a colleague has done meanwhile",
      { timeout: 600_000 },
      async () => {
        for (let n = 1; n < 400; n += each) {
          const all = await team();
          const { lab, uuid, machines, sql } = all;
          const [first, second] = machines;
          const args = await operation.args(all);
          const { run, steps } = await runStoppedAt(n, first, args);
          // All that ends by itself has ended.
          for (const over of [
            `UPDATE schema.vaults SET ends_at = '-infinity'`,
            `DELETE FROM schema.meta WHERE name = 'closing'`,
          ])
            await sql(`SET lock_timeout = '50ms'; ${over}`).catch(() => undefined);
          const colleague = await second.vault("get", uuid, "--json", "--max-wait", "500ms");
          expect([0, 14, 15], `step ${n}: ${colleague.stderr}`).toContain(colleague.code);
          run.kill("SIGCONT");
          const { code, stderr } = await run.exit;
          expect([0, 14, 15], `step ${n}: ${stderr}`).toContain(code);
          if (code !== 0) {
            expectExit(await second.vault("get", uuid, "--json"), 0, 14);
            expectExit(await first.vault(...args), 0);
          }
          const next = operation.after(all, args);
          const again = await next.vault("get", uuid, "--json");
          expect(again.code, `step ${n}: ${code} ${stderr}\n${again.stderr}`).toBe(0);
          await expectInStep(lab, next, uuid);
          expectFarFromLock(lab, uuid);
          await closeConnections();
          if (steps.length !== n) return;
        }
      },
    );
  },
);
