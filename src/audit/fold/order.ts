import type { Entry } from "../read/item.ts";
import { noEntry } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventCodes, eventKinds } from "./events.ts";

/** Entries as columns of numbers: objects that wait for their turn would take several times the memory. */
export class Entries {
  count = 0;
  /** Time and offset of each entry. */
  #doubles = new Float64Array(0);
  /** Its six other numbers. */
  #words = new Int32Array(0);

  push(entry: Entry): void {
    if (this.#doubles.length === 2 * this.count) this.#resize(Math.max(1024, 2 * this.count));
    const double = 2 * this.count;
    const word = 6 * this.count;
    this.count += 1;
    this.#doubles[double] = entry.time;
    this.#doubles[double + 1] = entry.offset;
    this.#words[word] = entry.vault;
    this.#words[word + 1] = eventCodes[entry.event];
    this.#words[word + 2] = entry.input;
    this.#words[word + 3] = entry.line;
    this.#words[word + 4] = entry.length;
    this.#words[word + 5] = entry.idHash;
  }

  timeAt(index: number): number {
    return this.#doubles[2 * index] as number;
  }

  /** Writes an entry into an object, and returns it. */
  get(index: number, into: Entry): Entry {
    const word = 6 * index;
    into.time = this.#doubles[2 * index] as number;
    into.offset = this.#doubles[2 * index + 1] as number;
    into.vault = this.#words[word] as number;
    into.code = this.#words[word + 1] as number;
    into.event = eventKinds[into.code] as EventKind;
    into.input = this.#words[word + 2] as number;
    into.line = this.#words[word + 3] as number;
    into.length = this.#words[word + 4] as number;
    into.idHash = this.#words[word + 5] as number;
    return into;
  }

  /** Moves up to a thousand of the last entries, the last one first. */
  popInto(other: Entries): void {
    const entry = { ...noEntry };
    for (let left = Math.min(1000, this.count); left > 0; left--)
      other.push(this.get(--this.count, entry));
  }

  /** Removes the first entries. */
  shift(count: number): void {
    this.#doubles.copyWithin(0, 2 * count, 2 * this.count);
    this.#words.copyWithin(0, 6 * count, 6 * this.count);
    this.count -= count;
  }

  /** Sorts the entries by time, stably. */
  sort(): void {
    const all = Array.from({ length: this.count }, (_, index) => this.get(index, { ...noEntry }));
    this.count = 0;
    for (const entry of all.sort((a, b) => a.time - b.time)) this.push(entry);
  }

  #resize(room: number): void {
    const [doubles, words] = [this.#doubles, this.#words];
    this.#doubles = new Float64Array(2 * room);
    this.#words = new Int32Array(6 * room);
    this.#doubles.set(doubles);
    this.#words.set(words);
  }
}

/** Number of items held back: an item that is no further out of order can be moved to its position. */
const windowSize = 4096;

/** Sorts items by time within a window. An item that comes later than the window allows is passed on out of order. */
export class TimeOrder {
  /** Items are added here. */
  readonly entries = new Entries();
  readonly #look: (entry: Entry) => void;
  readonly #pass: (entry: Entry) => void;
  /** Number of items whose order was looked at. */
  #seen = 0;
  #newest = Number.NEGATIVE_INFINITY;
  /** Number of items that came after a later one. */
  reordered = 0;

  /** `look` sees each item as it is added, `pass` in the order of time. Both are given the same object each time. */
  constructor(look: (entry: Entry) => void, pass: (entry: Entry) => void) {
    this.#look = look;
    this.#pass = pass;
  }

  /** Passes on the items that were added but those of the window, in the end all of them. */
  release(isEnd: boolean): void {
    const { entries } = this;
    const before = this.reordered;
    const entry = { ...noEntry };
    for (; this.#seen < entries.count; this.#seen++) {
      this.#look(entries.get(this.#seen, entry));
      if (entry.time >= this.#newest) this.#newest = entry.time;
      else this.reordered += 1;
    }
    if (this.reordered > before) entries.sort();
    const count = isEnd ? entries.count : entries.count - windowSize;
    if (count <= 0) return;
    for (let index = 0; index < count; index++) this.#pass(entries.get(index, entry));
    entries.shift(count);
    this.#seen -= count;
  }
}
