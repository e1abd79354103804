import type { Clock } from "../../exchange/ports.ts";

/**
 * The database's clock, by which leases, the queue of the rate limit and the journal go, so that the clocks of the machines need not
 * agree. Estimated from the fastest answer so far.
 */
export class DatabaseClock {
  readonly #clock: Clock;
  #ahead = 0;
  #fastest = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes what the database's clock said (milliseconds since the epoch) in an answer to what was sent at `sentAt` (on `elapsed`). */
  note(said: number, sentAt: number): void {
    const took = this.#clock.elapsed() - sentAt;
    if (took >= this.#fastest) return;
    this.#fastest = took;
    this.#ahead = said - (this.#clock.now() - took / 2);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now() + this.#ahead;
  }
}
