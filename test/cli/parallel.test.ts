import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import { documentOf } from "../support/machine.ts";

/** Starts and end calls of a vault, in the order in which they arrived. */
const calls = ({ service }: Lab, uuid: string): string[] =>
  service.sandbox
    .requests()
    .filter((request) => request.uuid === uuid)
    .map(({ step }) => step);

describe("several processes", () => {
  it("on one vault: one exchange after the other, each with the pair of the one before", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const runs = await Promise.all(
      Array.from({ length: 6 }, () => machine.start({}, "get", uuid, "--json").exit),
    );
    for (const run of runs) expectExit(run, 0);
    const generations = runs
      .map((run) => documentOf(run).exchange.generation)
      .sort((a, b) => a - b);
    expect(generations).toEqual([3, 4, 5, 6, 7, 8]);
    expect(calls(lab, uuid)).toEqual(Array.from({ length: 7 }, () => ["start", "end"]).flat());
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      maxUnackedStarts: 1,
      maxFailedAccesses: 0,
    });
    await expectInStep(lab, machine, uuid);
  });

  it("one that waits longer than --max-wait is busy, and has sent nothing; kill -9 of the holder frees the vault at once", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    lab.faults("get-start:hang");
    const holder = machine.start({}, "get", uuid, "--verbose");
    await holder.waitFor(/start \(get\)/, "stderr");
    const busy = await machine.vault("get", uuid, "--json", "--max-wait", "300ms");
    expectError(busy, "busy", /another process/);
    expectError(
      await machine.vault("forget", uuid, "--yes", "--json", "--max-wait", "100ms"),
      "busy",
    );
    await machine.ok("status", uuid);
    const waiting = machine.start({}, "get", uuid, "--json");
    holder.kill("SIGKILL");
    expectExit(await waiting.exit, 0);
    await expectInStep(lab, machine, uuid);
    expectFarFromLock(lab, uuid);
    expect(lab.service.sandbox.inspect(uuid).maxUnackedStarts).toBe(2);
  });
});
