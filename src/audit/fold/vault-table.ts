import { VaultError } from "../../errors.ts";
import type { Bytes } from "../read/bytes.ts";
import { viewOf } from "../read/bytes.ts";
import { looksLikeUuid } from "../read/columns/looks.ts";

/** Section 2.2: length of a uuid. */
export const uuidLength = 36;

/** Its length in words of four bytes. */
const width = uuidLength / 4;

/**
 * Numbers vaults from 0 in the order of appearance, by their uuids (section 2.2). It compares bytes:
 * texts as keys would take four times as long, and three times the memory.
 */
export class VaultTable {
  readonly #limit: number;
  /** The uuids in lower case, in words of four bytes. */
  #uuids = new Int32Array(512 * width);
  /** Numbers by hash, plus 1; 0 for none. */
  #slots = new Int32Array(2048);
  #size = 0;
  readonly #wanted = new Int32Array(width);
  readonly #text = viewOf(Buffer.alloc(uuidLength));
  /** Beginning of the uuids of the vaults that are wanted. All others have the number 0. */
  readonly #start: string | undefined;

  /** `limit`: maximum number of vaults; `only`: uuid of the only vault wanted, or its first digits. */
  constructor(limit: number, only?: string) {
    this.#limit = limit;
    this.#start = only?.toLowerCase();
    if (only !== undefined) this.#size = 1;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether only some vaults are wanted. */
  get isPartial(): boolean {
    return this.#start !== undefined;
  }

  /** Whether a vault is wanted. */
  isWanted(number: number): boolean {
    return this.#start === undefined || number > 0;
  }

  /** Does what `at` does with a text. */
  of(text: string): number {
    if (!looksLikeUuid(text)) return -1;
    this.#text.bytes.write(text, "latin1");
    return this.at(this.#text, 0);
  }

  /**
   * Returns the number of the vault whose uuid, in either case, is at an offset; -1 if there is none.
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
    const slots = this.#slots;
    for (let slot = hashOf(wanted); ; slot++) {
      slot &= slots.length - 1;
      const number = (slots[slot] as number) - 1;
      if (number >= 0) {
        if (this.#isAt(number)) return number;
        continue;
      }
      const uuid = bytes.toString("latin1", from, from + uuidLength);
      if (!looksLikeUuid(uuid)) return -1;
      const isOther = this.#start !== undefined && !uuid.toLowerCase().startsWith(this.#start);
      return isOther ? 0 : this.#add(slot);
    }
  }

  /** Returns a uuid in lower case. */
  uuid(number: number): string {
    return Buffer.from(this.#uuids.buffer, number * uuidLength, uuidLength).toString("latin1");
  }

  /** Whether the wanted words are those of a vault. */
  #isAt(number: number): boolean {
    const uuids = this.#uuids;
    const wanted = this.#wanted;
    const from = number * width;
    for (let index = 0; index < width; index++)
      if (uuids[from + index] !== wanted[index]) return false;
    return true;
  }

  /** Adds a vault of the wanted words. */
  #add(slot: number): number {
    const number = this.#size;
    if (number === this.#limit) {
      throw new VaultError(
        "invalid-input",
        `more than ${this.#limit.toLocaleString("en")} vaults in these items`,
        { hint: "give it the items of fewer vaults, or name one: --vault VAULT" },
      );
    }
    const from = number * width;
    if (from === this.#uuids.length) this.#uuids = grown(this.#uuids);
    this.#uuids.set(this.#wanted, from);
    this.#slots[slot] = number + 1;
    this.#size += 1;
    if (4 * this.#size > this.#slots.length) this.#rehash();
    return number;
  }

  #rehash(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    for (let number = this.isPartial ? 1 : 0; number < this.#size; number++) {
      const from = number * width;
      let slot = hashOf(this.#uuids.subarray(from, from + width));
      while (slots[(slot &= slots.length - 1)] !== 0) slot++;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}

function grown(words: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * words.length);
  larger.set(words);
  return larger;
}

function hashOf(words: Int32Array): number {
  // Two parts, which the processor computes in parallel.
  let odd = words[width - 1] as number;
  let even = 0;
  for (let index = 0; index < width - 1; index += 2) {
    even = Math.imul(even ^ (words[index] as number), 0x9e3779b1);
    even ^= even >>> 15;
    odd = Math.imul(odd ^ (words[index + 1] as number), 0x85ebca6b);
    odd ^= odd >>> 13;
  }
  return even ^ odd;
}
