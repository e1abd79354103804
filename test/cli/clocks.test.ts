import { editShared } from "../support/stored-vaults.ts";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectInStep,
  note,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import { documentOf, type Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { team } from "../support/shared-state.ts";

const hour = 3_600_000;

/** Runs a command on a machine whose clock is ahead. */
async function ahead(machine: Machine, ms: number, ...args: string[]): Promise<RunResult> {
  const require = `--require=${join(import.meta.dirname, "..", "support", "clock-jump.cjs")}`;
  return await machine.start({ env: { NODE_OPTIONS: require, CLOCK_SHIFT: String(ms) } }, ...args)
    .exit;
}

describe.concurrent("a machine's own clock settles nothing on a shared state", () => {
  it.each([hour, -hour])(
    "%d ms ahead, it leaves a colleague's held exchange whose token lives",
    async (ms) => {
      const { lab, uuid, machines } = await team();
      await machines[0].ok("get", uuid, "--no-ack", "--json");
      const sent = lab.service.sandbox.requests().length;
      expectError(await ahead(machines[1], ms, "get", uuid, "--json"), "pending", /is held/);
      expectError(
        await ahead(machines[1], ms, "get", uuid, "--dry-run", "--json"),
        "pending",
        /is held/,
      );
      const many = await ahead(machines[1], ms, "get", "--all", "-o", "ndjson");
      expectExit(many, 16);
      expect(many.stdout).toContain('"skipped":"held"');
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      await machines[0].ok("ack", uuid);
      await expectInStep(lab, machines[0], uuid);
    },
  );

  it("an hour ahead, it waits for an end call that is not answered as long as the token lives", async () => {
    const { lab, uuid, machines } = await team();
    lab.faults("get-end:drop-before*all");
    expectError(
      await ahead(machines[1], hour, "get", uuid, "--json", "--max-wait", "1s"),
      "pending",
    );
    expect(await machines[0].status(uuid)).toMatchObject({ exchange: { state: "ending" } });
  });

  it("a held get whose token has expired by the database's clock is dropped by the next one, an hour behind too, and told", async () => {
    const { lab, uuid, machines, sql } = await team();
    const held = documentOf(await machines[0].vault("get", uuid, "--no-ack", "--json"));
    await editShared(sql, ({ exchanges }) => {
      for (const row of exchanges)
        if (row.state === "held") row.tokenExpiry = "2020-01-01T00:00:00Z";
    });
    const next = await ahead(machines[1], -hour, "get", uuid, "--json");
    expectExit(next, 0);
    expect(documentOf(next).vault.content).toBe(note);
    expect(documentOf(next).settled).toEqual([
      {
        exchange: expect.objectContaining({ id: held.exchange.id }) as object,
        operation: "get",
        outcome: "not-applied",
      },
    ]);
    await expectInStep(lab, machines[0], uuid);
  });
});

it("a held get whose token has expired is told where it is dropped on one machine, too", async () => {
  const { lab, machine, uuid } = await warmLab(offlineNote);
  const held = documentOf(await machine.vault("get", uuid, "--no-ack", "--json"));
  lab.clock.ahead += hour;
  const next = documentOf(await ahead(machine, hour, "get", uuid, "--json"));
  expect(next.settled).toMatchObject([
    { exchange: { id: held.exchange.id }, operation: "get", outcome: "not-applied" },
  ]);
});
