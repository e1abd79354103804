import { count } from "./count.ts";

/** Units of a distance, each used from `from` units on. Distances are rounded down, so that no deadline looks later than it is. */
const units = [
  { name: "year", seconds: 365 * 86_400, from: 2 },
  { name: "month", seconds: 30 * 86_400, from: 2 },
  { name: "day", seconds: 86_400, from: 2 },
  { name: "hour", seconds: 3600, from: 2 },
  { name: "minute", seconds: 60, from: 1 },
  { name: "second", seconds: 1, from: 1 },
] as const;

/** Formats a duration: `3 days`, `40 seconds`. */
export function durationInWords(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const unit = units.find((unit) => seconds >= unit.seconds * unit.from) ?? units[5];
  return count(Math.floor(seconds / unit.seconds), unit.name);
}

/** Formats a distance in time: `in 3 days`, `2 hours ago`, or `just now` within ten seconds; for a program (null) the time as ISO 8601. */
export function relativeTime(at: number, now: number | null): string {
  if (now === null) return new Date(at).toISOString();
  if (at <= now) return at > now - 10_000 ? "just now" : `${durationInWords(now - at)} ago`;
  return at < now + 1000 ? "now" : `in ${durationInWords(at - now)}`;
}

const two = (number: number): string => String(number).padStart(2, "0");

/** Formats a time as `2026-11-24 14:02`, in the machine's time zone; without Intl, which takes as long to load as Node. */
function localMinutes(time: Date): string {
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(two);
  return `${day.join("-")} ${[time.getHours(), time.getMinutes()].map(two).join(":")}`;
}

/** Formats milliseconds since the epoch as `2026-11-24 14:02 GMT+1`, in the machine's time zone. */
export function localTime(at: number): string {
  const time = new Date(at);
  const ahead = -time.getTimezoneOffset();
  const hours = Math.trunc(Math.abs(ahead) / 60);
  const minutes = Math.abs(ahead) % 60;
  const zone =
    ahead === 0
      ? "UTC"
      : `GMT${ahead < 0 ? "-" : "+"}${hours}${minutes === 0 ? "" : `:${two(minutes)}`}`;
  return `${localMinutes(time)} ${zone}`;
}

/**
 * Formats when something began that goes on: `since 10:02`, or on another day `since 2026-11-24 14:02 GMT+1`; with the time as it is for
 * a program (null).
 */
export function since(at: string, now: number | null): string {
  if (now === null) return `since ${at}`;
  const [day, clock] = localMinutes(new Date(at)).split(" ");
  const isToday = localMinutes(new Date(now)).startsWith(`${day} `);
  return `since ${isToday ? clock : localTime(Date.parse(at))}`;
}

/**
 * Formats milliseconds since the epoch or an ISO 8601 text as `2026-11-24 14:02 GMT+1 (in 3 days)`, and for a program (null) as ISO 8601.
 * Returns a text that is not a date as it is: it comes from the service.
 */
export function when(at: number | string, now: number | null): string {
  if (now === null) return typeof at === "string" ? at : new Date(at).toISOString();
  const time = typeof at === "string" ? Date.parse(at) : at;
  if (Number.isNaN(new Date(time).getTime())) return String(at);
  return `${localTime(time)} (${relativeTime(time, now)})`;
}
