import { VaultError } from "../errors.ts";
import type { Clock, Reply, Service } from "../exchange/ports.ts";

export interface RateLimit {
  /** Requests per second; 0 is no limit. */
  rate: number;
  /** Reserves the next place under the application's limit: milliseconds from `now` until it. `Store.reserveSlot`. */
  reserveSlot(now: number, intervalMs: number, longestMs: number): Promise<number>;
  clock: Clock;
}

/** Requests may arrive this much later or earlier than another for their way, in milliseconds, without a 429. */
const jitterMs = 25;

/**
 * The distance of two places. GCRA lets one request go a whole interval early (a burst of one), so that the two calls of
 * an exchange need not wait for each other. With it, `rate` + 1 requests span `rate` - 1 intervals: more than a sliding
 * second of the service's clock and the jitter on the way. It costs 1.6 requests a second at 25.
 */
export function slotIntervalMs(rate: number): number {
  if (rate === 0) return 0;
  return rate === 1 ? 1000 + jitterMs : (1000 + jitterMs + 0.01) / (rate - 1);
}

/** A place is taken anew this often at most: on a machine that is that busy, late is what everything is. */
const placesAtMost = 5;

/**
 * The same service, whose `admit` waits for a place under the rate limit. Every call, answered or not, uses one. A call
 * that comes much later than its place (the journal is written in between, on a busy machine) would crowd those behind
 * it: it takes another place first.
 */
export function rateLimited<S extends Service>(service: S, limit: RateLimit): S {
  const intervalMs = slotIntervalMs(limit.rate);
  if (intervalMs === 0) return service;
  const earlyMs = limit.rate === 1 ? 0 : intervalMs;
  let place = 0;

  async function takePlace(signal: AbortSignal, deadline = Number.POSITIVE_INFINITY): Promise<void> {
    const now = limit.clock.now();
    const longestMs = Math.max(0, deadline - limit.clock.elapsed()) + earlyMs;
    const untilPlace = await limit.reserveSlot(now, intervalMs, longestMs);
    const waitMs = untilPlace - earlyMs;
    if (untilPlace > longestMs) throw tooLate(limit.rate, waitMs);
    place = now + Math.max(0, waitMs);
    // Timers drop fractions, and early is the wrong side; a thousandth is what the arithmetic leaves.
    const wholeMs = Math.ceil(waitMs - 0.001);
    if (wholeMs > 0) await limit.clock.sleep(wholeMs, signal);
  }

  async function inTime(signal: AbortSignal, send: () => Promise<Reply>): Promise<Reply> {
    try {
      for (let taken = 1; taken < placesAtMost && limit.clock.now() - place > jitterMs; taken += 1) await takePlace(signal);
    } catch (error) {
      if (signal.aborted) return { type: "not-sent", cause: "given up while waiting for a place under the rate limit" };
      throw error;
    }
    return await send();
  }

  return {
    ...service,
    async admit(kind, signal, deadline) {
      await service.admit(kind, signal, deadline);
      await takePlace(signal, deadline);
    },
    async start(call, signal) {
      return await inTime(signal, async () => await service.start(call, signal));
    },
    async end(call, signal) {
      return await inTime(signal, async () => await service.end(call, signal));
    },
    async single(call, signal) {
      return await inTime(signal, async () => await service.single(call, signal));
    },
  };
}

function tooLate(rate: number, waitMs: number): VaultError {
  return new VaultError(
    "rate-limited",
    `the next free place under the rate limit of ${rate} requests a second comes in ${(waitMs / 1000).toFixed(1)}s, and waiting for it is over --max-wait`,
    { hint: "nothing was sent: run it again later, or raise --max-wait" },
  );
}
