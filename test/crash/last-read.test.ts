import { beforeAll, describe, expect, it } from "vitest";
import { stride } from "../support/campaign.ts";
import type { Template } from "../support/crash.ts";
import { atEveryStep, runKilledAt, template } from "../support/crash.ts";
import { expectExit, expectFarFromLock, firstGet, note, offlineNote } from "../support/lab.ts";
import type { GetDocument } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";

/** The document, if it arrived whole. */
function wholeDocument(stdout: string): GetDocument | null {
  try {
    return JSON.parse(stdout) as GetDocument;
  } catch {
    return null;
  }
}

describe("the last read of a limited vault, killed with SIGKILL before, between and after its steps", () => {
  let made: Template;
  beforeAll(async () => {
    made = await template({ ...offlineNote, maxUsage: 2 }, async ({ vault }, machine) =>
      expectExit(await firstGet(machine, vault), 0),
    );
  });

  it("either its contents arrived whole, or they can still be read", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const { sandbox } = lab.service;
    const seen = { arrived: 0, readAgain: 0 };
    await atEveryStep(async (n) => {
      const machine = fresh();
      expect(sandbox.inspect(uuid)).toMatchObject({ usesRemaining: 1 });
      const run = await runKilledAt(n, machine, ["get", uuid, "--json"]);
      const check = async (): Promise<void> => {
        const arrived = wholeDocument(run.result.stdout)?.vault.content === note;
        if (sandbox.inspect(uuid).state !== "active") expect(arrived).toBe(true);
        const next = await machine.vault("get", uuid, "--json");
        const again = next.code === 0 && wholeDocument(next.stdout)?.vault.content === note;
        expect(arrived || again, `${next.code} ${next.stderr}`).toBe(true);
        // Deleted by its last read: nothing else is wrong.
        if (!again)
          expect(errorOf(next)).toMatchObject({
            code: "locked",
            message: expect.stringMatching(/gone/) as string,
          });
        seen[arrived ? "arrived" : "readAgain"] += 1;
        expectFarFromLock(lab, uuid);
      };
      return { ...run, check };
    });
    if (stride === 1) expect(seen.arrived).toBeGreaterThan(3);
    expect(seen.readAgain).toBeGreaterThan(stride === 1 ? 3 : 0);
  });

  it("ack does not use it up unseen: killed before the contents are known to have arrived, it asks for --unread", async () => {
    const { lab, fresh } = made;
    const { uuid } = lab.vault;
    const { sandbox } = lab.service;
    const { steps } = await runKilledAt(0, fresh(), ["get", uuid, "--json"]);
    const beforeStdout = steps.indexOf("stdout") + 1;
    for (const n of [beforeStdout, beforeStdout + 1]) {
      const machine = fresh();
      const { result } = await runKilledAt(n, machine, ["get", uuid, "--json"]);
      expect(wholeDocument(result.stdout) !== null).toBe(n > beforeStdout);
      const ack = await machine.vault("ack", uuid, "--json");
      expectExit(ack, 11);
      expect(errorOf(ack)).toMatchObject({
        code: "pending",
        help: expect.stringMatching(/--unread/) as string,
      });
      expect(sandbox.inspect(uuid)).toMatchObject({ state: "active", usesRemaining: 1 });
      expectExit(await machine.vault("ack", uuid, "--unread"), 0);
      expect(sandbox.inspect(uuid)).toMatchObject({ state: "deleted", usesRemaining: 0 });
    }
  });
});
