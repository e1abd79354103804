import { describe, expect, it } from "vitest";
import {
  acknowledged,
  callsSince,
  contentsOf,
  expectExit,
  expectFarFromLock,
  expectInStep,
  expectOrder,
  importAll,
  manyVaults,
  offlineNote,
  openLab,
  outcomesOf,
  summaryOf,
} from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import { postgres } from "../support/postgres.ts";
import type { RunResult } from "../support/run-vault.ts";
import { copyKeys, type Machine } from "../support/machine.ts";

const count = 24;
const seed = Array.from({ length: count }, () => offlineNote);

interface Two {
  lab: Lab;
  machines: [Machine, Machine];
}

let made = 0;

/** Two machines with one state. */
async function shared(): Promise<Two> {
  const lab = await openLab(seed);
  const stateDir = (await postgres()).location(`at_once_${(made += 1)}`);
  const [one, other] = [lab.machine({ stateDir }), lab.machine({ stateDir })];
  expectExit(await one.vault("state", "init"), 0);
  copyKeys(one, other);
  await importAll(lab, one);
  return { lab, machines: [one, other] };
}

/** One machine, twice. */
async function local(): Promise<Two> {
  const { lab, machine } = await manyVaults(seed);
  return { lab, machines: [machine, machine] };
}

describe.each([
  ["two processes on one local state", local],
  ["two machines on one shared state", shared],
])("%s", (_, open) => {
  const get = (name: string): string[] => ["get", "--all", "-o", "ndjson", "--run", name];
  const both = async ({ machines }: Two, names: readonly [string, string]): Promise<RunResult[]> =>
    await Promise.all(
      machines.map(
        async (machine, n) =>
          await machine.start({ timeoutMs: 60_000 }, ...get(names[n] ?? "")).exit,
      ),
    );

  async function expectSound({ lab, machines }: Two, results: readonly RunResult[]): Promise<void> {
    for (const result of results) {
      expectExit(result, 0);
      expect(summaryOf(result)).toMatchObject({ done: count, failed: 0, skipped: 0 });
      expect(new Set(outcomesOf(result).map(({ uuid }) => uuid)).size).toBe(count);
      expect(outcomesOf(result)).toHaveLength(count);
    }
    for (const { uuid } of lab.service.vaults) {
      expectOrder(callsSince(lab, uuid, 0), 0);
      expectFarFromLock(lab, uuid);
      await expectInStep(lab, machines[0], uuid);
    }
  }

  it("with runs of different names read each vault twice", async () => {
    const two = await open();
    const results = await both(two, ["may", "june"]);
    await expectSound(two, results);
    expect(acknowledged(two.lab, 2)).toHaveLength(count);
    for (const result of results) expect(contentsOf(result)).toHaveLength(count);
  });

  it("share a run of one name: each vault is read once", async () => {
    const two = await open();
    const results = await both(two, ["may", "may"]);
    await expectSound(two, results);
    expect(acknowledged(two.lab, 1)).toHaveLength(count);
    const read = results.flatMap((result) => contentsOf(result).map(({ uuid }) => uuid));
    expect(read.toSorted()).toEqual(two.lab.service.vaults.map(({ uuid }) => uuid).toSorted());
    expect(results.reduce((sum, result) => sum + (summaryOf(result)?.calls ?? 0), 0)).toBe(
      2 * count,
    );
  });
});

it("a get of another vault is not kept waiting by a run of many", async () => {
  const lab = await openLab(Array.from({ length: 603 }, () => offlineNote));
  const machine = lab.machine({ env: { VAULTSVC_RATE: "25" } });
  await importAll(lab, machine);
  const { sandbox, vaults } = lab.service;
  const list = vaults.slice(0, 600).map(({ uuid }) => uuid);
  const run = machine.start({ input: list.join("\n") }, "get", "--from", "-", "-o", "ndjson");
  const between: number[] = [];
  for (const { uuid } of vaults.slice(600)) {
    const before = sandbox.requests().length;
    await expect
      .poll(() => sandbox.requests().length, { interval: 5, timeout: 20_000 })
      .toBeGreaterThan(before + 3);
    expectExit(await machine.start({}, "get", uuid, "--json").exit, 0);
    const [start = -1, end = -1] = sandbox
      .requests()
      .flatMap((call, index) => (call.uuid === uuid ? [index] : []));
    between.push(end - start - 1);
  }
  // On a machine that others use too, one of them may be late for its place.
  expect(between.toSorted((a, b) => a - b)[1], String(between)).toBeLessThan(14);
  run.kill("SIGINT");
  const result = await run.exit;
  // The run was still going.
  expectExit(result, 130);
  expect(summaryOf(result)?.done).toBeLessThan(600);
});
