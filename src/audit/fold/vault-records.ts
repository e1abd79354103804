import { grown } from "./grow.ts";

/**
 * Numbers of a vault, by their place in its record. Times are milliseconds since the epoch, NaN for none. What each start changes
 * stands last, beside the whole numbers and the chains: the fewer pieces of memory an item touches, the better.
 */
export const field = {
  firstTime: 0,
  /** Since when it is in its condition. */
  since: 1,
  /** The oldest start with invalid credentials whose transaction is not over (releases up to 1.2.22). */
  invalidSince: 2,
  /** The item that put it into its condition, where no chain has it. */
  causePlace: 3,
  causeLine: 4,
  lastTime: 5,
  /** Of the exchange that is open, too. */
  lastStart: 6,
  pendingPlace: 7,
  pendingLine: 8,
} as const;

/** Whole numbers of a vault, by their place behind those. */
export const small = {
  condition: 0,
  rule: 1,
  unacked: 2,
  failed: 3,
  pending: 4,
  flags: 5,
  items: 6,
  idHash: 7,
  lastInput: 8,
  lastKind: 9,
} as const;

/** Of a chain, so many items are remembered, the newest. */
const longestChain = 16;

export const flag = {
  /** Its counters are known: its creation, an acknowledgement or an unlock was seen. */
  known: 1,
  created: 2,
  /** An item came too late to be put in its place. */
  late: 4,
  /** An item was found of an action that this program does not know. */
  other: 16,
  /** A vault of a generic kind, which has no auto-lock. */
  generic: 32,
  /** The item that locked it says so itself. */
  lockIsSaid: 64,
  unlockedByItem: 128,
  /** A call of this machine's went unanswered: nobody knows whether it counted. */
  unanswered: 256,
  /** A call was refused, and its item does not say why. */
  unworded: 512,
  /** Items that are alike were taken for one that was told twice. */
  alike: 2048,
  /** There was an item that means something. */
  meaningful: 1024,
} as const;

const smallAt = 9;
const chainAt = 14;

/**
 * What is remembered of each vault, in one block of memory: the fold touches one place for an item, and millions of vaults cost
 * no objects. A chain is a list of items as pairs of place and line.
 */
export class VaultRecords {
  readonly #stride: number;
  readonly #starts: number;
  readonly #failures: number;
  #capacity = 256;
  #numbers: Float64Array<ArrayBuffer>;
  #words: Int32Array<ArrayBuffer>;

  /** Room for so many starts and failed accesses of each vault. */
  constructor(starts: number, failures: number) {
    this.#starts = Math.min(starts, longestChain);
    this.#failures = Math.min(failures, longestChain);
    this.#stride = chainAt + 2 * (this.#starts + this.#failures);
    this.#numbers = new Float64Array(this.#capacity * this.#stride);
    this.#words = new Int32Array(this.#numbers.buffer);
  }

  /** Makes room for a vault; its record is all zeroes at first. */
  ensure(vault: number): void {
    if (vault < this.#capacity) return;
    while (vault >= this.#capacity) this.#capacity *= 2;
    this.#numbers = new Float64Array(grown(this.#numbers, this.#capacity * this.#stride * 8));
    this.#words = new Int32Array(this.#numbers.buffer);
  }

  knows(vault: number): boolean {
    return vault < this.#capacity;
  }

  get(vault: number, at: number): number {
    return this.#numbers[vault * this.#stride + at] as number;
  }

  set(vault: number, at: number, value: number): void {
    this.#numbers[vault * this.#stride + at] = value;
  }

  getSmall(vault: number, at: number): number {
    return this.#words[(vault * this.#stride + smallAt) * 2 + at] as number;
  }

  setSmall(vault: number, at: number, value: number): void {
    this.#words[(vault * this.#stride + smallAt) * 2 + at] = value;
  }

  has(vault: number, flags: number): boolean {
    return (this.getSmall(vault, small.flags) & flags) !== 0;
  }

  raise(vault: number, flags: number): void {
    this.setSmall(vault, small.flags, this.getSmall(vault, small.flags) | flags);
  }

  lower(vault: number, flags: number): void {
    this.setSmall(vault, small.flags, this.getSmall(vault, small.flags) & ~flags);
  }

  /** The item with which a chain has become so long. Returns the place of the one that is not remembered any more, or NaN. */
  setStart(vault: number, length: number, place: number, line: number): number {
    const at = vault * this.#stride + chainAt + 2 * ((length - 1) % this.#starts);
    return this.#setLink(at, length > this.#starts, place, line);
  }

  setFailure(vault: number, length: number, place: number, line: number): number {
    const at = vault * this.#stride + chainAt + 2 * (this.#starts + ((length - 1) % this.#failures));
    return this.#setLink(at, length > this.#failures, place, line);
  }

  /** Oldest first. */
  starts(vault: number): Link[] {
    return this.#links(vault * this.#stride + chainAt, this.getSmall(vault, small.unacked), this.#starts);
  }

  failures(vault: number): Link[] {
    return this.#links(vault * this.#stride + chainAt + 2 * this.#starts, this.getSmall(vault, small.failed), this.#failures);
  }

  #setLink(at: number, isTaken: boolean, place: number, line: number): number {
    const before = isTaken ? (this.#numbers[at] as number) : Number.NaN;
    this.#numbers[at] = place;
    this.#numbers[at + 1] = line;
    return before;
  }

  #links(from: number, length: number, most: number): Link[] {
    const oldest = Math.max(0, length - most);
    return Array.from({ length: length - oldest }, (_, index) => {
      const at = from + 2 * ((oldest + index) % most);
      return { place: this.#numbers[at] as number, line: this.#numbers[at + 1] as number };
    });
  }
}

/** An item by where it stands. */
export interface Link {
  place: number;
  line: number;
}
