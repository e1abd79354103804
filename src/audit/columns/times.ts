import { attempt } from "../../attempt.ts";
import { isAt, viewOf, type Bytes } from "../read/bytes.ts";

const { raw } = String;
const sep = raw`(?:[T_:]|,?\s(?:(?:@|at|um|à|a las|klo)\s)?|\s-\s)`;
const clock = raw`(?<hour>\d\d?)[:.](?<minute>\d\d)(?:[:.](?<second>\d\d)(?:[.,:](?<fraction>\d{1,30}))?)?(?:\s?(?<half>[ap])\.?\s?m\b\.?)?(?:\sUhr)?`;
const zone = raw`(?:\s?(?:\((?=[+-]\d|UTC|GMT|[A-Z_]+\/))?(?<zone>[+-]\d\d(?::?\d\d)?|(?:UTC|GMT)[+-]\d\d?(?::?\d\d)?|[A-Z]{1,4}|[A-Z][A-Z_]+\/[A-Z_/]+)\)?)?`;
// Go repeats the zone and adds a monotonic clock; JavaScript explains it; Java names its place.
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
  /** Of Java and Python. */
  array: [
    raw`\[(?<year>\d{4}),(?<month>\d\d?),${day},(?<hour>\d\d?),(?<minute>\d\d?)(?:,(?<second>\d\d?)(?:,(?<nanos>\d{1,9}))?)?\]`,
    raw`(?:datetime\.)?datetime\((?<year>\d{4}), (?<month>\d\d?), ${day}, (?<hour>\d\d?), (?<minute>\d\d?)(?:, (?<second>\d\d?)(?:, (?<micros>\d{1,6}))?)?(?:, tzinfo=[\w.<]*(?<zone>utc)(?:\(\)|>)?)?\)`,
  ],
  /** Days since 1899 of a spreadsheet, from 2000 to 2099. */
  serial: [raw`(?<days>(?:3(?:6[5-9]|[7-9]\d)|[4-6]\d\d|7[0-2]\d|730[0-4])\d\d[.,]\d{1,15})`],
};
type Form = keyof typeof patterns;

const forms = (Object.entries(patterns) as [Form, string[]][]).flatMap(([form, texts]) =>
  texts.map((text) => [form, new RegExp(`^${text}$`, "iu")] as const),
);

const longest = 100;

/**
 * Reads a time in any known form, else null. `shown`: milliseconds since the epoch, read as if in
 * UTC. `isDayFirst`: of two numbers in a date, the first one is the day.
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

/** Returns the time of matched groups, as if in UTC; NaN for an impossible date or time of day. */
function shownBy(found: Record<string, string | undefined>, isDayFirst: boolean): number {
  const number = (name: string): number => Number((found[name] ?? "0").replace(",", "."));
  const { millis, seconds, days, year: years = "", nanos = "", micros, half, named } = found;
  if (millis !== undefined) return Number(millis);
  if (days !== undefined) return Math.round((number("days") - 25_569) * 86_400_000);
  const { fraction = micros?.padStart(6, "0") ?? nanos.padStart(nanos.length > 3 ? 9 : 3, "0") } =
    found;
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

/** Beginnings of month names in en, de, fr, es, it, nl and pt, without accents. */
const months =
  "jan ene gen|feb fev|mar mrz mae maa|apr avr abr|may mai mag mei|jun juin giu|jul juil lug|aug aou ago|sep set|oct okt ott out|nov|dec dez dic dis"
    .split("|")
    .map((starts) => new RegExp(`^(?:${starts.replaceAll(" ", "|")})`));

function monthOf(name: string): number {
  const text = name.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return months.findIndex((starts) => starts.test(text)) + 1;
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

const isAbbreviation = /^(?!(?:UTC|GMT|UT)$)[A-Z]{2,4}$/i;

interface Reading {
  /** Whether its name means a time: if not, the numbers of a spreadsheet are none. */
  isNamed?: boolean;
  /** Decides, if nothing else tells, which of two dates a text means: the later one before now. */
  now?: number | undefined;
  /** Zone of times without one, if it is known. */
  zone?: Zone | undefined;
  /** Gets an example of times that may be others, and why. */
  say?: (text: string, why: string) => void;
}

/**
 * Reads the times of a column, as written in a sample; most quickly those of ISO 8601 in the hour
 * of the last one and with its end.
 */
export class TimeReader {
  /** Share of the sample that are times. */
  readonly share: number;
  /** Whether of two numbers in a date the first one is the day, and whether that is sure. */
  readonly #isDayFirst: boolean;
  readonly isSure: boolean;
  /** A time was read that clocks show twice. */
  isTwice = false;
  /** Any, without a sample. */
  readonly #forms: ReadonlySet<Form> | undefined;
  readonly #zone: Zone;
  #say: Reading["say"];
  /** A text to its hour (`2026-11-20T14:`), when that began, and the text after the fraction. */
  #hour = viewOf(Buffer.from("none"));
  #begin = 0;
  #end = viewOf(Buffer.alloc(0));

  constructor(
    sample: readonly string[] = [],
    { isNamed = true, now = 0, zone, say }: Reading = {},
  ) {
    const texts = sample.map((text) => text.trim());
    const { isDayFirst, isSure } = orderOf(texts, now);
    const found = texts.flatMap((text) => {
      const written = writtenTime(text, isDayFirst);
      return written !== null && zoneOf(written.zone ?? "Z") ? [{ text, ...written }] : [];
    });
    const times = found.filter(({ form }) => form !== "serial" || isNamed);
    this.share = times.length / Math.max(1, texts.length);
    this.#isDayFirst = isDayFirst;
    this.isSure = isSure;
    this.#forms = texts.length > 0 ? new Set(times.map(({ form }) => form)) : undefined;
    this.#zone = zone ?? utc;
    this.#say = say;
    const zoneless = times.find((time) => time.zone === undefined)?.text;
    if (zoneless !== undefined && zone === undefined)
      say?.(zoneless, "have no time zone and are read as UTC; --zone names theirs");
    const unclear = times.find(({ form }) => form === "numbers")?.text;
    const order = isDayFirst ? "day before the month" : "month before the day";
    if (unclear !== undefined && !isSure)
      say?.(unclear, `are read with the ${order}; if that is wrong, ${timesHint}`);
  }

  /** Returns milliseconds since the epoch, or null for a text unlike the times of this column. */
  parse(text: string): number | null {
    const written = writtenTime(text.trim(), this.#isDayFirst);
    if (written === null || this.#forms?.has(written.form) === false) return null;
    const { shown, zone } = written;
    const momentOf = zone === undefined ? this.#zone : zoneOf(zone);
    const doubt = (why: string): void => {
      this.#say?.(text, `${why}; export UTC if others are meant`);
      this.#say = undefined;
    };
    if (momentOf !== undefined && isAbbreviation.test(zone ?? ""))
      doubt("are read by a zone that may mean others");
    const isTwice = (): void => {
      this.isTwice = true;
      doubt("come twice, when clocks go back");
    };
    const time = momentOf?.(shown, isTwice) ?? earliest;
    return time <= earliest ? null : time;
  }

  /** Sets an entry's time; NaN if the text is none. Returning a number would allocate an object. */
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

/** The service is younger; what has no time is written as one of 1970 or of the year 1. */
const earliest = Date.UTC(2000, 0);

const zero = 48;

const isDigit = (bytes: Buffer, at: number): boolean =>
  (bytes[at] as number) >= zero && (bytes[at] as number) <= zero + 9;

/** Returns the value of two digits; 100 for other bytes. */
const twoDigits = (bytes: Buffer, at: number): number =>
  isDigit(bytes, at) && isDigit(bytes, at + 1)
    ? ((bytes[at] as number) - zero) * 10 + (bytes[at + 1] as number) - zero
    : 100;

export const timesHint =
  "have it exported with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z";

/** Reads a time in any form, in UTC if unzoned: whole milliseconds since the epoch, or null. */
export function parseTime(text: string): number | null {
  const written = writtenTime(text.trim(), true);
  if (written === null || written.form === "serial") return null;
  return zoneOf(written.zone ?? "Z")?.(written.shown) ?? null;
}

/** Reads a date or a time that a person names; null also if day and month of it can be mistaken. */
export function parseMoment(text: string, zone = "UTC"): number | null {
  const isDate = /^\d{4}-\d\d-\d\d$|^\d\d?\.\d\d?\.\d{4}$/.test(text);
  const whole = isDate ? `${text} 00:00` : text;
  const reader = new TimeReader([whole], { isNamed: false, zone: zoneOf(zone) });
  return reader.isSure ? reader.parse(whole) : null;
}

/** Hours ahead of UTC of abbreviations for one zone. CST, IST, BST and others mean several. */
const abbreviations = new Map(
  "Z0 UTC0 UT0 GMT0 UCT0 WET0 WEST1 CET1 MEZ1 MET1 CEST2 MESZ2 EET2 EEST3 MSK3 JST9 EDT-4 EST-5 CDT-5 MDT-6 MST-7 PDT-7 PST-8"
    .split(" ")
    .map((entry) => [entry.replace(/-?\d/, ""), Number(entry.replace(/[A-Z]+/, "")) * 60] as const),
);

/**
 * A time zone: returns the moment at which its clocks show a time, given as if it were UTC. Of two,
 * as when clocks go back, the first one; `isTwice` is called then.
 */
type Zone = (shown: number, isTwice?: () => void) => number;

const utc: Zone = (shown) => shown;

const zones = new Map<string, Zone | undefined>();
const maxNamed = 1000;

/** Returns a zone by `Europe/Berlin`, `UTC+1` or abbreviation; undefined if unknown or unclear. */
export function zoneOf(text: string): Zone | undefined {
  const ahead = aheadOf(text);
  if (ahead !== undefined) return (shown) => shown - ahead * 60_000;
  if (!text.includes("/")) return undefined;
  // Each costs as much as reading a hundred times.
  if (!zones.has(text) && zones.size < maxNamed) zones.set(text, namedZone(text));
  return zones.get(text);
}

function aheadOf(text: string): number | undefined {
  const known = abbreviations.get(text.toUpperCase());
  if (known !== undefined) return known;
  const [, sign, hours, minutes = "0"] =
    /^(?:UTC|GMT)?([+-])(\d\d?)(?::?(\d\d))?$/i.exec(text) ?? [];
  if (sign === undefined || Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

function namedZone(timeZone: string): Zone | undefined {
  const options = { timeZone, timeZoneName: "longOffset" } as const;
  const format = attempt(() => new Intl.DateTimeFormat("en", options));
  if (format === undefined) return undefined;
  const known = new Map<number, number>();
  const ahead = (time: number): number => {
    // No zone changes but at a quarter of an hour.
    const quarter = Math.floor(time / (15 * 60_000));
    let offset = known.get(quarter);
    if (offset === undefined) {
      const shown = /GMT([+-]\d\d:\d\d)?/.exec(format.format(quarter * 15 * 60_000))?.[1];
      offset = (aheadOf(shown ?? "UTC") ?? 0) * 60_000;
      if (known.size < 100_000) known.set(quarter, offset);
    }
    return offset;
  };
  return (shown, isTwice) => {
    const early = shown - ahead(shown - 86_400_000);
    const late = shown - ahead(shown + 86_400_000);
    const isEarly = early + ahead(early) === shown;
    if (isEarly && early !== late && late + ahead(late) === shown) isTwice?.();
    // Skipped by clocks that go forward: as if they had not.
    return isEarly || late + ahead(late) !== shown ? early : late;
  };
}
