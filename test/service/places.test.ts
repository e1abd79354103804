import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../src/exchange/ports.ts";
import { openPlaces, slotIntervalMs, type OwnPlaces } from "../../src/service/client.ts";
import { endCall, never, startCall } from "../support/servers.ts";

/** A clock that only sleeping advances, and GCRA with burst 1 as in the store, by that clock or another one. */
function world(storeNow?: () => number) {
  let time = 1_000_000;
  let free = 0;
  const sleeps: number[] = [];
  const clock: Clock = {
    now: () => time,
    elapsed: () => time,
    sleep: (milliseconds, signal) => {
      if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
      sleeps.push(milliseconds);
      time += milliseconds;
      return Promise.resolve();
    },
  };
  const reserveSlot = (
    intervalMs: number,
    longestMs = Number.POSITIVE_INFINITY,
  ): Promise<number> => {
    const now = storeNow?.() ?? time;
    const at = Math.max(now, free);
    if (at - now <= longestMs) free = at + intervalMs;
    return Promise.resolve(at - now);
  };
  return { clock, reserveSlot, sleeps, pass: (ms: number) => (time += ms), now: () => time };
}

describe("places under the rate limit", () => {
  test("the two calls of an exchange go at once, each next one waits for its place", async () => {
    const { clock, reserveSlot, sleeps } = world();
    const places = openPlaces({ rate: 25, reserveSlot, clock });
    for (let i = 0; i < 4; i += 1) await places.admit(startCall, never);
    expect(sleeps).toEqual([43, 43]);
  });

  test.each([1, 2, 7, 25, 400])(
    "at %i a second, no sliding second of a service holds more, though each arrives up to 25 ms late",
    async (rate) => {
      const delay = fc.sample(fc.integer({ min: 0, max: 25 }), { numRuns: rate * 4, seed: rate });
      const { clock, reserveSlot, now } = world();
      const places = openPlaces({ rate, reserveSlot, clock });
      const arrivals: number[] = [];
      for (const late of delay) {
        await places.admit(startCall, never);
        arrivals.push(now() + late);
      }
      arrivals.sort((a, b) => a - b);
      const spans = arrivals.slice(rate).map((arrival, i) => arrival - (arrivals[i] ?? 0));
      expect(spans.length).toBeGreaterThan(0);
      expect(Math.min(...spans)).toBeGreaterThan(1000);
    },
  );

  test("a pause gives no more credit than that", async () => {
    const { clock, reserveSlot, sleeps, pass } = world();
    const places = openPlaces({ rate: 10, reserveSlot, clock });
    await places.admit(startCall, never);
    pass(5000);
    for (let i = 0; i < 3; i += 1) await places.admit(startCall, never);
    expect(sleeps).toEqual([114]);
  });

  test("a wait with a fraction is rounded up", async () => {
    const { clock, sleeps } = world();
    await openPlaces({
      rate: 25,
      reserveSlot: () => Promise.resolve(slotIntervalMs(25) + 3.2),
      clock,
    }).admit(startCall, never);
    expect(sleeps).toEqual([4]);
  });

  test("no rate: no place is reserved", async () => {
    const { clock } = world();
    const reserveSlot = (): Promise<number> => Promise.reject(new Error("not to be called"));
    expect(
      await openPlaces({ rate: 0, reserveSlot, clock }).admit(startCall, never),
    ).toBeUndefined();
    expect(slotIntervalMs(0)).toBe(0);
  });

  test("giving up ends the wait", async () => {
    const abort = new AbortController();
    const { clock } = world();
    const reserveSlot = (): Promise<number> => {
      abort.abort(new Error("enough"));
      return Promise.resolve(500);
    };
    await expect(
      openPlaces({ rate: 25, reserveSlot, clock }).admit(startCall, abort.signal),
    ).rejects.toThrow("enough");
  });

  test("a store that fails is told, and nothing is sent", async () => {
    const { clock } = world();
    const places = openPlaces({
      rate: 25,
      reserveSlot: () => Promise.reject(new Error("disk")),
      clock,
    });
    await expect(places.admit(startCall, never)).rejects.toThrow("disk");
    await expect(places.inTurn(never)).rejects.toThrow("disk");
  });

  test.each([
    [25, 21],
    [400, 1],
    // No later than what the interval leaves room for.
    [2, 25],
  ])(
    "at %i a second, a call up to %i ms late goes at once, one that is later takes another place first",
    async (rate, ms) => {
      const { clock, reserveSlot, sleeps, pass } = world();
      let taken = 0;
      const counted = (intervalMs: number): Promise<number> => {
        taken += 1;
        return reserveSlot(intervalMs);
      };
      const places = openPlaces({ rate, reserveSlot: counted, clock });
      await places.admit(startCall, never);
      pass(ms);
      await places.inTurn(never);
      expect(taken).toBe(1);
      pass(1);
      await places.inTurn(never);
      expect([taken, sleeps]).toEqual([2, []]);
      // Not late for this one.
      await places.inTurn(never);
      expect(taken).toBe(2);
    },
  );

  describe("in a queue that all wait in at the same time", () => {
    const end = { kind: endCall.kind, isEnd: true } as const;
    let reserveSlot: ReturnType<typeof world>["reserveSlot"];
    const clock: Clock = {
      now: () => Date.now(),
      elapsed: () => Date.now(),
      sleep: async (milliseconds) =>
        await new Promise((resolve) => void setTimeout(resolve, milliseconds)),
    };
    const open = (): OwnPlaces => openPlaces({ rate: 25, reserveSlot, clock });
    const waitOf = async (waiting: Promise<unknown>): Promise<number> => {
      const from = Date.now();
      return await waiting.then(() => Date.now() - from);
    };
    const hundredStarts = () =>
      Array.from({ length: 100 }, async () => await waitOf(open().admit(startCall, never)));

    beforeEach(() => {
      vi.useFakeTimers();
      ({ reserveSlot } = world(() => Date.now()));
    });
    afterEach(() => void vi.useRealTimers());

    test("an end call goes ahead of starts that came before it, and these go one after the other", async () => {
      const starts = hundredStarts();
      await vi.advanceTimersByTimeAsync(100);
      const ends = Array.from({ length: 10 }, async () => await waitOf(open().admit(end, never)));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(Math.max(...(await Promise.all(ends)))).toBeLessThan(1000);
      expect(Math.max(...(await Promise.all(starts)))).toBeLessThan(5500);
    });

    test("so do starts that are late for their places", async () => {
      const late = open();
      await late.admit(startCall, never);
      const starts = hundredStarts();
      await vi.advanceTimersByTimeAsync(100);
      const turns = Array.from({ length: 10 }, async () => await waitOf(late.inTurn(never)));
      await vi.advanceTimersByTimeAsync(10_000);
      const waits = await Promise.all(turns);
      expect(Math.max(...waits)).toBeLessThan(1000);
      await Promise.all(starts);
    });

    test("those who share it get as much of it, and leave nothing unused", async () => {
      const until = Date.now() + 60_000;
      const endWaits: number[] = [];
      const sharer = async (): Promise<number> => {
        for (let exchanges = 0; ; exchanges += 1) {
          await open().admit(startCall, never);
          if (Date.now() > until) return exchanges;
          endWaits.push(await waitOf(open().admit(end, never)));
        }
      };
      const sharers = Array.from({ length: 30 }, sharer);
      await vi.advanceTimersByTimeAsync(90_000);
      const shares = await Promise.all(sharers);
      const sum = shares.reduce((all, share) => all + share, 0);
      expect((2 * sum) / 60).toBeGreaterThan(22.5);
      expect(Math.min(...shares)).toBeGreaterThan((0.6 * sum) / 30);
      expect(Math.max(...endWaits)).toBeLessThan(2000);
    });

    test("a start whose patience ends there takes no place", async () => {
      const others = Array.from({ length: 100 }, async () => await open().admit(startCall, never));
      const refused = open().admit(startCall, never, Date.now() + 1000);
      const told = expect(refused).rejects.toMatchObject({
        code: "rate-limited",
        message: expect.stringContaining("--max-wait") as string,
      });
      const late = waitOf(refused.catch(() => undefined));
      await vi.advanceTimersByTimeAsync(10_000);
      await told;
      expect(await late).toBeLessThanOrEqual(1000);
      await Promise.all(others);
      const next = waitOf(open().admit(startCall, never));
      await vi.advanceTimersByTimeAsync(100);
      expect(await next).toBe(0);
    });
  });
});
