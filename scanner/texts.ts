import { firstBytes } from "./values";

/**
 * Numbers the few different texts of a column from 0. A column has a hash table of 1024 slots, each with the number of a text plus 1, or 0
 * if it is free; the offset of each text, and the end of the last one; and the bytes of the texts.
 */
const slots: i32 = 1024;
const startsAt: usize = 1024;
const bytesAt: usize = 2048;

/** Maximum number of texts in a column. */
export const maxTexts: i32 = 200;

const maxBytes: u32 = maxTexts * 64;

/** Returns the number of the text between two addresses; -1 if the column is full. */
export function textNumber(column: usize, from: usize, to: usize): i32 {
  let slot =
    (<i32>(to - from) * 31 +
      load<u8>(from) * 7 +
      load<u8>((from + to) >> 1) * 3 +
      load<u8>(to - 1)) &
    (slots - 1);
  while (true) {
    const number = <i32>load<u8>(column + slot) - 1;
    if (number < 0) return add(column, slot, from, to);
    const known = textFrom(column, number);
    if (textTo(column, number) - known === to - from && isSame(known, from, to - from))
      return number;
    slot = (slot + 1) & (slots - 1);
  }
}

export function textFrom(column: usize, number: i32): usize {
  return column + bytesAt + load<u32>(column + startsAt + 4 * number);
}

export function textTo(column: usize, number: i32): usize {
  return textFrom(column, number + 1);
}

export function forgetTexts(column: usize): void {
  memory.fill(column, 0, bytesAt);
}

function isSame(a: usize, b: usize, length: usize): bool {
  let at: usize = 0;
  for (; at + 16 <= length; at += 16)
    if (v128.any_true(v128.xor(v128.load(a + at), v128.load(b + at)))) return false;
  const differing = v128.xor(v128.load(a + at), v128.load(b + at));
  return !v128.any_true(v128.and(differing, firstBytes(<i32>(length - at))));
}

function add(column: usize, slot: i32, from: usize, to: usize): i32 {
  const number = <i32>load<u16>(column + bytesAt - 4);
  const start = load<u32>(column + startsAt + 4 * number);
  const behind = start + <u32>(to - from);
  if (number === maxTexts || behind > maxBytes) return -1;
  memory.copy(column + bytesAt + start, from, to - from);
  store<u32>(column + startsAt + 4 * (number + 1), behind);
  store<u8>(column + slot, number + 1);
  store<u16>(column + bytesAt - 4, number + 1);
  return number;
}
