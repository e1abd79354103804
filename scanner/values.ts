import { masks } from "./memory";

const quote: u8 = 0x22;
const backslash: u8 = 0x5c;

/** Returns a mask for the first `count` bytes of a block, fewer than 16. */
export function firstBytes(count: i32): v128 {
  return v128.load(masks + 16 - count);
}

/** Initializes memory for `firstBytes`. */
export function initMasks(): void {
  v128.store(masks, i8x16.splat(-1));
  v128.store(masks + 16, i8x16.splat(0));
}

/** Returns the address of the quotation mark that ends a string; `end` if there is none, or an escape or a control character before it. */
export function endOfString(from: usize, end: usize): usize {
  for (let at = from; at < end; at += 16) {
    const block = v128.load(at);
    const marks = v128.or(
      i8x16.eq(block, i8x16.splat(quote)),
      i8x16.eq(block, i8x16.splat(backslash)),
    );
    const stops = i8x16.bitmask(v128.or(marks, i8x16.lt_u(block, i8x16.splat(0x20))));
    if (stops === 0) continue;
    const stop = at + ctz(stops);
    return stop < end && load<u8>(stop) === quote ? stop : end;
  }
  return end;
}

/** Returns the address after a JSON number, true or false; `end` if there is none. */
export function endOfBare(from: usize, end: usize): usize {
  const first = load<u8>(from);
  if (first === 0x74 && load<u32>(from) === 0x65757274) return from + 4;
  if (first === 0x66 && load<u32>(from + 1) === 0x65736c61) return from + 5;
  const whole = first === 0x2d ? from + 1 : from;
  let at = afterDigits(whole);
  if (at === whole || (load<u8>(whole) === 0x30 && at > whole + 1)) return end;
  if (load<u8>(at) === 0x2e) {
    const fraction = at + 1;
    at = afterDigits(fraction);
    if (at === fraction) return end;
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    const sign = load<u8>(at + 1);
    const exponent = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
    at = afterDigits(exponent);
    if (at === exponent) return end;
  }
  return at < end ? at : end;
}

/** Whether parsing and formatting a bare value gives the same text: an integer, true or false. */
export function isPlainBare(from: usize, to: usize): bool {
  return load<u8>(from) > 0x39 || afterDigits(from) === to;
}

function afterDigits(from: usize): usize {
  let at = from;
  while (<u8>(load<u8>(at) - 0x30) <= 9) at++;
  return at;
}

/** Computes the same hash as src/audit/read/hash.ts. */
export function hashBytes(from: usize, to: usize): i32 {
  let hash = <i32>(to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) hash = ((hash ^ load<i32>(at)) * 0x9e3779b1) ^ (hash >>> 15);
  for (; at < to; at++) hash = ((hash ^ load<i8>(at)) * 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 13);
}
