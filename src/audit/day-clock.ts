import { parseTime } from "./times.ts";

const zero = 0x30;
const isoLength = 24;

/**
 * Times from their bytes. Items follow each other: most have the day of the one before (`2026-11-21`), which is parsed once.
 * NaN for what is no time.
 */
export class DayClock {
  #year = 0;
  #month = 0;
  #day = 0;
  #midnight = Number.NaN;

  /** `2026-11-21T14:02:11.123Z` in the short way, every other form as `parseTime` has it. */
  at(view: DataView, bytes: Uint8Array, from: number, to: number): number {
    if (to - from === 13) return ofMilliseconds(bytes, from, to);
    if (to - from !== isoLength) return slow(bytes, from, to);
    // T::.Z at their places.
    const marks = ((bytes[from + 10] as number) ^ 0x54) | ((bytes[from + 13] as number) ^ 0x3a) | ((bytes[from + 16] as number) ^ 0x3a);
    if ((marks | ((bytes[from + 19] as number) ^ 0x2e) | ((bytes[from + 23] as number) ^ 0x5a)) !== 0) return slow(bytes, from, to);
    const hours = twoDigits(bytes, from + 11);
    const minutes = twoDigits(bytes, from + 14);
    const seconds = twoDigits(bytes, from + 17);
    const hundredths = twoDigits(bytes, from + 20);
    const last = (bytes[from + 22] as number) - zero;
    if (hours > 23 || minutes > 59 || seconds > 59 || hundredths > 99 || last >>> 0 > 9) return slow(bytes, from, to);
    const isSameDay =
      view.getInt32(from, true) === this.#year &&
      view.getInt32(from + 4, true) === this.#month &&
      view.getInt16(from + 8, true) === this.#day;
    if (!isSameDay && !this.#learn(view, bytes, from)) return slow(bytes, from, to);
    return this.#midnight + ((hours * 60 + minutes) * 60 + seconds) * 1000 + hundredths * 10 + last;
  }

  #learn(view: DataView, bytes: Uint8Array, from: number): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, 10).toString("latin1");
    const time = parseTime(`${text}T00:00:00.000Z`);
    if (time === null) return false;
    this.#year = view.getInt32(from, true);
    this.#month = view.getInt32(from + 4, true);
    this.#day = view.getInt16(from + 8, true);
    this.#midnight = time;
    return true;
  }
}

/** More than 99 where they are none. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = ((bytes[at] as number) - zero) >>> 0;
  const ones = ((bytes[at + 1] as number) - zero) >>> 0;
  return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

function ofMilliseconds(bytes: Uint8Array, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit >>> 0 > 9) return slow(bytes, from, to);
    number = number * 10 + digit;
  }
  return number;
}

const slow = (bytes: Uint8Array, from: number, to: number): number =>
  parseTime(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1")) ?? Number.NaN;
