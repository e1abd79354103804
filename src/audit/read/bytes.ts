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

export const copyOf = ({ bytes }: Bytes, from: number, to: number): Bytes =>
  viewOf(Buffer.from(bytes.subarray(from, to)));

/**
 * Hashes the bytes from `from` up to `to`, exclusive, four at a time: those of an item's id to an odd
 * number; else those of the record, of NDJSON its line without its end, to one that is even, not 0.
 */
export function hashOf({ bytes, view }: Bytes, from: number, to: number, isId: boolean): number {
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4)
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
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
    if (to - from <= longestText) this.#known[place] = { text: copyOf(given, from, to), value };
    return value;
  }
}

export const uuidLength = 36;

/** Bytes of a row: those of a vault's number plus 1, 0 if it is free; those of its uuid. */
const rowLength = 4 + uuidLength;

/** Numbers uuids by appearance, from 0. Compares bytes: text keys would take four times as long. */
export class VaultTable {
  readonly #limit: number;
  /** Rows by hash, each uuid beside its number: saves cache misses, a twentieth of a replay. */
  #rows = viewOf(Buffer.alloc(1024 * rowLength));
  /** The uuids in lower case, by number. */
  readonly #uuids: string[] = [];
  readonly #wanted = viewOf(Buffer.alloc(uuidLength));

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Does what `at` does with a text. */
  of(text: string): number {
    return isUuid(text) ? this.at(viewOf(Buffer.from(text, "latin1")), 0) : -1;
  }

  /**
   * Returns the number of the vault whose uuid, in either case, is at an offset; -1 for none.
   *
   * @throws `invalid-input` for too many vaults.
   */
  at({ bytes, view }: Bytes, from: number): number {
    for (let at = 0; at < uuidLength; at += 4) {
      const word = view.getInt32(from + at, true);
      // The bit that makes a letter a small one, and changes no digit.
      this.#wanted.view.setInt32(at, word | ((word & 0x40404040) >>> 1), true);
    }
    const known = this.#rows.view.getInt32(this.#rowOfWanted(), true);
    if (known > 0) return known - 1;
    const uuid = bytes.toString("latin1", from, from + uuidLength);
    return isUuid(uuid) ? this.#add(uuid.toLowerCase()) : -1;
  }

  uuid(number: number): string {
    return this.#uuids[number] as string;
  }

  /** Returns where the row of the wanted uuid is, or the free one that it would take. */
  #rowOfWanted(): number {
    const { bytes, view } = this.#rows;
    // As many as a power of two, so that the last bits of a hash are one of them.
    const last = bytes.length / rowLength - 1;
    const hash = Math.imul(hashOf(this.#wanted, 0, uuidLength, false), 0x85ebca6b) >>> 10;
    for (let row = hash & last; ; row = (row + 1) & last) {
      const at = row * rowLength;
      if (view.getInt32(at, true) === 0 || isAt(this.#wanted, this.#rows, at + 4)) return at;
    }
  }

  /** Adds the vault of the wanted uuid. */
  #add(uuid: string): number {
    if (this.#uuids.length === this.#limit)
      throw new VaultError(
        "invalid-input",
        `more than ${grouped(this.#limit)} vaults in these items`,
        { hint: "give it the items of fewer vaults" },
      );
    const size = this.#uuids.push(uuid);
    this.#put(size);
    if (4 * size * rowLength > 3 * this.#rows.bytes.length) {
      this.#rows = viewOf(Buffer.alloc(2 * this.#rows.bytes.length));
      for (const [number, one] of this.#uuids.entries()) {
        this.#wanted.bytes.write(one, "latin1");
        this.#put(number + 1);
      }
    }
    return size - 1;
  }

  #put(number: number): void {
    const row = this.#rowOfWanted();
    this.#rows.view.setInt32(row, number, true);
    this.#rows.bytes.set(this.#wanted.bytes, row + 4);
  }
}

export const newline = 0x0a;
export const carriageReturn = 0x0d;
export const space = 0x20;
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const backslash = 0x5c;
export const openList = 0x5b;
export const closeList = 0x5d;
export const openObject = 0x7b;
export const closeObject = 0x7d;

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
  for (let byte = bytes[at] as number; byte >= space && at < to; byte = bytes[++at] as number)
    if (byte === quote || byte === backslash) break;
  return at;
}

/** Returns where the string, list or object at `from` ends; -1 if open, or deeper than `most`. */
export function endOfValue({ bytes }: Bytes, from: number, to: number, most = Infinity): number {
  let depth = 0;
  let isString = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (isString && byte === backslash) at += 1;
    else if (byte === quote) {
      isString = !isString;
      if (depth === 0 && !isString) return at + 1;
    } else if (isString) continue;
    else if (byte === openObject || byte === openList) {
      if (++depth > most) return -1;
    } else if ((byte === closeObject || byte === closeList) && --depth <= 0) return at + 1;
  }
  return -1;
}
