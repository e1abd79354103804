import { Entry } from "../read/item.ts";

/** Words of four bytes that an entry takes. */
const width = 10;

/** A list of entries as rows of numbers: objects would take several times the memory. */
export class Entries {
  count = 0;
  #words: Int32Array;
  /** The same memory. */
  #doubles: Float64Array;

  /** `rows`: how many it has room for before it grows. */
  constructor(rows = 1024) {
    this.#words = new Int32Array(rows * width);
    this.#doubles = new Float64Array(this.#words.buffer);
  }

  push(entry: Entry): void {
    this.set(this.count++, entry);
  }

  /** Writes an entry over that of an index, or behind the last one that was written. */
  set(index: number, entry: Entry): void {
    const at = index * width;
    if (at === this.#words.length) this.#grow();
    this.#doubles[at >> 1] = entry.time;
    this.#doubles[(at >> 1) + 1] = entry.offset;
    this.#words[at + 4] = entry.line;
    this.#words[at + 5] = entry.input;
    this.#words[at + 6] = entry.code;
    this.#words[at + 7] = entry.length;
    this.#words[at + 8] = entry.idHash;
    this.#words[at + 9] = entry.vault;
  }

  /** Writes an entry into an object, and returns it. */
  get(index: number, into: Entry): Entry {
    const at = index * width;
    into.time = this.#doubles[at >> 1] as number;
    into.offset = this.#doubles[(at >> 1) + 1] as number;
    into.line = (this.#words[at + 4] as number) >>> 0;
    into.input = this.#words[at + 5] as number;
    into.code = this.#words[at + 6] as number;
    into.length = this.#words[at + 7] as number;
    into.idHash = this.#words[at + 8] as number;
    into.vault = this.#words[at + 9] as number;
    return into;
  }

  timeAt(index: number): number {
    return this.#doubles[(index * width) >> 1] as number;
  }

  #grow(): void {
    const words = this.#words;
    this.#words = new Int32Array(2 * words.length);
    this.#words.set(words);
    this.#doubles = new Float64Array(this.#words.buffer);
  }
}

/** Milliseconds back in time that show that an input begins anew: several exports in one file. */
const jump = 60_000;

/**
 * Passes on items as they are added or, if it holds all, sorted by time in the end. An input that
 * begins with the newest item is held in any case.
 */
export class TimeOrder extends Entries {
  #holdsAll: boolean;
  readonly #look: (entry: Entry, beginsAnew: boolean) => void;
  readonly #pass: (entry: Entry) => void;
  /** Of this input: 1, or -1 for newest first; its first entry; its last time yet, times that. */
  #direction = 1;
  #from = 0;
  #last = Number.NEGATIVE_INFINITY;
  /** The entries that are held, oldest first for each input. */
  readonly #order: number[] = [];

  /**
   * `look` sees each item as it is added, and whether its input begins anew with it, `pass` in the
   * order in which they are passed on. Both are given the same object each time.
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
    this.#holdsAll ||= isNewestFirst;
    this.#from = this.count;
    this.#last = Number.NEGATIVE_INFINITY;
  }

  override push(entry: Entry): void {
    const time = entry.time * this.#direction;
    this.#look(entry, this.#last - time > jump);
    if (time > this.#last) this.#last = time;
    if (this.#holdsAll) super.push(entry);
    else this.#pass(entry);
  }

  end(): void {
    const [first, last] = [this.#from, this.count - 1];
    for (let index = first; index <= last; index++)
      this.#order.push(this.#direction > 0 ? index : first + last - index);
  }

  /** Passes on the items that are held. */
  release(): void {
    const entry = new Entry();
    for (const index of this.#order.sort((a, b) => this.timeAt(a) - this.timeAt(b)))
      this.#pass(this.get(index, entry));
  }
}
