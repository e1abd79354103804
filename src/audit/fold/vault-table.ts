import { VaultError } from "../../errors.ts";
import { grouped } from "../../terminal/count.ts";
import { type Bytes, viewOf } from "../read/bytes.ts";
import { isUuid } from "../../protocol/limits.ts";

export const uuidLength = 36;

/** Its words of four bytes; a row has before them the vault's number plus 1, or 0 if it is free. */
const width = uuidLength / 4;
const rowWidth = width + 1;

const fewestRows = 1024;

/** Numbers uuids by appearance, from 0. Compares bytes: text keys would take four times as long. */
export class VaultTable {
  readonly #limit: number;
  /** Rows by hash, each uuid beside its number: saves cache misses, a twentieth of a replay. */
  #rows = new Int32Array(fewestRows * rowWidth);
  /** Their number, a power of two, minus 1. */
  #mask = fewestRows - 1;
  /** The uuids in lower case, by number. */
  readonly #uuids: string[] = [];
  readonly #wanted = new Int32Array(width);
  readonly #text = viewOf(Buffer.alloc(uuidLength));

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#uuids.length;
  }

  /** Does what `at` does with a text. */
  of(text: string): number {
    if (!isUuid(text)) return -1;
    this.#text.bytes.write(text, "latin1");
    return this.at(this.#text, 0);
  }

  /**
   * Returns the number of the vault whose uuid, in either case, is at an offset; -1 for none.
   *
   * @throws `invalid-input` for too many vaults.
   */
  at({ bytes, view }: Bytes, from: number): number {
    const wanted = this.#wanted;
    for (let index = 0; index < width; index++) {
      const word = view.getInt32(from + 4 * index, true);
      // The bit that makes a letter a small one, and changes no digit.
      wanted[index] = word | ((word & 0x40404040) >>> 1);
    }
    const row = this.#rowOf(wanted);
    const known = this.#rows[row] as number;
    if (known > 0) return known - 1;
    const uuid = bytes.toString("latin1", from, from + uuidLength);
    if (!isUuid(uuid)) return -1;
    return this.#add(row, uuid.toLowerCase());
  }

  uuid(number: number): string {
    return this.#uuids[number] as string;
  }

  /** Returns where the row of a uuid is, or the free one that it would take. */
  #rowOf(uuid: Int32Array): number {
    const rows = this.#rows;
    for (let row = (hashOf(uuid) & this.#mask) * rowWidth; ; row = next(row, rows))
      if (rows[row] === 0 || isAt(rows, row + 1, uuid)) return row;
  }

  /** Adds the vault of the wanted words. */
  #add(row: number, uuid: string): number {
    if (this.size === this.#limit) {
      throw new VaultError(
        "invalid-input",
        `more than ${grouped(this.#limit)} vaults in these items`,
        { hint: "give it the items of fewer vaults" },
      );
    }
    const number = this.#uuids.push(uuid) - 1;
    this.#rows[row] = number + 1;
    this.#rows.set(this.#wanted, row + 1);
    if (4 * rowWidth * this.size > 3 * this.#rows.length) this.#grow();
    return number;
  }

  #grow(): void {
    const former = this.#rows;
    this.#mask = 2 * this.#mask + 1;
    this.#rows = new Int32Array(2 * former.length);
    for (let from = 0; from < former.length; from += rowWidth) {
      if (former[from] === 0) continue;
      const row = former.subarray(from, from + rowWidth);
      this.#rows.set(row, this.#rowOf(row.subarray(1)));
    }
  }
}

function isAt(rows: Int32Array, from: number, uuid: Int32Array): boolean {
  for (let index = 0; index < width; index++) if (rows[from + index] !== uuid[index]) return false;
  return true;
}

/** Returns the row after another one, or the first one. */
const next = (row: number, rows: Int32Array): number =>
  row + rowWidth === rows.length ? 0 : row + rowWidth;

/** Hash of a uuid as nine words. */
export function hashOf(words: Int32Array): number {
  // Two parts, which the processor computes in parallel.
  let odd = 0;
  let even = 0;
  for (let index = 0; index < width - 1; index += 2) {
    even = Math.imul(even ^ (words[index] as number), 0x9e3779b1);
    even ^= even >>> 15;
    odd = Math.imul(odd ^ (words[index + 1] as number), 0x85ebca6b);
    odd ^= odd >>> 13;
  }
  // The last word comes last: a part that began with it would be equal for uuids that repeat it.
  even = Math.imul(even ^ (words[width - 1] as number), 0x9e3779b1);
  return even ^ (even >>> 15) ^ odd;
}
