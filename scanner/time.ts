import { timeOf } from "./host";

export const isoLength: usize = 24;
const numberLength: usize = 13;

/** Parses a time to milliseconds since the epoch; NaN if it is not a time. The host parses all but the two most frequent forms. */
export function timeAt(from: usize, to: usize): f64 {
  if (to - from === isoLength && isUsual(from)) {
    const year = digits(from, 4);
    const month = digits(from + 5, 2);
    const day = digits(from + 8, 2);
    const hour = digits(from + 11, 2);
    const minute = digits(from + 14, 2);
    const second = digits(from + 17, 2);
    if (
      year >= 1970 &&
      month - 1 < 12 &&
      day - 1 < daysIn(year, month) &&
      hour < 24 &&
      minute < 60 &&
      second < 60
    ) {
      const ofDay = ((hour * 60 + minute) * 60 + second) * 1000 + digits(from + 20, 3);
      return <f64>daysSince1970(year, month, day) * 86400000 + <f64>ofDay;
    }
  }
  if (to - from === numberLength) {
    let number: u64 = 0;
    let at = from;
    for (; at < to && isDigit(at); at++) number = number * 10 + (load<u8>(at) - 0x30);
    if (at === to) return <f64>number;
  }
  return timeOf(from, to);
}

/** Whether a text has the form `2026-11-21T14:02:11.123Z`. The second block overlaps the first. */
export function isUsual(from: usize): bool {
  const start = v128.load(from);
  const rest = v128.load(from + 8);
  const marks = v128(0, 0, 0, 0, 0x2d, 0, 0, 0x2d, 0, 0, 0x54, 0, 0, 0x3a, 0, 0);
  const restMarks = v128(0, 0, 0x54, 0, 0, 0x3a, 0, 0, 0x3a, 0, 0, 0x2e, 0, 0, 0, 0x5a);
  return i8x16.all_true(v128.and(fits(start, marks), fits(rest, restMarks)));
}

/** Compares each byte with a mark or, where that is 0, with any digit. */
function fits(block: v128, marks: v128): v128 {
  const isDigit = i8x16.lt_u(i8x16.sub(block, i8x16.splat(0x30)), i8x16.splat(10));
  const asksDigit = i8x16.eq(marks, i8x16.splat(0));
  return v128.or(i8x16.eq(block, marks), v128.and(asksDigit, isDigit));
}

function isDigit(at: usize): bool {
  return <u8>(load<u8>(at) - 0x30) <= 9;
}

function digits(from: usize, count: i32): u32 {
  let number: u32 = 0;
  for (let at = 0; at < count; at++) number = number * 10 + (load<u8>(from + at) - 0x30);
  return number;
}

function isLeap(year: u32): bool {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

function daysIn(year: u32, month: u32): u32 {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Counts with years that begin in March, so that the leap day is the last one. */
function daysSince1970(year: u32, month: u32, day: u32): u32 {
  const past = month > 2 ? year : year - 1;
  const inYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return past * 365 + past / 4 - past / 100 + past / 400 + inYear - 719468;
}
