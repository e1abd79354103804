import type { Clock } from "../../exchange/ports.ts";

/** Less than the rate limit leaves for requests that are late, in milliseconds. */
const negligibleMs = 10;

/** An answer that took this long says nothing, in milliseconds. */
const slowMs = 1000;

/**
 * The database's clock, by which leases, the queue of the rate limit and the journal go, so that the clocks of the machines need not
 * agree. Estimated from the fastest answer so far.
 */
export class DatabaseClock {
  readonly #clock: Clock;
  #ahead = 0;
  #fastest = Number.POSITIVE_INFINITY;
  #quickest = Number.POSITIVE_INFINITY;
  #login = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes what the database's clock said (milliseconds since the epoch) in an answer to what was sent at `sentAt` (on `elapsed`). */
  note(said: number, sentAt: number): void {
    const took = this.#clock.elapsed() - sentAt;
    // Of a slow one nobody knows when in between the database looked at its clock: it does for tokens, but for no queue.
    if (this.isKnown && took >= this.#fastest) return;
    if (took < slowMs) this.#fastest = took;
    this.#ahead = said - (this.#clock.now() - took / 2);
  }

  /** Notes how long an answer took, in milliseconds. */
  readonly took = (ms: number): void => {
    this.#quickest = Math.min(this.#quickest, ms);
  };

  /** Notes how long a step of the login took, which is all that is known before the first answer. */
  readonly tookLogin = (ms: number): void => {
    this.#login = ms;
  };

  /** How long an answer takes, in milliseconds; 0 where that is too little to be reckoned with. */
  latencyMs(): number {
    const known = Number.isFinite(this.#quickest) ? this.#quickest : this.#login;
    return known >= negligibleMs ? known : 0;
  }

  /** Whether anything was noted of the database's clock. */
  get isKnown(): boolean {
    return Number.isFinite(this.#fastest);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now() + this.#ahead;
  }
}
