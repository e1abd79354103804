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
    const tens = digit(bytes, from + 17);
    const ones = digit(bytes, from + 18);
    const milliseconds = digit(bytes, from + 20) * 100 + digit(bytes, from + 21) * 10 + digit(bytes, from + 22);
    if (!(tens < 6) || Number.isNaN(ones + milliseconds)) return slow(bytes, from, to);
    return this.#minuteTime + (tens * 10 + ones) * 1000 + milliseconds;
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

function digit(bytes: Uint8Array, at: number): number {
  const value = (bytes[at] as number) - zero;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

function ofMilliseconds(bytes: Uint8Array, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + digit(bytes, at);
  return Number.isNaN(number) ? slow(bytes, from, to) : number;
}

const slow = (bytes: Uint8Array, from: number, to: number): number =>
  parseTime(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1")) ?? Number.NaN;
