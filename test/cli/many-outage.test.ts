import { errorOf } from "../support/machine.ts";
import { describe, expect, it } from "vitest";
import {
  acknowledged,
  expectExit,
  expectFarFromLock,
  importAll,
  manyVaults,
  offlineNote,
  outcomesOf,
  summaryOf,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { machineFor } from "../support/machine.ts";
import type { ManyVaults } from "../support/lab.ts";
import { tcpProxy, type Proxy } from "../support/proxies.ts";

const count = 24;
const args = ["get", "--all", "-o", "ndjson", "--run", "may", "--concurrency", "3"];

interface Outage extends ManyVaults {
  proxy: Proxy;
  /** Whoever connects, and whoever is connected, is cut off as soon as it sends something. */
  begin: () => void;
  end: () => void;
}

/** The service behind something that can fail. All vaults were read once. */
async function prepare(): Promise<Outage> {
  const { lab, uuids } = await manyVaults(
    Array.from({ length: count }, () => offlineNote),
    { latencyMs: 20 },
  );
  const proxy: Proxy = await tcpProxy({ port: Number(new URL(lab.service.baseUrl).port) });
  const machine: Machine = machineFor({
    ...lab.service,
    baseUrl: `http://127.0.0.1:${proxy.port}`,
  });
  await importAll(lab, machine);
  await machine.ok("get", "--all", "-o", "ndjson");
  return {
    lab,
    machine,
    uuids,
    proxy,
    begin: () => proxy.cutAt(1, "gone"),
    end: () => proxy.cutAt(Number.POSITIVE_INFINITY, "before"),
  };
}

const unacked = async ({ machine, uuids }: ManyVaults): Promise<string[]> => {
  const all = await Promise.all(
    uuids.map(async (uuid) => ({ uuid, ...(await machine.status(uuid)) })),
  );
  return all.filter(({ unackedStarts }) => unackedStarts > 0).map(({ uuid }) => uuid);
};

function expectAll({ lab, uuids }: ManyVaults): void {
  expect(acknowledged(lab, 2).length + acknowledged(lab, 3).length).toBe(count);
  for (const uuid of uuids) {
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      state: "active",
      failedAccesses: 0,
      unackedStarts: 0,
    });
    expectFarFromLock(lab, uuid);
  }
}

describe("a service that goes away in the middle of a run", () => {
  it("and comes back: the run goes on, and every vault is done", async () => {
    const outage = await prepare();
    const { machine } = outage;
    const run = machine.start({}, ...args, "--max-wait", "20s");
    await run.waitFor(/(?:"outcome"[^]*){6}/);
    outage.begin();
    // Three are under way at most: what they have spent is on record before the first of them has failed.
    await expect
      .poll(async () => (await unacked(outage)).length, { timeout: 10_000 })
      .toBeGreaterThan(0);
    outage.end();
    const ended = await run.exit;
    // The one early trial may have fallen into the outage: then the next one is due later than this run waits for it.
    expectExit(ended, 0, 10);
    const result = ended.code === 0 ? ended : await machine.vault(...args);
    expectExit(result, 0);
    expect(summaryOf(result)).toMatchObject({ done: count, failed: 0, skipped: 0 });
    expectAll(outage);
  });

  it("and stays away: the run stops with 10 and says so once; no more starts are spent than were under way", async () => {
    const outage = await prepare();
    const { machine } = outage;
    const run = machine.start({}, ...args, "--max-wait", "2s");
    await run.waitFor(/(?:"outcome"[^]*){6}/);
    outage.begin();
    const result = await run.exit;
    expectExit(result, 10);
    // The second where another vault of the run has sent the probe.
    const said = /not sent: the service (?:is unavailable|did not respond)/g;
    expect(result.stderr.match(said)).toHaveLength(1);
    expect(errorOf(result).help).toMatch(/--run may/);
    const outcomes = outcomesOf(result);
    expect(outcomes).toHaveLength(count);
    const failed = outcomes.filter(({ error }) => error !== undefined);
    expect(failed.length).toBeLessThanOrEqual(3);
    expect(outcomes.filter(({ ok, skipped }) => !ok && skipped !== "stopped")).toEqual(failed);
    expect(outcomes.filter(({ skipped }) => skipped === "stopped").length).toBeGreaterThan(0);
    const spent = await unacked(outage);
    expect(spent.length).toBeLessThanOrEqual(3);
    outage.end();
    // None of them has arrived, as the audit log would show.
    await machine.ok("guard", "--all", "--reset", "--unanswered", "--yes");
    const again = await machine.ok(...args);
    expect(summaryOf(again)).toMatchObject({ done: count, failed: 0, skipped: 0 });
    expectAll(outage);
  });

  it("with nothing that answers at its address: the run stops with 10 once it has waited, and nothing is spent", async () => {
    const outage = await prepare();
    const { machine } = outage;
    outage.proxy.close();
    const result = await machine.vault(...args, "--max-wait", "1s");
    expectExit(result, 10);
    expect(result.stderr).toMatch(/the run has stopped; no connection/);
    expect(outcomesOf(result)).toHaveLength(count);
    expect(summaryOf(result)).toMatchObject({ done: 0, failed: 0, skipped: count });
    expect(await unacked(outage)).toEqual([]);
  });
});
