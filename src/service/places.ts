import { VaultError } from "../errors.ts";
import type { Clock, NextCall, Places } from "../exchange/ports.ts";

export interface RateLimit {
  /** Requests per second; 0 means no limit. */
  rate: number;
  /**
   * Reserves the next place under the application's limit, as `Store.reserveSlot`. Returns the
   * milliseconds until it.
   */
  reserveSlot(aheadMs: number, intervalMs: number, longestMs: number): Promise<number>;
  /**
   * How long a reservation takes, and recording a step between it and the call: as
   * `Store.latencyMs`.
   */
  latencyMs?(): Promise<number>;
  clock: Clock;
}

/**
 * How much requests may come late for their places, and vary in the time that they take to arrive,
 * both in milliseconds, without a 429.
 */
const [lateMs, variationMs] = [12, 13];
const jitterMs = lateMs + variationMs;

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

interface Place {
  /** By `Clock.elapsed`. */
  at: number;
  /** How long before that the step between the place and its call begins, in milliseconds. */
  leadMs: number;
}

interface Asked extends Place {
  /** Milliseconds until the call may be sent. */
  waitMs: number;
  /** False for one that was too far away. */
  isTaken: boolean;
}

/** Number of places that one call takes at most: on a machine so busy, everything is late. */
const placesAtMost = 5;

/** The places of one exchange, and what its calls await. */
export interface OwnPlaces extends Places {
  /**
   * Waits until the call may be written. A call that comes much later than its place (on a busy
   * machine, because the journal is written and a connection made in between) takes another place
   * first, so as not to crowd those after it.
   */
  inTurn(signal: AbortSignal): Promise<void>;
}

/** Opens the places of one exchange. Every call, answered or not, uses one. */
export function openPlaces(limit: RateLimit): OwnPlaces {
  const intervalMs = slotIntervalMs(limit.rate);
  const earlyMs = limit.rate === 1 ? 0 : intervalMs;
  let taken: Place = { at: 0, leadMs: 0 };
  let ahead: Place | null = null;

  /** Takes the next place if its call may be sent within `longestMs`. */
  async function ask(longestMs: number): Promise<Asked> {
    const leadMs = (await limit.latencyMs?.()) ?? 0;
    // No earlier place could be kept: half that long the answer is under way, then comes the step before the call.
    const untilPlace = await limit.reserveSlot(1.5 * leadMs, intervalMs, longestMs + earlyMs);
    const waitMs = Math.max(0, untilPlace - earlyMs);
    const isTaken = untilPlace <= longestMs + earlyMs;
    return { at: limit.clock.elapsed() + waitMs + leadMs, leadMs, waitMs, isTaken };
  }

  const leftUntil = (deadline: number): number => Math.max(0, deadline - limit.clock.elapsed());

  /** How far away a place may be. Who has waited longer goes first. */
  function reach({ isEnd }: Pick<NextCall, "isEnd">, waitedMs: number): number {
    return isEnd === true
      ? Number.POSITIVE_INFINITY
      : Math.max(startsAhead.ms, startsAhead.places * intervalMs) + waitedMs / 4;
  }

  /** Waits until the queue is short enough to take a place in it. */
  async function reserve(
    next: Pick<NextCall, "isEnd">,
    signal: AbortSignal,
    deadline: number,
  ): Promise<Place> {
    const cameAt = limit.clock.elapsed();
    for (;;) {
      const farthest = reach(next, limit.clock.elapsed() - cameAt);
      const leftMs = leftUntil(deadline);
      const place = await ask(Math.min(leftMs, farthest));
      if (place.isTaken) return place;
      if (place.waitMs > leftMs) throw tooLate(limit.rate, place.waitMs);
      await limit.clock.sleep(Math.ceil(place.waitMs - farthest / 2), signal);
    }
  }

  const lateness = ({ at }: Place): number => limit.clock.elapsed() - at;

  async function takePlace(
    next: Pick<NextCall, "isEnd">,
    signal: AbortSignal,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const isInTime = ahead !== null && lateness(ahead) + ahead.leadMs <= lateMs;
    taken = ahead !== null && isInTime ? ahead : await reserve(next, signal, deadline);
    ahead = null;
    // Timers drop fractions, and a call must not be early. The arithmetic is exact to a thousandth.
    const wholeMs = Math.ceil(-lateness(taken) - taken.leadMs - 0.001);
    if (wholeMs > 0) await limit.clock.sleep(wholeMs, signal);
  }

  if (intervalMs === 0) return unlimited;
  return {
    admit: takePlace,
    async reserveAhead(next, deadline) {
      const place = await ask(Math.min(leftUntil(deadline), reach(next, 0))).catch(() => null);
      ahead = place?.isTaken === true ? place : null;
    },
    async inTurn(signal) {
      // Its step is recorded: it goes ahead like an end call.
      for (let places = 1; places < placesAtMost && lateness(taken) > lateMs; places += 1)
        await takePlace({ isEnd: true }, signal);
      // What was left for the step in between, and it did not take.
      const earlyBy = Math.min(Math.ceil(taken.leadMs), Math.ceil(-lateness(taken)));
      if (earlyBy > 0) await limit.clock.sleep(earlyBy, signal);
    },
  };
}

const unlimited: OwnPlaces = {
  admit: async () => Promise.resolve(),
  reserveAhead: async () => Promise.resolve(),
  inTurn: async () => Promise.resolve(),
};

function tooLate(rate: number, waitMs: number): VaultError {
  return new VaultError(
    "rate-limited",
    `the rate limit of ${rate} requests per second leaves the next slot in ${(waitMs / 1000).toFixed(1)}s, and waiting for it would exceed --max-wait`,
    { hint: "nothing was sent; run it again later, or raise --max-wait" },
  );
}
