import { randomBytes } from "node:crypto";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeLength = 10;

/**
 * A new ULID: 10 characters of time in milliseconds, 16 random ones. It sorts after `after`, the newest exchange of the vault, even if
 * the clock was set back, so that whoever receives two ids can refuse the older one.
 */
export function newId(clock: { now(): number }, after?: string): string {
  const time = Math.max(clock.now(), after === undefined ? 0 : timeOf(after) + 1);
  // The clock of a database has fractions of a millisecond.
  return (
    firstIdAt(Math.floor(time)) +
    Array.from(randomBytes(16), (byte) => alphabet[byte % 32]).join("")
  );
}

/** The time of a ULID; 0 for any other id, since an adopted exchange keeps the one that another machine gave it. */
function timeOf(id: string): number {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id)) return 0;
  let value = 0;
  for (const character of id.slice(0, timeLength)) value = value * 32 + alphabet.indexOf(character);
  return value;
}

/** An id that sorts before all of that time, in milliseconds since the epoch, and after all of before it. */
export const firstIdAt = (time: number): string =>
  Array.from(time.toString(32), (digit) => alphabet[Number.parseInt(digit, 32)])
    .join("")
    .padStart(timeLength, "0");
