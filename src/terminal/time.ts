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

/** Formats a distance in time: `in 3 days`, `2 hours ago`, or `just now` within ten seconds. */
export function distance(at: number, now: number): string {
  const seconds = Math.floor(Math.abs(at - now) / 1000);
  const unit = units.find((unit) => seconds >= unit.seconds * unit.from);
  if (at <= now && seconds < 10) return "just now";
  if (unit === undefined) return "now";
  const words = count(Math.floor(seconds / unit.seconds), unit.name);
  return at > now ? `in ${words}` : `${words} ago`;
}

/** Cached formats by time zone: creating one takes as long as using it a hundred times. */
const formats = new Map<string | undefined, Intl.DateTimeFormat>();

function formatOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-CA-u-hc-h23", {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    timeZone,
  });
  formats.set(timeZone, format);
  return format;
}

/** Formats milliseconds since the epoch as `2026-11-24 14:02 GMT+1`, in a time zone (by default the machine's). */
export function localTime(at: number, timeZone?: string): string {
  const format = formatOf(timeZone);
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${parts["year"]}-${parts["month"]}-${parts["day"]} ${parts["hour"]}:${parts["minute"]} ${parts["timeZoneName"]}`;
}

/**
 * Formats milliseconds since the epoch or an ISO 8601 text as `2026-11-24 14:02 GMT+1 (in 3 days)`. Returns a text that is not a date as it
 * is: it comes from the service.
 */
export function when(at: number | string, now: number, timeZone?: string): string {
  const time = typeof at === "string" ? Date.parse(at) : at;
  if (Number.isNaN(new Date(time).getTime())) return String(at);
  return `${localTime(time, timeZone)} (${distance(time, now)})`;
}
