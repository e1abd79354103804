import { VaultError } from "../../errors.ts";
import { isUuid } from "../../protocol/limits.ts";
import { grouped } from "../../terminal/count.ts";

const western = new TextDecoder("windows-1252");

/** Returns a text of the input, in Windows-1252 if it is not UTF-8. */
export function textOf(bytes: Buffer, from = 0, to = bytes.length): string {
  const text = bytes.toString("utf8", from, to);
  return text.includes("\ufffd") ? western.decode(bytes.subarray(from, to)) : text;
}

/** Bytes with the view by which words of four are read. */
export interface Bytes {
  readonly bytes: Buffer;
  readonly view: DataView;
  offset: number;
}

export const viewOf = (bytes: Buffer): Bytes => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
  offset: 0,
});

/**
 * Hashes the bytes from `from` up to `to`, exclusive, four at a time: of an id, a uuid in any case,
 * to an odd number; of a record, of NDJSON its line without its end, to one that is even, not 0.
 */
export function hashOf({ bytes, view }: Bytes, from: number, to: number, isId: boolean): number {
  const small = isId ? 0x20202020 : 0;
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4)
    hash = Math.imul(hash ^ (view.getInt32(at, true) | small), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x9e3779b1) ^ (hash >>> 15);
  hash ^= hash >>> 13;
  return isId ? hash | 1 : hash & ~1 || 2;
}

/** Whether the bytes from an offset on are those of a known text. They must be as many. */
export function isAt({ bytes, view }: Bytes, given: Bytes, from: number): boolean {
  const last = bytes.length - 4;
  for (let at = 0; at < last; at += 4)
    if (view.getInt32(at, true) !== given.view.getInt32(from + at, true)) return false;
  if (last >= 0) return view.getInt32(last, true) === given.view.getInt32(from + last, true);
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== given.bytes[from + at]) return false;
  return true;
}

/** Number of texts that are remembered, and the maximum of the bytes of each. */
const [mostTexts, longestText] = [1024, 256];

/** Values by the bytes of the texts that they are made of: a repeated text is decoded once. */
export class TextValues<T> {
  readonly #make: (text: string) => T;
  readonly #known: ({ text: Bytes; value: T } | undefined)[] = Array.from({ length: mostTexts });

  constructor(make: (text: string) => T) {
    this.#make = make;
  }

  /** Returns the value of the text from `from` up to `to`, exclusive. */
  get(given: Bytes, from: number, to: number): T {
    // Its beginning and its end tell most texts apart: what has the same place is made again.
    const { bytes, view } = given;
    const ends =
      to - from < 4
        ? ((bytes[from] as number) << 8) | (bytes[to - 1] as number)
        : Math.imul(view.getInt32(from, true), 0x9e3779b1) ^ view.getInt32(to - 4, true);
    const place = (Math.imul(ends ^ (to - from), 0x85ebca6b) >>> 16) & (mostTexts - 1);
    const known = this.#known[place];
    if (known?.text.bytes.length === to - from && isAt(known.text, given, from)) return known.value;
    const value = this.#make(textOf(given.bytes, from, to));
    if (to - from <= longestText)
      this.#known[place] = { text: viewOf(Buffer.from(bytes.subarray(from, to))), value };
    return value;
  }
}

export const uuidLength = 36;

/** Maximum number of vaults, each of which takes about 1 KB. */
const maxVaults = 2_000_000;

/** Numbers uuids by appearance, from 0; by their bytes: a text of each takes a tenth more time. */
export class VaultTable {
  /** Numbers, plus 1, each at the first free place from that of its hash on; at most half full. */
  #places = new Int32Array(2048);
  /** By number, in lower case: as bytes, to compare, and as texts. */
  #bytes = viewOf(Buffer.alloc(1024 * uuidLength));
  readonly #uuids: string[] = [];

  /**
   * Returns the number of the vault whose uuid these bytes are; -1 for what is no uuid.
   *
   * @throws `invalid-input` for too many vaults.
   */
  of(given: Bytes, from = 0, to = given.bytes.length): number {
    if (to - from !== uuidLength) return -1;
    const place = this.#placeOf(given, from);
    const known = this.#places[place] as number;
    if (known > 0) return known - 1;
    const uuid = given.bytes.toString("latin1", from, to).toLowerCase();
    if (!isUuid(uuid)) return -1;
    const number = this.#uuids.length;
    if (number === maxVaults)
      throw new VaultError(
        "invalid-input",
        `more than ${grouped(maxVaults)} vaults in these items`,
        { hint: "give it the items of fewer vaults" },
      );
    this.#bytes.bytes.write(uuid, number * uuidLength, "latin1");
    this.#places[place] = this.#uuids.push(uuid);
    if (2 * this.#uuids.length === this.#places.length) this.#grow();
    return number;
  }

  uuid(number: number): string {
    return this.#uuids[number] as string;
  }

  /** Returns the place of the uuid at an offset, in any case: that of its number, or a free one. */
  #placeOf(given: Bytes, from: number): number {
    const last = this.#places.length - 1;
    // The lowest bit of the hash is always set.
    let place = (hashOf(given, from, from + uuidLength, true) >>> 1) & last;
    for (let known; (known = this.#places[place] as number) > 0; place = (place + 1) & last)
      if (this.#isOf(known - 1, given, from)) break;
    return place;
  }

  #isOf(number: number, { view }: Bytes, from: number): boolean {
    for (let at = 0; at < uuidLength; at += 4) {
      const word = view.getInt32(from + at, true);
      // The bit that makes a letter small, and changes nothing else.
      const small = word | ((word & 0x40404040) >>> 1);
      if (small !== this.#bytes.view.getInt32(number * uuidLength + at, true)) return false;
    }
    return true;
  }

  #grow(): void {
    const { bytes } = this.#bytes;
    this.#bytes = viewOf(Buffer.concat([bytes], 2 * bytes.length));
    this.#places = new Int32Array(2 * this.#places.length);
    for (let number = 0; number < this.#uuids.length; number++)
      this.#places[this.#placeOf(this.#bytes, number * uuidLength)] = number + 1;
  }
}

/** The bytes that mean something in JSON and in tables. */
export const ascii = {
  newline: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  apostrophe: 0x27,
  comma: 0x2c,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** Returns the offset of the first quotation mark, backslash or control character. */
export function endOfString({ bytes, view }: Bytes, from: number, to: number): number {
  let at = from;
  // The highest bit of a byte is set where there is one, and where a byte is not ASCII.
  for (; at + 4 <= to; at += 4) {
    const word = view.getInt32(at, true);
    const marks =
      ((word ^ 0x22222222) - 0x01010101) |
      ((word ^ 0x5c5c5c5c) - 0x01010101) |
      (word - 0x20202020) |
      word;
    if ((marks & 0x80808080) !== 0) break;
  }
  for (let byte = bytes[at] as number; byte >= ascii.space && at < to; byte = bytes[++at] as number)
    if (byte === ascii.quote || byte === ascii.backslash) break;
  return at;
}

/** Returns where the string, list or object at `from` ends; -1 if open, or deeper than `most`. */
export function endOfValue({ bytes }: Bytes, from: number, to: number, most = Infinity): number {
  let depth = 0;
  let isString = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (isString && byte === ascii.backslash) at += 1;
    else if (byte === ascii.quote) {
      isString = !isString;
      if (depth === 0 && !isString) return at + 1;
    } else if (isString) continue;
    else if (byte === ascii.openObject || byte === ascii.openList) {
      if (++depth > most) return -1;
    } else if ((byte === ascii.closeObject || byte === ascii.closeList) && --depth <= 0)
      return at + 1;
  }
  return -1;
}
