const western = new TextDecoder("windows-1252");

/** Returns a text of the input, in Windows-1252 where it is no UTF-8. */
export function textOf(bytes: Buffer, from = 0, to = bytes.length): string {
  const text = bytes.toString("utf8", from, to);
  return text.includes("\ufffd") ? western.decode(bytes.subarray(from, to)) : text;
}

/** Bytes with the view by which words of four are read. */
export interface Bytes {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export const viewOf = (bytes: Buffer): Bytes => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
});

/** Hashes the bytes from `from` up to `to`, exclusive, four at a time. */
function hashOf({ bytes, view }: Bytes, from: number, to: number): number {
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4)
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1) ^ (hash >>> 15);
  for (; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 13);
}

/** Hash of an item's id: an odd number. */
export const idHashOf = (given: Bytes, from: number, to: number): number =>
  hashOf(given, from, to) | 1;

/** Hash of a record without an id, of NDJSON that of its line without its end: even, and not 0. */
export const contentHashOf = (given: Bytes, from: number, to: number): number =>
  hashOf(given, from, to) & ~1 || 2;

/** A text that is looked for in other bytes. */
export class KnownText {
  readonly length: number = 0;
  readonly #words: Int32Array;
  readonly #last: number = 0;

  constructor(given: Bytes, from: number, to: number) {
    this.length = to - from;
    const words = Math.max(0, (this.length - 1) >> 2);
    this.#words = Int32Array.from({ length: words }, (_, index) =>
      given.view.getInt32(from + 4 * index, true),
    );
    this.#last = lastWord(given, from, to);
  }

  /** Whether the text is at an offset. All of its length must be within the bytes. */
  isAt(given: Bytes, from: number): boolean {
    const words = this.#words;
    for (let index = 0; index < words.length; index++)
      if (words[index] !== given.view.getInt32(from + 4 * index, true)) return false;
    return this.#last === lastWord(given, from, from + this.length);
  }
}

/** Returns the last four bytes of a text, or all of a shorter one. */
function lastWord({ bytes, view }: Bytes, from: number, to: number): number {
  if (to - from >= 4) return view.getInt32(to - 4, true);
  let word = 0;
  for (let at = from; at < to; at++) word = (word << 8) | (bytes[at] as number);
  return word;
}

/** Maximum number of texts that are remembered, a power of two. */
const mostTexts = 1024;
/** Maximum length of a text that is remembered. */
const longestText = 256;

/** Values by the bytes of the texts that they are made of, so that a text that repeats is decoded once. */
export class TextValues<T> {
  readonly #make: (text: string) => T;
  readonly #slots: ({ text: KnownText; value: T } | undefined)[] = Array.from(
    { length: 2 * mostTexts },
    () => undefined,
  );
  #size = 0;

  constructor(make: (text: string) => T) {
    this.#make = make;
  }

  /** Returns the value of the text from `from` up to `to`, exclusive. */
  get(given: Bytes, from: number, to: number): T {
    const slots = this.#slots;
    const length = to - from;
    const first = length >= 4 ? given.view.getInt32(from, true) : 0;
    const hash = Math.imul(
      first ^ Math.imul(lastWord(given, from, to) ^ length, 0x9e3779b1),
      0x85ebca6b,
    );
    for (let slot = hash >>> 16; ; slot++) {
      slot &= slots.length - 1;
      const found = slots[slot];
      if (found === undefined) return this.#add(given, from, to, slot);
      if (found.text.length === length && found.text.isAt(given, from)) return found.value;
    }
  }

  #add(given: Bytes, from: number, to: number, slot: number): T {
    const value = this.#make(textOf(given.bytes, from, to));
    if (this.#size < mostTexts && to - from <= longestText) {
      this.#size += 1;
      this.#slots[slot] = { text: new KnownText(given, from, to), value };
    }
    return value;
  }
}
