import { randomBytes } from "node:crypto";
import type { Clock } from "./ports.ts";

/** Source of exchange ids: 26 characters that sort by time of creation (ULID), after `after`, the newest of the vault. */
export interface Ids {
  next(after?: string): string;
}

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeLength = 10;

/**
 * Creates ULIDs: 10 characters of time in milliseconds, 16 random ones. An id sorts after `after` even if the clock was set
 * back, so that whoever receives two ids can refuse the older one.
 */
export function createIds(clock: Pick<Clock, "now">): Ids {
  return {
    next(after) {
      const floor = after === undefined ? 0 : timeOf(after) + 1;
      return encode(Math.max(clock.now(), floor), timeLength) + randomPart();
    },
  };
}

function encode(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32))
    text = (alphabet[rest % 32] ?? "") + text;
  return text;
}

/** The time of a ULID; 0 for any other id, since an adopted exchange keeps the one that another machine gave it. */
function timeOf(id: string): number {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id)) return 0;
  let value = 0;
  for (const character of id.slice(0, timeLength)) value = value * 32 + alphabet.indexOf(character);
  return value;
}

/** An id that sorts before all of that time, in milliseconds since the epoch, and after all of before it. */
export const firstIdAt = (time: number): string => encode(time, timeLength);

function randomPart(): string {
  let text = "";
  for (const byte of randomBytes(16)) text += alphabet[byte % 32];
  return text;
}
