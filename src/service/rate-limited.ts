import type { Clock, Service } from "../exchange/ports.ts";

export interface RateLimit {
  /** Requests per second; 0 is no limit. */
  rate: number;
  /** Reserves the next place under the application's limit: milliseconds from `now` until it. `Store.reserveSlot`. */
  reserveSlot(now: number, intervalMs: number): Promise<number>;
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

/** The same service, whose `admit` waits for a place under the rate limit. Every call, answered or not, uses one. */
export function rateLimited<S extends Service>(service: S, limit: RateLimit): S {
  const intervalMs = slotIntervalMs(limit.rate);
  const earlyMs = limit.rate === 1 ? 0 : intervalMs;
  return {
    ...service,
    async admit(signal) {
      await service.admit(signal);
      if (intervalMs === 0) return;
      const waitMs = (await limit.reserveSlot(limit.clock.now(), intervalMs)) - earlyMs;
      // Timers drop fractions, and early is the wrong side; a thousandth is what the arithmetic leaves.
      const wholeMs = Math.ceil(waitMs - 0.001);
      if (wholeMs > 0) await limit.clock.sleep(wholeMs, signal);
    },
  };
}
