import type { Entry } from "../read/item.ts";

/** Number of items held back: an item that is no further out of order can be moved to its position. */
const windowSize = 4096;

/** Number of items passed on at a time. */
const atOnce = 512;

/** Sorts items by time, stably, within a window. An item that comes later than the window allows is passed on out of order. */
export class TimeOrder {
  readonly #pass: (entry: Entry) => void;
  readonly #held: Entry[] = [];
  #isSorted = true;
  #newest = Number.NEGATIVE_INFINITY;
  /** Number of items that came after a later one. */
  reordered = 0;

  constructor(pass: (entry: Entry) => void) {
    this.#pass = pass;
  }

  add(entry: Entry): void {
    if (entry.time >= this.#newest) this.#newest = entry.time;
    else {
      this.#isSorted = false;
      this.reordered += 1;
    }
    if (this.#held.push(entry) === windowSize + atOnce) this.#release(atOnce);
  }

  /** Passes on the items that are still held back. */
  end(): void {
    this.#release(this.#held.length);
  }

  #release(count: number): void {
    if (!this.#isSorted) this.#held.sort((a, b) => a.time - b.time);
    this.#isSorted = true;
    for (const entry of this.#held.splice(0, count)) this.#pass(entry);
  }
}
