import type { Bytes } from "../read/bytes.ts";
import { KnownText } from "../read/bytes.ts";

const zero = 48;
const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334] as const;
const daysIn = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const isoTime =
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)? ?(?:[Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;
const epochTime = /^(?:\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19})$/;

/**
 * Parses a time in an export. Returns milliseconds since the epoch, without finer fractions; null if it is not a time.
 *
 * The text is ISO 8601 with date and time of day (`T` or a space between them, a dot or a comma before a fraction, seconds optional) and
 * any offset, **UTC if there is none**; or the time since the epoch in seconds (10 digits, with or without a fraction), milliseconds (13
 * digits), microseconds (16) or nanoseconds (19).
 */
export function parseTime(text: string): number | null {
  const given =
    text.charCodeAt(0) <= 32 || text.charCodeAt(text.length - 1) <= 32 ? text.trim() : text;
  if (given.charCodeAt(4) === 45) return isoTime.test(given) ? isoMilliseconds(given) : null;
  if (!epochTime.test(given)) return null;
  // Cuts digits instead of dividing: a number cannot hold 19 of them.
  return given.length < 13 || given.includes(".")
    ? Math.floor(Number(given.slice(0, 14)) * 1000 + 1e-4)
    : Number(given.slice(0, 13));
}

/** Parses a text that matches `isoTime`. */
function isoMilliseconds(text: string): number | null {
  const year = two(text, 0) * 100 + two(text, 2);
  const month = two(text, 5);
  const day = two(text, 8);
  const hour = two(text, 11);
  const minute = two(text, 14);
  const hasSeconds = text.charCodeAt(16) === 58;
  const second = hasSeconds ? two(text, 17) : 0;
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (day > (daysIn[month - 1] ?? 0) + (isLeap && month === 2 ? 1 : 0)) return null;
  let at = hasSeconds ? 19 : 16;
  let milliseconds = 0;
  const mark = text.charCodeAt(at);
  if (hasSeconds && (mark === 46 || mark === 44)) {
    at += 1;
    for (let scale = 100; isDigit(text, at); at += 1, scale /= 10) {
      if (scale >= 1) milliseconds += (text.charCodeAt(at) - zero) * scale;
    }
  }
  const offset = offsetMinutes(text, at);
  if (offset === null) return null;
  const past = year - 1;
  const leapDays = Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400);
  const inYear = (daysBefore[month - 1] ?? 0) + (isLeap && month > 2 ? 1 : 0) + day - 1;
  // 719162 days from year 1 to 1970.
  const days = past * 365 + leapDays + inYear - 719_162;
  return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1000 + milliseconds;
}

/** Returns the offset from UTC in minutes, 0 if there is none, null if it is invalid. */
function offsetMinutes(text: string, from: number): number | null {
  const at = text.charCodeAt(from) === 32 ? from + 1 : from;
  const sign = text.charCodeAt(at);
  if (sign !== 43 && sign !== 45) return 0;
  const hours = two(text, at + 1);
  const rest = text.charCodeAt(at + 3) === 58 ? at + 4 : at + 3;
  const minutes = rest < text.length ? two(text, rest) : 0;
  if (hours > 23 || minutes > 59) return null;
  return (sign === 43 ? 1 : -1) * (hours * 60 + minutes);
}

const two = (text: string, at: number): number =>
  (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;

const isDigit = (text: string, at: number): boolean =>
  text.charCodeAt(at) >= zero && text.charCodeAt(at) <= zero + 9;

/** Length of a time in the form `2026-11-21T14:02:11.123Z`, and of its day. */
const usualLength = 24;
const dayLength = 10;

/** Parses times from their bytes, most quickly those of the form `2026-11-21T14:02:11.123Z` on the day of the last one. */
export class TimeReader {
  #day: KnownText | undefined;
  /** The time at which that day began. */
  #begin = Number.NaN;

  /** Returns milliseconds since the epoch, or null for a text that is not a time as this input writes it. */
  parse(text: string): number | null {
    return parseTime(text);
  }

  /** Sets the time of an entry in milliseconds since the epoch; NaN if the text is not a time. A number returned would be an object of its own. */
  read(given: Bytes, from: number, to: number, entry: { time: number }): void {
    if (to - from === usualLength && this.#day?.isAt(given, from) === true) {
      const time = timeOfDay(given.bytes, from + dayLength);
      if (time >= 0) {
        entry.time = this.#begin + time;
        return;
      }
    }
    const text = given.bytes.toString("latin1", from, to);
    const begin =
      text.length === usualLength ? parseTime(`${text.slice(0, dayLength)}T00:00Z`) : null;
    if (begin !== null) {
      this.#day = new KnownText(given, from, from + dayLength);
      this.#begin = begin;
    }
    entry.time = this.parse(text) ?? Number.NaN;
  }
}

/** Returns the milliseconds of `T14:02:11.123Z`; -1 for a text of another form. */
function timeOfDay(bytes: Buffer, at: number): number {
  const hour = twoDigits(bytes, at + 1);
  const minute = twoDigits(bytes, at + 4);
  const second = twoDigits(bytes, at + 7);
  const hundredth = twoDigits(bytes, at + 10);
  const last = (bytes[at + 12] as number) - zero;
  const isUsual =
    bytes[at] === 0x54 &&
    bytes[at + 3] === 0x3a &&
    bytes[at + 6] === 0x3a &&
    bytes[at + 9] === 0x2e &&
    bytes[at + 13] === 0x5a;
  if (!isUsual || hour > 23 || minute > 59 || second > 59 || hundredth > 99) return -1;
  if (last < 0 || last > 9) return -1;
  return ((hour * 60 + minute) * 60 + second) * 1000 + hundredth * 10 + last;
}

/** Returns the value of two digits; 100 for other bytes. */
function twoDigits(bytes: Buffer, at: number): number {
  const high = (bytes[at] as number) - zero;
  const low = (bytes[at + 1] as number) - zero;
  return high < 0 || high > 9 || low < 0 || low > 9 ? 100 : high * 10 + low;
}
