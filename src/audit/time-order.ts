import type { Batch } from "./batch.ts";
import type { Item } from "./item.ts";

/** An item, in short, that is due. */
export interface Due {
  time: number;
  vault: number;
  kind: number;
  place: number;
  line: number;
  idHash: number;
  item: Item | undefined;
}

/** So many items are held back: one that stands no further from its place than that is put right. */
export const windowSize = 4096;

const capacity = 2 * windowSize;

/**
 * Puts items in order of time, those of one time in the order in which they came. What comes later than the window allows is
 * passed on late.
 */
export class TimeOrder {
  readonly #pass: (due: Due) => void;
  #size = 0;
  #isSorted = true;
  #newest = Number.NEGATIVE_INFINITY;
  readonly #time = new Float64Array(capacity);
  readonly #vault = new Int32Array(capacity);
  readonly #kind = new Uint8Array(capacity);
  readonly #place = new Float64Array(capacity);
  readonly #line = new Float64Array(capacity);
  readonly #idHash = new Int32Array(capacity);
  readonly #items: (Item | undefined)[] = [];
  /** One for all: whoever is passed it keeps nothing of it. */
  readonly #due: Due = { time: 0, vault: 0, kind: 0, place: 0, line: 0, idHash: 0, item: undefined };
  /** Items that came after a later one. */
  reordered = 0;

  constructor(pass: (due: Due) => void) {
    this.#pass = pass;
  }

  add(batch: Batch, index: number): void {
    if (this.#size === capacity) this.#release(windowSize);
    const at = this.#size++;
    const time = batch.time[index] as number;
    if (time < this.#newest) {
      this.#isSorted = false;
      this.reordered += 1;
    } else this.#newest = time;
    this.#time[at] = time;
    this.#vault[at] = batch.vault[index] as number;
    this.#kind[at] = batch.kind[index] as number;
    this.#place[at] = batch.place[index] as number;
    this.#line[at] = batch.line[index] as number;
    this.#idHash[at] = batch.idHash[index] as number;
    const item = batch.items[index];
    if (item !== undefined || this.#items.length > 0) this.#items[at] = item;
  }

  /** Passes on what is still held back. */
  end(): void {
    this.#release(this.#size);
  }

  #release(count: number): void {
    if (!this.#isSorted) this.#sort();
    for (let at = 0; at < count; at++) this.#passOn(at);
    for (const column of [this.#time, this.#vault, this.#kind, this.#place, this.#line, this.#idHash])
      column.copyWithin(0, count, this.#size);
    if (this.#items.length > 0) this.#items.copyWithin(0, count, this.#size);
    this.#size -= count;
  }

  #passOn(at: number): void {
    const due = this.#due;
    due.time = this.#time[at] as number;
    due.vault = this.#vault[at] as number;
    due.kind = this.#kind[at] as number;
    due.place = this.#place[at] as number;
    due.line = this.#line[at] as number;
    due.idHash = this.#idHash[at] as number;
    due.item = this.#items[at];
    this.#pass(due);
  }

  #sort(): void {
    const time = this.#time;
    const order = Uint32Array.from({ length: this.#size }, (_, at) => at).sort(
      (a, b) => (time[a] as number) - (time[b] as number) || a - b,
    );
    for (const column of [this.#time, this.#vault, this.#kind, this.#place, this.#line, this.#idHash]) {
      const copy = column.slice(0, this.#size);
      for (let at = 0; at < this.#size; at++) column[at] = copy[order[at] as number] as number;
    }
    const items = this.#items.slice(0, this.#size);
    if (items.length > 0) for (let at = 0; at < this.#size; at++) this.#items[at] = items[order[at] as number];
    this.#isSorted = true;
  }
}
