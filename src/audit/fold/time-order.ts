import type { SpareEntries } from "../read/entries.ts";
import type { Entry } from "../read/item.ts";

/** Number of items held back: an item that is no further out of order can be moved to its position. */
const windowSize = 4096;

/** Number of items passed on at a time. */
const atOnce = 512;

/** Room for the items held back, a power of two. */
const room = 8192;

/**
 * Sorts items by time, stably, within a window. An item that comes later than the window allows is
 * passed on out of order. Entries are used again once they are passed on.
 */
export class TimeOrder {
  readonly #pass: (entry: Entry) => void;
  readonly #expect: (entry: Entry) => void;
  readonly #spare: SpareEntries;
  /** A ring. */
  readonly #held: Entry[] = [];
  /** Index of the next one to pass on, and their number. */
  #first = 0;
  #count = 0;
  #isSorted = true;
  #newest = Number.NEGATIVE_INFINITY;
  /** Number of items that came after a later one. */
  reordered = 0;

  /** `expect` is told of many items before the first of them is passed on. */
  constructor(
    spare: SpareEntries,
    pass: (entry: Entry) => void,
    expect: (entry: Entry) => void = () => undefined,
  ) {
    this.#spare = spare;
    this.#pass = pass;
    this.#expect = expect;
  }

  add(entry: Entry): void {
    if (entry.time >= this.#newest) this.#newest = entry.time;
    else {
      this.#isSorted = false;
      this.reordered += 1;
    }
    this.#held[(this.#first + this.#count) % room] = entry;
    this.#count += 1;
    if (this.#count === windowSize + atOnce) this.#release(atOnce);
  }

  /** Passes on the items that are still held back. */
  end(): void {
    this.#release(this.#count);
  }

  #release(count: number): void {
    if (!this.#isSorted) this.#sort();
    for (let index = 0; index < count; index++) this.#expect(this.#at(index));
    for (let left = count; left > 0; left--) {
      const entry = this.#at(0);
      this.#first = (this.#first + 1) % room;
      this.#count -= 1;
      this.#pass(entry);
      this.#spare.give(entry);
    }
  }

  #at(index: number): Entry {
    return this.#held[(this.#first + index) % room] as Entry;
  }

  #sort(): void {
    const sorted = Array.from({ length: this.#count }, (_, index) => this.#at(index));
    sorted.sort((a, b) => a.time - b.time);
    for (const [index, entry] of sorted.entries()) this.#held[(this.#first + index) % room] = entry;
    this.#isSorted = true;
  }
}
