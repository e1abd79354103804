import { Entry } from "../read/item.ts";

/** Words of four bytes that an entry takes. */
const width = 8;

/** Entries without vaults, as rows of numbers: objects would take several times the memory. */
export class Rows {
  readonly words: Int32Array;
  /** The same memory. */
  readonly doubles: Float64Array;

  constructor(count: number) {
    this.words = new Int32Array(count * width);
    this.doubles = new Float64Array(this.words.buffer);
  }

  set(row: number, entry: Entry): void {
    const { words, doubles } = this;
    const at = row * width;
    doubles[at >> 1] = entry.time;
    doubles[(at >> 1) + 1] = entry.offset;
    words[at + 4] = entry.line;
    words[at + 5] = (entry.input << 8) | entry.code;
    words[at + 6] = entry.length;
    words[at + 7] = entry.idHash;
  }

  timeAt(row: number): number {
    return this.doubles[(row * width) >> 1] as number;
  }

  /** Writes an entry into an object, and returns it. */
  get(row: number, into: Entry): Entry {
    const { words, doubles } = this;
    const at = row * width;
    const kind = words[at + 5] as number;
    into.time = doubles[at >> 1] as number;
    into.offset = doubles[(at >> 1) + 1] as number;
    into.line = (words[at + 4] as number) >>> 0;
    into.input = kind >>> 8;
    into.code = kind & 0xff;
    into.length = words[at + 6] as number;
    into.idHash = words[at + 7] as number;
    return into;
  }

  /** Moves `count` rows from another place, or from others. */
  copy(from: number, count: number, others: Rows = this): void {
    this.words.set(others.words.subarray(from * width, (from + count) * width));
  }
}

export class Entries {
  count = 0;
  #rows = new Rows(0);
  #vaults = new Int32Array(0);

  push(entry: Entry): void {
    if (this.count === this.#vaults.length) this.#grow();
    this.#set(this.count++, entry);
  }

  timeAt(index: number): number {
    return this.#rows.timeAt(index);
  }

  /** Writes an entry into an object, and returns it. */
  get(index: number, into: Entry): Entry {
    into.vault = this.#vaults[index] as number;
    return this.#rows.get(index, into);
  }

  shift(count: number): void {
    this.count -= count;
    this.#rows.copy(count, this.count);
    this.#vaults.copyWithin(0, count, count + this.count);
  }

  /** Sorts the entries by time, stably. */
  sort(): void {
    const order = Array.from({ length: this.count }, (_, index) => index);
    const sorted = new Entries();
    const entry = new Entry();
    for (const index of order.sort((a, b) => this.timeAt(a) - this.timeAt(b)))
      sorted.push(this.get(index, entry));
    this.#rows = sorted.#rows;
    this.#vaults = sorted.#vaults;
  }

  /** Turns the order of the entries from an index on around. */
  reverse(from: number): void {
    const [one, other] = [new Entry(), new Entry()];
    for (let [low, high] = [from, this.count - 1]; low < high; low++, high--) {
      this.get(low, one);
      this.#set(low, this.get(high, other));
      this.#set(high, one);
    }
  }

  #set(index: number, entry: Entry): void {
    this.#rows.set(index, entry);
    this.#vaults[index] = entry.vault;
  }

  #grow(): void {
    const [rows, vaults] = [this.#rows, this.#vaults];
    this.#vaults = new Int32Array(Math.max(1024, 2 * this.count));
    this.#rows = new Rows(this.#vaults.length);
    this.#vaults.set(vaults);
    this.#rows.copy(0, this.count, rows);
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
