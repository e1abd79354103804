import type { Bytes } from "../read/bytes.ts";
import { isAt, viewOf } from "../read/bytes.ts";
import type { Zone } from "./zones.ts";
import { utc, zoneOf } from "./zones.ts";

const { raw } = String;
const sep = raw`(?:[T_:]|,?\s(?:(?:@|at|um|à|a las|klo)\s)?|\s-\s)`;
const clock = raw`(?<hour>\d\d?)[:.](?<minute>\d\d)(?:[:.](?<second>\d\d)(?:[.,:](?<fraction>\d{1,30}))?)?(?:\s?(?<half>[ap])\.?\s?m\b\.?)?(?:\sUhr)?`;
const zone = raw`(?:\s?(?<zone>[+-]\d\d(?::?\d\d)?|(?:UTC|GMT)[+-]\d\d?(?::?\d\d)?|[A-Z]{1,4}|[A-Z][A-Z_]+\/[A-Z_/]+))?`;
// Go repeats the zone, and adds a reading of a monotonic clock; JavaScript explains it; Java names its place.
const after = raw`(?:\s(?:[A-Z]{3,4}|[+-]\d{2,4}))?(?:\sm=[+-][\d.]+)?(?:\s\([^()]*\))?(?:\[(?<place>[\w/+-]+)\])?`;
const day = raw`(?<day>\d\d?)`;
const named = raw`(?<named>\p{L}{3,10})\.?`;
const weekday = raw`(?:\p{L}{2,10}\.?,?\s)?`;
const end = `${sep}${clock}${zone}${after}`;

/** Ways to write times. A column has one of them, or a few. */
const patterns = {
  epoch: [
    raw`(?<seconds>\d{10})(?:[.,](?<fraction>\d+))?`,
    raw`(?<millis>\d{13})(?:\.\d+|\d{3}|\d{6})?`,
    raw`\/Date\((?<millis>\d{13})(?:[+-]\d{4})?\)\/`,
  ],
  iso: [
    raw`(?<year>\d{4})(?<mark>[-/.])(?<month>\d\d?)\k<mark>${day}${end}`,
    raw`(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)[T_\s-]?(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)(?:[.,](?<fraction>\d{1,30}))?${zone}`,
  ],
  numbers: [raw`${day}(?<mark>[-/.])(?<month>\d\d?)\k<mark>(?<year>\d{4}|\d\d)${end}`],
  month: [
    raw`\[?${weekday}${day}(?:\.|st|nd|rd|th|er)?[-/\s](?:de\s)?${named}[-/,\s]\s?(?:del?\s)?(?<year>\d{4}|\d\d)${end}\]?`,
    raw`${weekday}${named}\s{1,2}${day}(?:st|nd|rd|th)?,?\s(?<year>\d{4})${end}`,
    raw`${weekday}${named}\s{1,2}${day}\s${clock}${zone}\s(?<year>\d{4})`,
  ],
  array: [
    raw`\[(?<year>\d{4}),(?<month>\d\d?),${day},(?<hour>\d\d?),(?<minute>\d\d?)(?:,(?<second>\d\d?)(?:,(?<nanos>\d{1,9}))?)?\]`,
  ],
  /** Days since 1899 of a spreadsheet, from 2000 to 2099. */
  serial: [raw`(?<days>(?:3(?:6[5-9]|[7-9]\d)|[4-6]\d\d|7[0-2]\d|730[0-4])\d\d[.,]\d{1,15})`],
};
type Form = keyof typeof patterns;

const forms = (Object.entries(patterns) as [Form, string[]][]).flatMap(([form, texts]) =>
  texts.map((text) => [form, new RegExp(`^${text}$`, "iu")] as const),
);

/** Maximum characters of a time. */
const longest = 100;

/**
 * Reads a time in any known form; null if it has none. `shown` are milliseconds since the epoch, if the date and time of day were in UTC.
 * `isDayFirst`: of two numbers in a date, the first one is the day.
 */
function writtenTime(text: string, isDayFirst: boolean) {
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
  /** A time with an abbreviation of a zone other than UTC. */
  abbreviated: string | undefined;
  /** Share of the values that are times. */
  share: number;
}

/**
 * Studies a sample of times. The numbers of a spreadsheet are times only if `isNamed`. Of two dates that a text
 * may mean, the later one is taken that is before `now`, if nothing tells.
 */
export function timeStyleOf(values: readonly string[], isNamed: boolean, now = 0): TimeStyle {
  const texts = values.map((value) => value.trim());
  const { isDayFirst, isSure } = orderOf(texts, now);
  const found = texts.flatMap((text) => {
    const written = writtenTime(text, isDayFirst);
    return written !== null && zoneOf(written.zone ?? "Z") ? [{ text, ...written }] : [];
  });
  const times = found.filter(({ form }) => form !== "serial" || isNamed);
  const isAbbreviation = /^(?!(?:UTC|GMT|UT)$)[A-Z]{2,4}$/i;
  return {
    forms: new Set(times.map(({ form }) => form)),
    isDayFirst,
    unclear: isSure ? undefined : times.find(({ form }) => form === "numbers")?.text,
    zoneless: times.find(({ zone }) => zone === undefined)?.text,
    abbreviated: times.find(({ zone = "Z" }) => isAbbreviation.test(zone))?.text,
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

/** Reads the times of a column, most quickly those of ISO 8601 in the hour of the last one and with its end. */
export class TimeReader {
  readonly #style: Pick<TimeStyle, "forms" | "isDayFirst">;
  readonly #zone: Zone;
  #onTwice: ((text: string) => void) | undefined;
  /** A text up to its hour, like `2026-11-20T14:`, when this hour began, and what comes after the seconds and their fraction. */
  #hour = viewOf(Buffer.from("none"));
  #begin = 0;
  #end = viewOf(Buffer.alloc(0));

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
    const momentOf = written.zone === undefined ? this.#zone : zoneOf(written.zone);
    const said = (): void => {
      this.#onTwice?.(text);
      this.#onTwice = undefined;
    };
    return momentOf?.(written.shown, said) ?? null;
  }

  /** Sets the time of an entry; NaN if the text is not a time. A number returned would be an object of its own. */
  read(given: Bytes, from: number, to: number, entry: { time: number }): void {
    const { bytes } = given;
    let at = from + this.#hour.bytes.length + 5;
    if (at <= to && isAt(this.#hour, given, from)) {
      const minute = twoDigits(bytes, at - 5);
      const second = bytes[at - 3] === 0x3a ? twoDigits(bytes, at - 2) : 100;
      let fraction = 0;
      if (bytes[at] === 0x2e && isDigit(bytes, at + 1)) {
        let scale = 100;
        for (at += 1; isDigit(bytes, at); at += 1, scale /= 10)
          if (scale >= 1) fraction += ((bytes[at] as number) - zero) * scale;
      }
      const isEnd = to - at === this.#end.bytes.length && isAt(this.#end, given, at);
      if (isEnd && minute < 60 && second < 60) {
        entry.time = this.#begin + (minute * 60 + second) * 1000 + fraction;
        return;
      }
    }
    const text = bytes.toString("utf8", from, to);
    entry.time = this.parse(text) ?? Number.NaN;
    const [, hour, minute, second, end = ""] =
      /^(\d{4}-\d\d-\d\d[T ]\d\d:)(\d\d):(\d\d)(?:\.\d+)?(?![.,:])(.*)$/.exec(text) ?? [];
    if (hour === undefined || Number.isNaN(entry.time)) return;
    this.#hour = viewOf(Buffer.from(hour));
    this.#begin = (Math.floor(entry.time / 1000) - Number(minute) * 60 - Number(second)) * 1000;
    this.#end = viewOf(Buffer.from(end));
  }
}

const zero = 48;

const isDigit = (bytes: Buffer, at: number): boolean =>
  (bytes[at] as number) >= zero && (bytes[at] as number) <= zero + 9;

/** Returns the value of two digits; 100 for other bytes. */
const twoDigits = (bytes: Buffer, at: number): number =>
  isDigit(bytes, at) && isDigit(bytes, at + 1)
    ? ((bytes[at] as number) - zero) * 10 + (bytes[at + 1] as number) - zero
    : 100;

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
