import { VaultError } from "../errors.ts";
import { enlarged } from "./enlarge.ts";

/** Length of a vault's uuid (section 2.2: 36 characters of hexadecimal and dashes). */
export const uuidLength = 36;

const wordsPerKey = uuidLength / 4;

/** Makes ASCII letters small, and leaves digits and dashes as they are. */
const lowerCase = 0x20202020;

const isUuid = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text);

/** Numbers vaults from 0 in the order in which they appear, by the bytes of their uuids. Memory is about 60 bytes a vault. */
export class VaultTable {
  #keys = new Int32Array(1024 * wordsPerKey);
  /** Open addressing: number of the vault and one more; 0 is a free place. */
  #slots = new Int32Array(4096);
  readonly #limit: number;
  /** Only the first vault is wanted: all others are one, the second. */
  readonly #onlyOne: boolean;
  readonly #scratch = Buffer.alloc(uuidLength);
  readonly #scratchView = new DataView(this.#scratch.buffer, this.#scratch.byteOffset, uuidLength);
  size = 0;

  /** More vaults than `limit` raise `invalid-input`. With `only`, nothing is remembered of others. */
  constructor(limit: number, only?: string) {
    this.#limit = limit;
    if (only !== undefined) this.of(only.toLowerCase());
    this.#onlyOne = only !== undefined;
  }

  /** Whether a number is of a vault that somebody asks for. */
  isWanted(number: number): boolean {
    return !this.#onlyOne || number === 0;
  }

  /** The vault whose uuid stands at a place in either case; -1 where no uuid stands there. */
  at(view: DataView, place: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashAt(view, place) & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#slots[slot] as number) - 1;
      if (number < 0) return this.#add(view, place, slot);
      if (this.#is(number, view, place)) return number;
    }
  }

  /** The same of a text; -1 where it is no uuid. */
  of(text: string): number {
    if (text.length !== uuidLength) return -1;
    this.#scratch.write(text, "latin1");
    return this.at(this.#scratchView, 0);
  }

  uuid(number: number): string {
    const from = number * wordsPerKey;
    return Buffer.from(this.#keys.slice(from, from + wordsPerKey).buffer).toString("latin1");
  }

  #is(number: number, view: DataView, place: number): boolean {
    const key = number * wordsPerKey;
    for (let word = 0; word < wordsPerKey; word++) {
      if ((view.getInt32(place + word * 4, true) | lowerCase) !== this.#keys[key + word]) return false;
    }
    return true;
  }

  #add(view: DataView, place: number, slot: number): number {
    const text = Buffer.from(view.buffer, view.byteOffset + place, uuidLength)
      .toString("latin1")
      .toLowerCase();
    if (!isUuid(text)) return -1;
    if (this.#onlyOne) return 1;
    if (this.size === this.#limit) {
      const hint = "give it the items of fewer vaults, or name one: --vault UUID";
      throw new VaultError("invalid-input", `more than ${this.#limit.toLocaleString("en")} vaults in these items`, { hint });
    }
    const number = this.size++;
    if (this.#keys.length < this.size * wordsPerKey) this.#keys = new Int32Array(enlarged(this.#keys, this.#keys.byteLength * 2));
    for (let word = 0; word < wordsPerKey; word++) {
      this.#keys[number * wordsPerKey + word] = view.getInt32(place + word * 4, true) | lowerCase;
    }
    this.#slots[slot] = number + 1;
    if (this.size * 2 > this.#slots.length) this.#rehash();
    return number;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    const view = new DataView(this.#keys.buffer);
    for (let number = 0; number < this.size; number++) {
      let slot = hashAt(view, number * uuidLength) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}

/** Sums of products do not wait for each other, as a chain would. */
function hashAt(view: DataView, place: number): number {
  const sum =
    Math.imul(view.getInt32(place, true) | lowerCase, 0x9e3779b1) +
    Math.imul(view.getInt32(place + 4, true) | lowerCase, 0x85ebca6b) +
    Math.imul(view.getInt32(place + 8, true) | lowerCase, 0xc2b2ae35) +
    Math.imul(view.getInt32(place + 12, true) | lowerCase, 0x27d4eb2f) +
    Math.imul(view.getInt32(place + 16, true) | lowerCase, 0x165667b1) +
    Math.imul(view.getInt32(place + 20, true) | lowerCase, 0xd3a2646d) +
    Math.imul(view.getInt32(place + 24, true) | lowerCase, 0xfd7046c5) +
    Math.imul(view.getInt32(place + 28, true) | lowerCase, 0xb55a4f09) +
    Math.imul(view.getInt32(place + 32, true) | lowerCase, 0x1b873593);
  return Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
}
