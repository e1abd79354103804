/** Admits at most `rate` requests in any window of one second. Refused requests do not count. */
export class RateWindow {
  readonly #rate: number;
  #admitted: number[] = [];

  /** A rate of 0 admits everything. */
  constructor(rate: number) {
    this.#rate = rate;
  }

  /** Returns 0 if the request is admitted, else the whole seconds to wait, at least 1. */
  admit(now: number): number {
    if (this.#rate === 0) return 0;
    this.#admitted = this.#admitted.filter((time) => time > now - 1000 && time <= now);
    const oldest = this.#admitted[0];
    if (oldest === undefined || this.#admitted.length < this.#rate) {
      this.#admitted.push(now);
      return 0;
    }
    return Math.max(1, Math.ceil((oldest + 1000 - now) / 1000));
  }
}
