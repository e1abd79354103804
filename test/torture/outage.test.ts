import { describe, expect, it } from "vitest";
import type { Breaker } from "../../src/exchange/breaker.ts";
import { after, closed, isTriedByTime, trialDueAt } from "../../src/exchange/breaker.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { behindGateway, fleet, type Rule } from "../support/gateway.ts";
import { expectExit, expectFarFromLock, firstGetArgs } from "../support/lab.ts";

const minute = 60_000;
const hour = 60 * minute;
const gone: Rule = { status: 503 };

describe("a lone vault that cron reads each minute, while a gateway loses every start", () => {
  const read = ["get", "--json"];

  it.each<[string, Rule, number, number | null]>([
    // Of the first command two, then one after 300 seconds, and another: the fifth one could lock the vault.
    ["answered", "pass", 4, 11],
    ["not answered", gone, 1, null],
  ])("probes are %s", async (_, probes, starts, stopped) => {
    const { lab, machine, gateway, vault, clock } = await behindGateway();
    const { uuid } = lab.vault;
    expectExit(await vault(...firstGetArgs(machine, lab.vault), "--json"), 0);
    gateway.be({ probes, starts: "drop" });
    const began = clock.time;
    let stoppedAfter: number | null = null;
    for (let at = began; at < began + hour - minute; at += minute) {
      // Who still waits has the vault; cron begins no second one.
      if (clock.time > at) continue;
      clock.time = at;
      const { code } = await vault(...read, uuid);
      expect([8, 10]).toContain(code);
      if (code === 8) stoppedAfter ??= (at - began) / minute;
    }
    expect([gateway.starts(), stoppedAfter]).toEqual([starts, stopped]);
    gateway.be({});
    if (stopped === null) expectExit(await vault(...read, uuid), 0);
    expectFarFromLock(lab, uuid);
    tried("minutes of an outage for a lone vault", 60);
  });
});

describe("a fleet that is read each minute, while a gateway loses every start", () => {
  const [count, minutes] = isWhole ? [100, 60] : [20, 15];
  const trialsIn = (seconds: number): number =>
    [2, 12, 42, 102, 222, ...Array.from({ length: 11 }, (_, n) => 522 + n * 300)].filter(
      (due) => due < seconds,
    ).length;

  it.each<[string, Rule, number]>([
    ["answered", "pass", trialsIn(minutes * 60)],
    ["not answered", gone, 0],
  ])(
    `${count} vaults for ${minutes} minutes, and probes are %s: no vault is stopped`,
    async (_, probes, trials) => {
      const { lab, gateway, vault, clock, uuids } = await fleet(count);
      gateway.be({ probes, starts: "drop" });
      const began = clock.time;
      // One machine first, so that it alone has a start under way.
      expectExit(await vault("get", uuids[0] ?? "", "--json", "--max-wait", "0s"), 10);
      const all = ["get", "--all", "-o", "ndjson"];
      while (clock.time < began + (minutes - 1) * minute) {
        expectExit(await vault(...all, "--max-wait", "30s"), 10);
        clock.time = Math.max(
          clock.time,
          began + Math.ceil((clock.time - began) / minute) * minute,
        );
      }
      const starts = gateway.starts();
      expect(starts).toBeLessThanOrEqual(1 + trials);
      expect(starts).toBeGreaterThanOrEqual(1 + Math.floor(trials / 2));
      for (const uuid of uuids)
        expect(lab.service.sandbox.inspect(uuid).unackedStarts).toBeLessThan(3);
      gateway.be({});
      clock.time += 10 * minute;
      expectExit(await vault(...all), 0);
      for (const uuid of uuids) expectFarFromLock(lab, uuid);
      tried("starts that an outage has cost a fleet", starts);
    },
  );
});

/** An hour without an answer to a start, for machines with a vault each, on the rules alone: each runs `get` again every second. */
function outage(
  machines: number,
  probes: { before: boolean; during: boolean },
  underWay: number,
): { starts: number; worst: number } {
  let breaker: Breaker = { ...closed, probes: probes.before ? "answered" : "unanswered" };
  const unanswered = Array.from({ length: machines }, () => 0);
  const lose = (machine: number, at: number): void => {
    breaker = after(breaker, { type: "lost", at, startedAt: at - 1, httpStatus: null });
    unanswered[machine] = (unanswered[machine] ?? 0) + 1;
  };
  for (let machine = 0; machine < underWay; machine += 1) lose(machine, hour);
  for (let at = hour + 1000; at < 2 * hour; at += 1000) {
    for (const [machine, count] of unanswered.entries()) {
      // The guard refuses the fifth.
      if (count >= 4 || (trialDueAt(breaker, at, count) ?? 0) > at) continue;
      if (!isTriedByTime(breaker, at)) {
        breaker = after(breaker, { type: "probing", at });
        breaker = after(breaker, { type: "probed", at, isAnswered: probes.during });
        if (!probes.during) continue;
      }
      breaker = after(breaker, { type: "claimed", at });
      lose(machine, at);
    }
  }
  return {
    starts: unanswered.reduce((sum, count) => sum + count, 0),
    worst: Math.max(...unanswered),
  };
}

describe("an hour's outage by the rules alone", () => {
  const answered = { before: true, during: true };
  const failing = { before: true, during: false };
  const never = { before: false, during: false };
  it.each<
    [number, string, Parameters<typeof outage>[1], number, { starts: number; worst: number }]
  >([
    [1, "answered", answered, 1, { starts: 4, worst: 4 }],
    [1, "failing with the starts", failing, 1, { starts: 1, worst: 1 }],
    [10, "answered", answered, 1, { starts: 13, worst: 2 }],
    [100, "answered", answered, 1, { starts: 17, worst: 1 }],
    [100, "failing with the starts", failing, 1, { starts: 1, worst: 1 }],
    [100, "never answered", never, 1, { starts: 17, worst: 1 }],
    [100, "answered", answered, 100, { starts: 110, worst: 2 }],
    [100, "failing with the starts", failing, 100, { starts: 100, worst: 1 }],
    [100, "never answered", never, 100, { starts: 110, worst: 2 }],
  ])("%i machines, probes %s, %#", (machines, _, probes, underWay, cost) => {
    expect(outage(machines, probes, underWay)).toEqual(cost);
  });
});
