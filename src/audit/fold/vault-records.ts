import { VaultError } from "../../errors.ts";
import type { LockRule } from "../report/report.ts";

/** Conditions of a vault; its record has the index. */
const conditions = ["active", "locked", "deleted"] as const;

export type Condition = (typeof conditions)[number];

export const active = 0;
export const locked = 1;
export const deleted = 2;

/** Lock rules; the record of a locked vault has the index. */
export const lockRules: readonly LockRule[] = [
  "failed-attempts",
  "unacknowledged-starts",
  "expired-invalid-start",
  "auto-lock",
  "administrator",
  "unseen",
];

export const conditionOf = (records: VaultRecords, vault: number): Condition =>
  conditions[records.getInt(vault, intField.condition)] as Condition;

/** Returns the rule that locked a locked vault. */
export const ruleOf = (records: VaultRecords, vault: number): LockRule =>
  lockRules[records.getInt(vault, intField.rule)] as LockRule;

/**
 * Indexes of the floating-point fields in a record. Times are milliseconds since the epoch, NaN for none. Fields that every start changes
 * come last, next to the integers and the chains, so that an item touches few cache lines.
 */
export const field = {
  firstTime: 0,
  /** Time at which the vault got its condition. */
  since: 1,
  /** Time of the oldest start with invalid credentials whose transaction has not expired (releases up to 1.2.22). */
  invalidSince: 2,
  /** Location of the item that gave the vault its condition. */
  causeLocation: 3,
  causeLine: 4,
  lastTime: 5,
  /** Time of the last start, which is that of the open exchange. */
  lastStart: 6,
  pendingLocation: 7,
  pendingLine: 8,
} as const;

/** Indexes of the integer fields in a record. */
export const intField = {
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

/** Maximum number of items remembered in a chain, the newest. */
const longestChain = 16;

export const flag = {
  /** The counters are known: the creation, an acknowledgement or an unlock was seen. */
  known: 1,
  created: 2,
  /** An item came too late to be sorted. */
  late: 4,
  /** An item has an unknown action. */
  other: 16,
  /** A generic vault, which has no auto-lock. */
  generic: 32,
  /** The item that locked the vault says so. */
  lockIsSaid: 64,
  unlockedByItem: 128,
  /** A call of this machine had no response: it may count. */
  unanswered: 256,
  /** A call was refused for an unknown reason. */
  unworded: 512,
  /** Items without ids were taken for duplicates because their content is equal. */
  alike: 2048,
  /** An item has a known action. */
  meaningful: 1024,
} as const;

const intsAt = 9;
const chainAt = 14;

/**
 * A fixed-size record for each vault, all in one buffer, so that millions of vaults need no objects. A chain is a ring of items as pairs
 * of location and line.
 */
export class VaultRecords {
  readonly #stride: number;
  readonly #starts: number;
  readonly #failures: number;
  #capacity = 256;
  #numbers: Float64Array<ArrayBuffer>;
  #words: Int32Array<ArrayBuffer>;

  /** `starts` and `failures`: capacity of the chains. */
  constructor(starts: number, failures: number) {
    this.#starts = Math.min(starts, longestChain);
    this.#failures = Math.min(failures, longestChain);
    this.#stride = chainAt + 2 * (this.#starts + this.#failures);
    this.#numbers = new Float64Array(this.#capacity * this.#stride);
    this.#words = new Int32Array(this.#numbers.buffer);
  }

  /** Makes room for a vault. A new record is all zeroes. */
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

  getInt(vault: number, at: number): number {
    return this.#words[(vault * this.#stride + intsAt) * 2 + at] as number;
  }

  setInt(vault: number, at: number, value: number): void {
    this.#words[(vault * this.#stride + intsAt) * 2 + at] = value;
  }

  hasFlag(vault: number, flags: number): boolean {
    return (this.getInt(vault, intField.flags) & flags) !== 0;
  }

  setFlags(vault: number, flags: number): void {
    this.setInt(vault, intField.flags, this.getInt(vault, intField.flags) | flags);
  }

  clearFlags(vault: number, flags: number): void {
    this.setInt(vault, intField.flags, this.getInt(vault, intField.flags) & ~flags);
  }

  /** Adds the item with which the chain of starts has `length` items. Returns the location of the item that it replaces, or NaN. */
  setStart(vault: number, length: number, location: number, line: number): number {
    const at = vault * this.#stride + chainAt + 2 * ((length - 1) % this.#starts);
    return this.#setLink(at, length > this.#starts, location, line);
  }

  /** Does the same for the chain of failed attempts. */
  setFailure(vault: number, length: number, location: number, line: number): number {
    const at =
      vault * this.#stride + chainAt + 2 * (this.#starts + ((length - 1) % this.#failures));
    return this.#setLink(at, length > this.#failures, location, line);
  }

  /** Returns the chain of starts, oldest first. */
  starts(vault: number): ItemLocation[] {
    return this.#links(
      vault * this.#stride + chainAt,
      this.getInt(vault, intField.unacked),
      this.#starts,
    );
  }

  /** Returns the chain of failed attempts, oldest first. */
  failures(vault: number): ItemLocation[] {
    return this.#links(
      vault * this.#stride + chainAt + 2 * this.#starts,
      this.getInt(vault, intField.failed),
      this.#failures,
    );
  }

  #setLink(at: number, isTaken: boolean, location: number, line: number): number {
    const before = isTaken ? (this.#numbers[at] as number) : Number.NaN;
    this.#numbers[at] = location;
    this.#numbers[at + 1] = line;
    return before;
  }

  #links(from: number, length: number, most: number): ItemLocation[] {
    const oldest = Math.max(0, length - most);
    return Array.from({ length: length - oldest }, (_, index) => {
      const at = from + 2 * ((oldest + index) % most);
      return { location: this.#numbers[at] as number, line: this.#numbers[at + 1] as number };
    });
  }
}

/** An item by location. */
export interface ItemLocation {
  location: number;
  line: number;
}

/**
 * Returns a larger buffer with the same bytes, moved rather than copied if possible, and zeroes after them.
 *
 * @throws `invalid-input` if there is not enough memory.
 */
function grown({ buffer }: { buffer: ArrayBuffer }, bytes: number): ArrayBuffer {
  try {
    return buffer.transfer(bytes);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw noMemory(cause);
  }
}

export function noMemory(cause?: unknown): VaultError {
  const hint = "give it the items of fewer vaults, or name one: --vault UUID";
  return new VaultError("invalid-input", "these items have more vaults than there is memory for", {
    hint,
    cause,
  });
}
