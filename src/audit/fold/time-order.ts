import { Batch, batchSize } from "../read/batch.ts";
import type { Item } from "../read/item.ts";

/** The next item in order of time, in numbers as in a Batch. */
export interface DueItem {
  readonly time: number;
  readonly vault: number;
  readonly kind: number;
  readonly location: number;
  readonly line: number;
  readonly idHash: number;
  readonly item: Item | undefined;
}

/** Number of items held back: an item that is no further out of order can be moved to its position. */
const windowSize = 4096;

/** Sorts items by time, stably, within a window. An item that comes later than the window allows is passed on out of order. */
export class TimeOrder {
  readonly #pass: (due: DueItem) => void;
  readonly #held = new Batch(2 * windowSize + batchSize);
  readonly #cursor = new Cursor(this.#held);
  #isSorted = true;
  #newest = Number.NEGATIVE_INFINITY;
  /** Number of items that came after a later one. */
  reordered = 0;

  constructor(pass: (due: DueItem) => void) {
    this.#pass = pass;
  }

  add(batch: Batch, from: number, to: number): void {
    if (this.#held.size + to - from > this.#held.capacity)
      this.#release(this.#held.size - windowSize);
    const { time } = batch;
    for (let at = from; at < to; at++) {
      const one = time[at] as number;
      if (one >= this.#newest) this.#newest = one;
      else {
        this.#isSorted = false;
        this.reordered += 1;
      }
    }
    this.#held.addRange(batch, from, to);
  }

  /** Passes on the items that are still held back. */
  end(): void {
    this.#release(this.#held.size);
  }

  #release(count: number): void {
    if (!this.#isSorted) this.#sort();
    const cursor = this.#cursor;
    for (cursor.at = 0; cursor.at < count; cursor.at++) this.#pass(cursor);
    this.#held.shift(count);
  }

  #sort(): void {
    const { time, size } = this.#held;
    const order = Uint32Array.from({ length: size }, (_, at) => at);
    this.#held.arrange(order.sort((a, b) => (time[a] as number) - (time[b] as number) || a - b));
    this.#isSorted = true;
  }
}

/** A view of one item in a batch, which moves to the next item: callers must not keep it. */
class Cursor implements DueItem {
  readonly #batch: Batch;
  at = 0;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  get time(): number {
    return this.#batch.time[this.at] as number;
  }

  get vault(): number {
    return this.#batch.vault[this.at] as number;
  }

  get kind(): number {
    return this.#batch.kind[this.at] as number;
  }

  get location(): number {
    return this.#batch.location[this.at] as number;
  }

  get line(): number {
    return this.#batch.line[this.at] as number;
  }

  get idHash(): number {
    return this.#batch.idHash[this.at] as number;
  }

  get item(): Item | undefined {
    return this.#batch.items[this.at];
  }
}
