import { Entry } from "../read/item.ts";

/** The codes of events are smaller. */
const maxCodes = 32;

/** A list of entries as rows of numbers: objects would take several times the memory. */
export class Entries {
  count = 0;
  /** Words of four bytes that an entry takes: an even number, for the doubles. */
  readonly #width: number;
  #words: Int32Array;
  /** The same memory. */
  #doubles: Float64Array;

  /** `rows`: how many it has room for before it grows. */
  constructor(rows = 1024, { withVault = true } = {}) {
    this.#width = withVault ? 10 : 8;
    this.#words = new Int32Array(rows * this.#width);
    this.#doubles = new Float64Array(this.#words.buffer);
  }

  push(entry: Entry): void {
    this.set(this.count++, entry);
  }

  /** Writes an entry over that of an index, or behind the last one that was written. */
  set(index: number, entry: Entry): void {
    const at = index * this.#width;
    if (at === this.#words.length) this.#grow();
    this.#doubles[at >> 1] = entry.time;
    this.#doubles[(at >> 1) + 1] = entry.offset;
    this.#words[at + 4] = entry.line;
    this.#words[at + 5] = entry.input * maxCodes + entry.code;
    this.#words[at + 6] = entry.length;
    this.#words[at + 7] = entry.idHash;
    if (this.#width > 8) this.#words[at + 8] = entry.vault;
  }

  /** Writes an entry into an object, and returns it. */
  get(index: number, into: Entry): Entry {
    const at = index * this.#width;
    into.time = this.#doubles[at >> 1] as number;
    into.offset = this.#doubles[(at >> 1) + 1] as number;
    into.line = (this.#words[at + 4] as number) >>> 0;
    into.input = Math.floor((this.#words[at + 5] as number) / maxCodes);
    into.code = (this.#words[at + 5] as number) % maxCodes;
    into.length = this.#words[at + 6] as number;
    into.idHash = this.#words[at + 7] as number;
    if (this.#width > 8) into.vault = this.#words[at + 8] as number;
    return into;
  }

  shift(count: number): void {
    this.#words.copyWithin(0, count * this.#width, this.count * this.#width);
    this.count -= count;
  }

  /** Sorts the entries by time, stably. */
  sort(): void {
    const timeAt = (index: number): number => this.#doubles[(index * this.#width) >> 1] as number;
    const order = Array.from({ length: this.count }, (_, index) => index);
    const sorted = new Entries();
    const entry = new Entry();
    for (const index of order.sort((a, b) => timeAt(a) - timeAt(b)))
      sorted.push(this.get(index, entry));
    this.#words = sorted.#words;
    this.#doubles = sorted.#doubles;
  }

  /** Turns the order of the entries from an index on around. */
  reverse(from: number): void {
    const [one, other] = [new Entry(), new Entry()];
    for (let [low, high] = [from, this.count - 1]; low < high; low++, high--) {
      this.get(low, one);
      this.set(low, this.get(high, other));
      this.set(high, one);
    }
  }

  #grow(): void {
    const words = this.#words;
    this.#words = new Int32Array(2 * words.length);
    this.#words.set(words);
    this.#doubles = new Float64Array(this.#words.buffer);
  }
}

/** Number of items held back: an item no further out of order is moved to its position. */
const windowSize = 4096;

/** Milliseconds back in time that show that an input begins anew: several exports in one file. */
const jump = 60_000;

/** Sorts items by time, within a window or, if it holds all, to the last. */
export class TimeOrder extends Entries {
  readonly #holdsAll: boolean;
  readonly #look: (entry: Entry, beginsAnew: boolean) => void;
  readonly #pass: (entry: Entry) => void;
  /** Of this input: 1, or -1 for newest first; its first entry; its last time yet, times that. */
  #direction = 1;
  #from = 0;
  #last = Number.NEGATIVE_INFINITY;
  #isSorted = true;

  /**
   * `look` sees each item as it is added, and whether its input begins anew with it, `pass` in the
   * order of time. It is given the same object each time.
   */
  constructor(
    look: (entry: Entry, beginsAnew: boolean) => void,
    pass: (entry: Entry) => void,
    holdsAll: boolean,
  ) {
    super();
    this.#holdsAll = holdsAll;
    this.#look = look;
    this.#pass = pass;
  }

  begin(isNewestFirst: boolean): void {
    this.#direction = isNewestFirst ? -1 : 1;
    this.#from = this.count;
    this.#last = Number.NEGATIVE_INFINITY;
    this.#isSorted &&= this.count === 0;
  }

  override push(entry: Entry): void {
    const time = entry.time * this.#direction;
    this.#look(entry, this.#last - time > jump);
    if (time >= this.#last) this.#last = time;
    else this.#isSorted = false;
    super.push(entry);
  }

  end(): void {
    if (this.#direction < 0) this.reverse(this.#from);
  }

  /** Passes on the items that were added but those of the window, in the end all of them. */
  release(isEnd: boolean): void {
    if (this.#holdsAll && !isEnd) return;
    if (!this.#isSorted) this.sort();
    this.#isSorted = true;
    const count = isEnd ? this.count : this.count - windowSize;
    if (count <= 0) return;
    const entry = new Entry();
    for (let index = 0; index < count; index++) this.#pass(this.get(index, entry));
    this.shift(count);
  }
}
