import { parseTime } from "./times.ts";

const zero = 0x30;

/**
 * Times from their bytes. Items follow each other: most begin with the minute of the one before (`2026-11-21T14:02:`), which is
 * parsed once. NaN for what is no time.
 */
export class MinuteClock {
  readonly #minute = new Int32Array(4);
  #minuteTime = Number.NaN;

  /** `2026-11-21T14:02:11.123Z` in the short way, every other form as `parseTime` has it. */
  at(view: DataView, bytes: Uint8Array, from: number, to: number): number {
    if (to - from === 13) return ofMilliseconds(bytes, from, to);
    if (to - from !== 24 || bytes[to - 1] !== 0x5a || bytes[from + 16] !== 0x3a || bytes[from + 19] !== 0x2e) return slow(bytes, from, to);
    const minute = this.#minute;
    for (let word = 0; word < 4; word++) {
      if (view.getInt32(from + word * 4, true) === minute[word]) continue;
      if (!this.#learn(view, bytes, from)) return slow(bytes, from, to);
      break;
    }
    const tens = (bytes[from + 17] as number) - zero;
    const ones = (bytes[from + 18] as number) - zero;
    const hundreds = (bytes[from + 20] as number) - zero;
    const middle = (bytes[from + 21] as number) - zero;
    const last = (bytes[from + 22] as number) - zero;
    if (tens >>> 0 > 5 || ones >>> 0 > 9 || hundreds >>> 0 > 9 || middle >>> 0 > 9 || last >>> 0 > 9) return slow(bytes, from, to);
    return this.#minuteTime + (tens * 10 + ones) * 1000 + hundreds * 100 + middle * 10 + last;
  }

  #learn(view: DataView, bytes: Uint8Array, from: number): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, 16).toString("latin1");
    const time = parseTime(`${text}:00.000Z`);
    if (time === null) return false;
    for (let word = 0; word < 4; word++) this.#minute[word] = view.getInt32(from + word * 4, true);
    this.#minuteTime = time;
    return true;
  }
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
