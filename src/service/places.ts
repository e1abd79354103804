import { formatDuration } from "../duration.ts";
import { VaultError } from "../errors.ts";
import type { Clock, NextCall, Places } from "../exchange/ports.ts";

export interface RateLimit {
  /** Requests per second; 0 means no limit. */
  rate: number;
  /**
   * Reserves the next place under the application's limit, as `Store.reserveSlot`. Returns the
   * milliseconds until it.
   */
  reserveSlot(intervalMs: number, longestMs: number): Promise<number>;
  clock: Clock;
}

/**
 * How much a request may come late for its place, and vary in the time that it takes to arrive, both
 * together in milliseconds, without a 429.
 */
const jitterMs = 25;

/**
 * The interval between two places. GCRA lets one request go a whole interval early (a burst of
 * one), so that the two calls of an exchange need not wait for each other. Then `rate` + 1 requests
 * span `rate` - 1 intervals, which must exceed a sliding second of the service's clock and the
 * jitter. That costs 1.6 requests a second at 25.
 */
export function slotIntervalMs(rate: number): number {
  if (rate === 0) return 0;
  return rate === 1 ? 1000 + jitterMs : (1000 + jitterMs + 0.01) / (rate - 1);
}

/**
 * A start takes a place that is no farther away than this, in milliseconds and in places: the rest
 * of the queue is that of end calls.
 */
const startsAhead = { ms: 250, places: 6 };

/** The places of one exchange, and what its calls await. */
export interface OwnPlaces extends Places {
  /**
   * Awaited when the call can be written: takes another place, ahead of starts, where it would come
   * later than half an interval after its own, so as not to crowd those after it.
   */
  inTurn(signal: AbortSignal): Promise<void>;
}

/** Opens the places of one exchange. Every call, answered or not, uses one. */
export function openPlaces(limit: RateLimit): OwnPlaces {
  const { rate, clock } = limit;
  const intervalMs = slotIntervalMs(rate);
  const earlyMs = rate === 1 ? 0 : intervalMs;
  /** The place of the next call, by `Clock.elapsed`. */
  let placeAt = Number.NEGATIVE_INFINITY;

  /** Waits until the queue is short enough to take a place in it, and for that. Who has waited longer goes first. */
  async function admit(
    { isEnd }: Pick<NextCall, "isEnd">,
    signal: AbortSignal,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    if (intervalMs === 0) return;
    const cameAt = clock.elapsed();
    for (;;) {
      const now = clock.elapsed();
      const leftMs = Math.max(0, deadline - now);
      const farthest =
        isEnd === true
          ? Number.POSITIVE_INFINITY
          : Math.max(startsAhead.ms, startsAhead.places * intervalMs) + (now - cameAt) / 4;
      const longestMs = Math.min(leftMs, farthest);
      const waitMs = (await limit.reserveSlot(intervalMs, longestMs + earlyMs)) - earlyMs;
      if (waitMs <= longestMs) {
        placeAt = clock.elapsed() + Math.max(0, waitMs);
        // Timers drop fractions, and a call must not be early. The arithmetic is exact to a thousandth.
        const wholeMs = Math.ceil(waitMs - 0.001);
        if (wholeMs > 0) await clock.sleep(wholeMs, signal);
        return;
      }
      if (waitMs > leftMs) throw tooLate(rate, waitMs);
      await clock.sleep(Math.ceil(waitMs - farthest / 2), signal);
    }
  }

  return {
    admit,
    async inTurn(signal) {
      const late = clock.elapsed() - placeAt;
      if (late > Math.min(intervalMs / 2, jitterMs)) await admit({ isEnd: true }, signal);
    },
  };
}

function tooLate(rate: number, waitMs: number): VaultError {
  return new VaultError(
    "rate-limited",
    `the rate limit of ${rate} requests per second leaves the next slot in ${formatDuration(waitMs)}, and waiting for it would exceed --max-wait`,
    { hint: "nothing was sent; run it again later, or raise --max-wait" },
  );
}
