import type { Bytes } from "./bytes.ts";

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

/** A JSON value whose end is looked for, perhaps in several blocks. */
export class ValueScan {
  depth = 0;
  isString = false;
  #isEscaped = false;

  /** Returns the offset after the value, or -1 if it does not end before `to`. */
  end({ bytes }: Bytes, from: number, to: number): number {
    let { depth, isString } = this;
    let isEscaped = this.#isEscaped;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      if (isString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) {
          isString = false;
          if (depth === 0) return at + 1;
        }
      } else if (byte === quote) isString = true;
      else if (byte === openObject || byte === openList) depth += 1;
      else if (byte === closeObject || byte === closeList) {
        depth -= 1;
        if (depth <= 0) return at + 1;
      }
    }
    this.depth = depth;
    this.isString = isString;
    this.#isEscaped = isEscaped;
    return -1;
  }
}

/** Returns the offset after the string, list or object that begins at `from`, or -1 if it does not end before `to`. */
export const endOfValue = (given: Bytes, from: number, to: number): number =>
  new ValueScan().end(given, from, to);

/**
 * Returns where the next element begins within what seems to be a part of a broken one, because a quotation mark or brace is missing or
 * there is one too many; -1 if there is none.
 */
export function nextElement({ bytes }: Bytes, from: number, to: number): number {
  let isString = false;
  let depth = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (isString && byte === backslash) at += 1;
    else if (byte === quote) isString = !isString;
    else if (!isString && (byte === closeObject || byte === closeList)) depth -= 1;
    else if (!isString && byte === openList) depth += 1;
    else if (byte === openObject) {
      // Among the keys of the element itself, an object is the next one: a brace is missing.
      const isKey = !isString && depth++ === 1;
      if (!isString && !isKey) continue;
      let [before, after] = [at - 1, at + 1];
      while ((bytes[before] as number) <= space && before > from) before -= 1;
      if (bytes[before] !== comma) continue;
      if (isKey) return at;
      before -= 1;
      while ((bytes[before] as number) <= space && before > from) before -= 1;
      while ((bytes[after] as number) <= space && after < to) after += 1;
      if (bytes[before] === closeObject && bytes[after] === quote) return at;
    }
  }
  return -1;
}
