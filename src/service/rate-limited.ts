import type { Clock, Service } from "../exchange/ports.ts";

export interface RateLimit {
  /** Requests per second; 0 is no limit. */
  rate: number;
  /** Reserves the next place under the application's limit: milliseconds from `now` until it. `Store.reserveSlot`. */
  reserveSlot(now: number, intervalMs: number): Promise<number>;
  clock: Clock;
}

/**
 * The distance of two places. 2.5 % wider than the rate asks: `rate` + 1 requests then span 1,025 ms, whatever the rate,
 * so that one of them may arrive up to 25 ms later or earlier than another for its way, and still no sliding second of
 * the service's clock holds more than `rate`. It costs 0.6 requests a second at 25.
 */
export function slotIntervalMs(rate: number): number {
  return rate === 0 ? 0 : 1025 / rate;
}

/** The same service, whose `admit` waits for a place under the rate limit. Every call, answered or not, uses one. */
export function rateLimited<S extends Service>(service: S, limit: RateLimit): S {
  const intervalMs = slotIntervalMs(limit.rate);
  return {
    ...service,
    async admit(signal) {
      await service.admit(signal);
      if (intervalMs === 0) return;
      const waitMs = await limit.reserveSlot(limit.clock.now(), intervalMs);
      // Timers drop fractions, and early is the wrong side.
      if (waitMs > 0) await limit.clock.sleep(Math.ceil(waitMs), signal);
    },
  };
}
