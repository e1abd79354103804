import type { Bytes } from "../read/bytes.ts";
import type { Zone } from "./zones.ts";
import { utc, zoneOf } from "./zones.ts";

/** A way to write times. A column has one of them, or a few. */
type Form = "iso" | "epoch" | "numbers" | "month" | "array" | "serial";

/** A time as a text has it. */
interface Written {
  form: Form;
  /** Milliseconds since the epoch, if the date and time of day were in UTC. */
  shown: number;
  /** Zone or offset from UTC. */
  zone: string | undefined;
}

const sep = String.raw`(?:[T_:]|,?\s(?:(?:@|at|um|à|a las|klo)\s)?|\s-\s)`;
const clock = String.raw`(?<hour>\d\d?)[:.](?<minute>\d\d)(?:[:.](?<second>\d\d)(?:[.,:](?<fraction>\d{1,30}))?)?(?:\s?(?<half>[ap])\.?\s?m\b\.?)?(?:\sUhr)?`;
const zone = String.raw`(?:\s?(?<zone>[+-]\d\d(?::?\d\d)?|(?:UTC|GMT)[+-]\d\d?(?::?\d\d)?|[A-Z]{1,4}|[A-Z][A-Z_]+\/[A-Z_/]+))?`;
// Go repeats the zone, and adds a reading of a monotonic clock; JavaScript explains it; Java names its place.
const after = String.raw`(?:\s(?:[A-Z]{3,4}|[+-]\d{2,4}))?(?:\sm=[+-][\d.]+)?(?:\s\([^()]*\))?(?:\[(?<place>[\w/+-]+)\])?`;
const day = String.raw`(?<day>\d\d?)`;
const named = String.raw`(?<named>\p{L}{3,10})\.?`;
const weekday = String.raw`(?:\p{L}{2,10}\.?,?\s)?`;
const end = `${sep}${clock}${zone}${after}`;

const forms = (
  [
    ["epoch", String.raw`(?<seconds>\d{10})(?:[.,](?<fraction>\d+))?`],
    ["epoch", String.raw`(?<millis>\d{13})(?:\.\d+|\d{3}|\d{6})?`],
    ["epoch", String.raw`\/Date\((?<millis>\d{13})(?:[+-]\d{4})?\)\/`],
    ["iso", String.raw`(?<year>\d{4})(?<mark>[-/.])(?<month>\d\d?)\k<mark>${day}${end}`],
    [
      "iso",
      String.raw`(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)[T_\s-]?(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)(?:[.,](?<fraction>\d{1,30}))?${zone}`,
    ],
    ["numbers", String.raw`${day}(?<mark>[-/.])(?<month>\d\d?)\k<mark>(?<year>\d{4}|\d\d)${end}`],
    [
      "month",
      String.raw`\[?${weekday}${day}(?:\.|st|nd|rd|th|er)?[-/\s](?:de\s)?${named}[-/,\s]\s?(?:del?\s)?(?<year>\d{4}|\d\d)${end}\]?`,
    ],
    ["month", String.raw`${weekday}${named}\s{1,2}${day}(?:st|nd|rd|th)?,?\s(?<year>\d{4})${end}`],
    ["month", String.raw`${weekday}${named}\s{1,2}${day}\s${clock}${zone}\s(?<year>\d{4})`],
    [
      "array",
      String.raw`\[(?<year>\d{4}),(?<month>\d\d?),${day},(?<hour>\d\d?),(?<minute>\d\d?)(?:,(?<second>\d\d?)(?:,(?<nanos>\d{1,9}))?)?\]`,
    ],
    // Days since 1899 of a spreadsheet, from 2000 to 2099.
    [
      "serial",
      String.raw`(?<days>(?:3(?:6[5-9]|[7-9]\d)|[4-6]\d\d|7[0-2]\d|730[0-4])\d\d[.,]\d{1,15})`,
    ],
  ] as const
).map(([form, text]) => [form, new RegExp(`^${text}$`, "iu")] as const);

const longest = 100;

/** Reads a time in any known form; null if it has none. `isDayFirst`: of two numbers in a date, the first one is the day. */
function writtenTime(text: string, isDayFirst: boolean): Written | null {
  if (text.length > longest || !/\d.*\d/.test(text)) return null;
  for (const [form, pattern] of forms) {
    const found = pattern.exec(text)?.groups;
    if (found === undefined) continue;
    const shown = shownBy(found, isDayFirst || form !== "numbers");
    const { zone = found["place"] ?? (form === "epoch" ? "Z" : undefined) } = found;
    return Number.isNaN(shown) ? null : { form, shown, zone };
  }
  return null;
}

/** Returns the time of the groups that matched, as if in UTC; NaN for a day or a time of day that no calendar or clock has. */
function shownBy(found: Record<string, string | undefined>, isDayFirst: boolean): number {
  const number = (name: string): number => Number((found[name] ?? "0").replace(",", "."));
  const { millis, seconds, days, year: years = "", nanos = "", half, named } = found;
  if (millis !== undefined) return Number(millis);
  if (days !== undefined) return Math.round((number("days") - 25_569) * 86_400_000);
  const { fraction = nanos.padStart(nanos.length > 3 ? 9 : 3, "0") } = found;
  const milliseconds = Number(fraction.padEnd(3, "0").slice(0, 3));
  if (seconds !== undefined) return Number(seconds) * 1000 + milliseconds;
  const day = number(isDayFirst ? "day" : "month");
  const month = named === undefined ? number(isDayFirst ? "month" : "day") : monthOf(named);
  const year = number("year") + (years.length === 2 ? 2000 : 0);
  // 26/11/03 and 26-11-20 begin with the year.
  const isYearFirst = years.length === 2 && (year < 2010 || found["mark"] === "-");
  const date = new Date(0).setUTCFullYear(year, month - 1, day);
  const [hour, minute, second] = [number("hour"), number("minute"), number("second")];
  const isDay = !isYearFirst && month > 0 && month < 13 && new Date(date).getUTCDate() === day;
  const isHour = half === undefined ? hour < 24 : hour > 0 && hour < 13;
  if (!isDay || !isHour || minute > 59 || second > 59) return Number.NaN;
  const hours = half === undefined ? hour : (hour % 12) + (/p/i.test(half) ? 12 : 0);
  return date + ((hours * 60 + minute) * 60 + second) * 1000 + milliseconds;
}

/** Beginnings of the names of months in English, German, French, Spanish, Italian, Dutch and Portuguese, without accents. */
const months =
  "jan ene gen|feb fev|mar mrz mae maa|apr avr abr|may mai mag mei|jun juin giu|jul juil lug|aug aou ago|sep set|oct okt ott out|nov|dec dez dic dis"
    .split("|")
    .map((starts) => new RegExp(`^(?:${starts.replaceAll(" ", "|")})`));

function monthOf(name: string): number {
  const text = name.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return months.findIndex((starts) => starts.test(text)) + 1;
}

/** How the times of a column are written, by a sample of them. */
export interface TimeStyle {
  forms: ReadonlySet<Form>;
  /** Of two numbers in a date, the first one is the day. */
  isDayFirst: boolean;
  /** A date in which that could not be told. */
  unclear: string | undefined;
  /** A time without a zone. */
  zoneless: string | undefined;
  /** Abbreviations of zones, other than UTC. */
  zones: ReadonlySet<string>;
  /** Share of the values that are times. */
  share: number;
}

/**
 * Studies a sample of times. The numbers of a spreadsheet are times only if `isNamed`, and if all of them are. Of two dates that a text
 * may mean, the later one is taken that is before `now`, if nothing tells.
 */
export function timeStyleOf(values: readonly string[], isNamed: boolean, now = 0): TimeStyle {
  const texts = values.map((value) => value.trim());
  const { isDayFirst, isSure } = orderOf(texts, now);
  const found = texts.flatMap((text) => {
    const written = writtenTime(text, isDayFirst);
    return written !== null && zoneOf(written.zone ?? "Z") ? [{ text, ...written }] : [];
  });
  const isSerial =
    isNamed && found.length === texts.length && found.every(({ form }) => form === "serial");
  const times = found.filter(({ form }) => form !== "serial" || isSerial);
  const zones = times.map(({ zone = "Z" }) => zone);
  return {
    forms: new Set(times.map(({ form }) => form)),
    isDayFirst,
    unclear: isSure ? undefined : times.find(({ form }) => form === "numbers")?.text,
    zoneless: times.find(({ zone }) => zone === undefined)?.text,
    zones: new Set(zones.filter((name) => /^(?!(?:UTC|GMT|UT)$)[A-Z]{2,4}$/i.test(name))),
    share: times.length / Math.max(1, texts.length),
  };
}

/** Whether the day comes before the month in dates like 3/11/2026, and whether that is sure. */
function orderOf(texts: readonly string[], now: number): { isDayFirst: boolean; isSure: boolean } {
  const dates = texts.flatMap((text) => {
    const [, first, mark, second] = /^(\d\d?)([-/.])(\d\d?)\2\d/.exec(text) ?? [];
    return mark === undefined ? [] : [{ first: Number(first), mark, second: Number(second) }];
  });
  if (dates.every(({ mark }) => mark === ".") || dates.some(({ first }) => first > 12))
    return { isDayFirst: true, isSure: true };
  if (dates.some(({ second }) => second > 12)) return { isDayFirst: false, isSure: true };
  const reading = (isDayFirst: boolean) => {
    const times = texts.flatMap((text) => writtenTime(text, isDayFirst)?.shown ?? []);
    const newest = Math.max(...times);
    const age = newest > now ? Number.POSITIVE_INFINITY : now - newest;
    return { span: newest - Math.min(...times), age };
  };
  const [days, months] = [reading(true), reading(false)];
  // A log is short, and most are new. Halves of a day are English, a colon is Splunk's.
  const isEnglish = texts.some((text) => /\d\s?[ap]\.?\s?m\b|^[\d/]+:/i.test(text));
  const isDayFirst =
    days.span === months.span ? !isEnglish && days.age <= months.age : days.span < months.span;
  return { isDayFirst, isSure: false };
}

/** Length of `2026-11-20T14:02:11`. */
const secondsLength = 19;
const zero = 48;

/** Reads the times of a column, most quickly those of ISO 8601 with the same end as the last one. */
export class TimeReader {
  readonly #style: Pick<TimeStyle, "forms" | "isDayFirst">;
  readonly #zone: Zone;
  #onTwice: ((text: string) => void) | undefined;
  /** The day of the last time, and its beginning as if in UTC. */
  #day = "-";
  #begin = Number.NaN;
  /** What came after the seconds and their fraction, and the zone that it means. */
  #end = "";
  #endZone: Zone | undefined;

  /** Without a style, it reads all forms but the numbers of a spreadsheet. `onTwice` gets the first time that clocks show twice. */
  constructor(style = anyStyle, zone = utc, onTwice?: (text: string) => void) {
    this.#style = style;
    this.#zone = zone;
    this.#onTwice = onTwice;
  }

  /** Returns milliseconds since the epoch, or null for a text that is not a time as this column has them. */
  parse(text: string): number | null {
    const written = writtenTime(text.trim(), this.#style.isDayFirst);
    if (written === null || !this.#style.forms.has(written.form)) return null;
    const zone = written.zone === undefined ? this.#zone : zoneOf(written.zone);
    return zone?.at(written.shown, () => this.#isTwice(text)) ?? null;
  }

  /** Sets the time of an entry; NaN if the text is not a time. A number returned would be an object of its own. */
  read({ bytes }: Bytes, from: number, to: number, entry: { time: number }): void {
    const zone = this.#endZone;
    if (zone !== undefined && to - from >= secondsLength) {
      if (!isAt(bytes, from, this.#day)) {
        this.#day = bytes.toString("latin1", from, from + 10);
        this.#begin = beginOf(this.#day);
      }
      const milliseconds = timeOfDay(bytes, from + 10);
      let at = from + secondsLength;
      let fraction = 0;
      if (at < to && bytes[at] === 0x2e) {
        let scale = 100;
        for (at += 1; at < to && isDigit(bytes, at); at += 1, scale /= 10)
          if (scale >= 1) fraction += ((bytes[at] as number) - zero) * scale;
        if (scale === 100) at = -1;
      }
      const isUsual = milliseconds >= 0 && !Number.isNaN(this.#begin);
      if (isUsual && to - at === this.#end.length && isAt(bytes, at, this.#end)) {
        entry.time = this.#begin + milliseconds + fraction - (zone.fixed ?? 0);
        if (zone.fixed === undefined)
          entry.time = zone.at(entry.time, () => this.#isTwice(bytes.toString("utf8", from, to)));
        return;
      }
    }
    const text = bytes.toString("utf8", from, to);
    entry.time = this.parse(text) ?? Number.NaN;
    const end = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(.*)$/.exec(text)?.[1];
    if (end === undefined || Number.isNaN(entry.time)) return;
    this.#end = end;
    this.#endZone = end === "" ? this.#zone : zoneOf(end.trim());
  }

  #isTwice(text: string): void {
    this.#onTwice?.(text);
    this.#onTwice = undefined;
  }
}

const isAt = (bytes: Buffer, from: number, text: string): boolean => {
  for (let index = 0; index < text.length; index++)
    if (bytes[from + index] !== text.charCodeAt(index)) return false;
  return true;
};

function beginOf(day: string): number {
  const begin = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
  return new Date(begin).getUTCDate() === Number(day.slice(8)) ? begin : Number.NaN;
}

const isDigit = (bytes: Buffer, at: number): boolean =>
  (bytes[at] as number) >= zero && (bytes[at] as number) <= zero + 9;

/** Returns the milliseconds of `T14:02:11`; -1 for a text of another form. */
function timeOfDay(bytes: Buffer, at: number): number {
  const hour = twoDigits(bytes, at + 1);
  const minute = twoDigits(bytes, at + 4);
  const second = twoDigits(bytes, at + 7);
  const isUsual =
    (bytes[at] === 0x54 || bytes[at] === 0x20) && bytes[at + 3] === 0x3a && bytes[at + 6] === 0x3a;
  return isUsual && hour < 24 && minute < 60 && second < 60
    ? ((hour * 60 + minute) * 60 + second) * 1000
    : -1;
}

/** Returns the value of two digits; 100 for other bytes. */
function twoDigits(bytes: Buffer, at: number): number {
  const high = (bytes[at] as number) - zero;
  const low = (bytes[at + 1] as number) - zero;
  return high < 0 || high > 9 || low < 0 || low > 9 ? 100 : high * 10 + low;
}

const anyStyle: Pick<TimeStyle, "forms" | "isDayFirst"> = {
  forms: new Set(forms.map(([form]) => form).filter((form) => form !== "serial")),
  isDayFirst: true,
};
const anyTimes = new TimeReader();

/** Reads a time in any form, with UTC where it names no zone. Returns milliseconds since the epoch, without finer fractions, or null. */
export const parseTime = (text: string): number | null => anyTimes.parse(text);

/** Reads a date or a time that a person names; null also where day and month of it can be mistaken. */
export function parseMoment(text: string, zone = "UTC"): number | null {
  const isDate = /^\d{4}-\d\d-\d\d$|^\d\d?\.\d\d?\.\d{4}$/.test(text);
  const whole = isDate ? `${text} 00:00` : text;
  const style = timeStyleOf([whole], false);
  return style.unclear === undefined ? new TimeReader(style, zoneOf(zone)).parse(whole) : null;
}
