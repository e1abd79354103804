import { Entry } from "../read/item.ts";

/** Words of four bytes that an entry takes. */
const width = 8;

/** Entries of vaults as rows of numbers: objects would take several times the memory. */
export class Entries {
  #words = new Int32Array(0);
  /** The same memory. */
  #doubles = new Float64Array(0);
  #vaults = new Int32Array(0);
  #count = 0;
  /** Inputs that have the newest of their entries first. */
  readonly #newestFirst = new Set<number>();
  #grouped: Grouped | undefined;

  turn(input: number): void {
    this.#newestFirst.add(input);
  }

  push(entry: Entry): void {
    if (this.#count === this.#vaults.length) this.#grow();
    const [words, doubles] = [this.#words, this.#doubles];
    this.#vaults[this.#count] = entry.vault;
    const at = this.#count++ * width;
    doubles[at >> 1] = entry.time;
    doubles[(at >> 1) + 1] = entry.offset;
    words[at + 4] = entry.line;
    words[at + 5] = (entry.input << 8) | entry.code;
    words[at + 6] = entry.length;
    words[at + 7] = entry.idHash;
  }

  /** Returns the rows of a vault by time; of one time, in the order of inputs. None are added then. */
  rowsOf(vault: number): Iterable<number> {
    this.#grouped ??= groupOf(this.#vaults.subarray(0, this.#count));
    const { rows, begins } = this.#grouped;
    const own = rows.subarray(begins[vault] ?? 0, begins[vault + 1] ?? 0);
    // Sorting what is in order, as usual, would cost a twentieth of a replay.
    const isSorted =
      this.#newestFirst.size === 0 &&
      own.every((row, at) => at === 0 || this.#timeAt(row) >= this.#timeAt(own[at - 1] as number));
    return isSorted ? own : [...own].sort((a, b) => this.#compare(a, b));
  }

  #compare(a: number, b: number): number {
    const apart = this.#timeAt(a) - this.#timeAt(b);
    if (apart !== 0) return apart;
    const inputAt = (row: number): number => (this.#words[row * width + 5] as number) >>> 8;
    const isTurned = inputAt(a) === inputAt(b) && this.#newestFirst.has(inputAt(a));
    return isTurned ? b - a : a - b;
  }

  #timeAt(row: number): number {
    return this.#doubles[(row * width) >> 1] as number;
  }

  at(row: number, vault: number): Entry {
    const [words, doubles] = [this.#words, this.#doubles];
    const at = row * width;
    const kind = words[at + 5] as number;
    const entry = new Entry();
    entry.time = doubles[at >> 1] as number;
    entry.offset = doubles[(at >> 1) + 1] as number;
    entry.vault = vault;
    entry.line = (words[at + 4] as number) >>> 0;
    entry.input = kind >>> 8;
    entry.code = kind & 0xff;
    entry.length = words[at + 6] as number;
    entry.idHash = words[at + 7] as number;
    return entry;
  }

  #grow(): void {
    const [words, vaults] = [this.#words, this.#vaults];
    this.#vaults = new Int32Array(Math.max(1024, 2 * this.#count));
    this.#words = new Int32Array(this.#vaults.length * width);
    this.#doubles = new Float64Array(this.#words.buffer);
    this.#vaults.set(vaults);
    this.#words.set(words);
  }
}

/** Rows by vault: those of one begin at its place in `begins`. */
interface Grouped {
  rows: Int32Array;
  begins: Int32Array;
}

function groupOf(vaults: Int32Array): Grouped {
  const ends = new Int32Array(vaults.reduce((most, vault) => Math.max(most, vault), -1) + 2);
  for (const vault of vaults) ends[vault] = (ends[vault] as number) + 1;
  let sum = 0;
  for (const [vault, count] of ends.entries()) ends[vault] = sum += count;
  const rows = new Int32Array(vaults.length);
  for (let row = vaults.length - 1; row >= 0; row--) {
    const vault = vaults[row] as number;
    const at = (ends[vault] as number) - 1;
    ends[vault] = at;
    rows[at] = row;
  }
  return { rows, begins: ends };
}
