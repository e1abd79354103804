import type { Bytes } from "../read/bytes.ts";
import type { Form, Written } from "./time-forms.ts";
import { writtenTime } from "./time-forms.ts";
import type { Zone } from "./zones.ts";
import { zoneOf } from "./zones.ts";

/** Reads a time in any form, with UTC where it names no zone. Returns milliseconds since the epoch, without finer fractions, or null. */
export function parseTime(text: string, zone = "UTC"): number | null {
  const written = writtenTime(text.trim());
  const given = written === null ? undefined : zoneOf(written.zone ?? zone);
  return written === null || written.form === "serial" ? null : (given?.at(written.shown) ?? null);
}

/** Reads a date or a time that a person names; null also where day and month of it can be mistaken. */
export function parseMoment(text: string, zone = "UTC"): number | null {
  const isDate = /^\d{4}-\d\d-\d\d$|^\d\d?\.\d\d?\.\d{4}$/.test(text);
  const whole = isDate ? `${text} 00:00` : text;
  const style = timeStyleOf([whole], false);
  return style.unclear === undefined ? new TimeReader(style, zoneOf(zone)).parse(whole) : null;
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
  const found = texts.map((text) => ({ text, written: writtenTime(text, isDayFirst) }));
  const isSerial = isNamed && found.every(({ written }) => written?.form === "serial");
  const times = found.filter(
    (one): one is { text: string; written: Written } =>
      one.written !== null &&
      zoneOf(one.written.zone ?? "Z") !== undefined &&
      (one.written.form !== "serial" || isSerial),
  );
  const zones = times.map(({ written }) => written.zone ?? "Z");
  return {
    forms: new Set(times.map(({ written }) => written.form)),
    isDayFirst,
    unclear: isSure ? undefined : times.find(({ written }) => written.form === "numbers")?.text,
    zoneless: times.find(({ written }) => written.zone === undefined)?.text,
    zones: new Set(zones.filter((name) => /^(?!(?:UTC|GMT|UT)$)[A-Z]{2,4}$/i.test(name))),
    share: times.length / Math.max(1, values.length),
  };
}

/** Whether the day comes before the month in dates like 3/11/2026, and whether that is sure. */
function orderOf(texts: readonly string[], now: number): { isDayFirst: boolean; isSure: boolean } {
  const dates = texts.flatMap((text) => [/^(\d\d?)([-/.])(\d\d?)\2\d/.exec(text) ?? []].flat());
  const marks = dates.filter((_, index) => index % 4 === 2);
  const [firsts, seconds] = [1, 3].map(
    (place) => new Set(dates.filter((_, index) => index % 4 === place).map(Number)),
  ) as [Set<number>, Set<number>];
  if (marks.every((mark) => mark === ".") || Math.max(...firsts) > 12)
    return { isDayFirst: true, isSure: true };
  if (Math.max(...seconds) > 12) return { isDayFirst: false, isSure: true };
  const read = (isDayFirst: boolean): number[] =>
    texts.flatMap((text) => writtenTime(text, isDayFirst)?.shown ?? []);
  const [days, months] = [turnsIn(read(true)), turnsIn(read(false))];
  const isSure = Math.min(days, months) * 2 < Math.max(days, months);
  if (days !== months) return { isDayFirst: days < months, isSure };
  // Of a few days, the month is the same. Halves of a day are English, a colon is Splunk's. And most logs are new.
  if ((firsts.size === 1) !== (seconds.size === 1))
    return { isDayFirst: seconds.size === 1, isSure };
  const isEnglish = texts.some((text) => /\d\s?[ap]\.?\s?m\b|^[\d/]+:/i.test(text));
  const age = (isDayFirst: boolean): number => {
    const newest = Math.max(...read(isDayFirst));
    return newest > now ? Number.POSITIVE_INFINITY : now - newest;
  };
  return { isDayFirst: !isEnglish && age(true) <= age(false), isSure };
}

/** Number of times that a list changes between going up and going down. */
function turnsIn(times: readonly number[]): number {
  const moves = times
    .slice(1)
    .map((time, index) => Math.sign(time - (times[index] ?? time)))
    .filter((move) => move !== 0);
  return moves.filter((move, index) => index > 0 && move !== moves[index - 1]).length;
}

const usual: Pick<TimeStyle, "forms" | "isDayFirst"> = {
  forms: new Set<Form>(["iso", "epoch"]),
  isDayFirst: true,
};

/** Length of `2026-11-20T14:02:11`. */
const secondsLength = 19;
const zero = 48;

/** Reads the times of a column, most quickly those of ISO 8601 with the same end as the last one. */
export class TimeReader {
  readonly #style: Pick<TimeStyle, "forms" | "isDayFirst">;
  readonly #zone: Zone;
  readonly #isTwice: (text: string) => void;
  /** What came after the seconds and their fraction, and the zone that it means. */
  #end = "";
  #endZone: Zone | undefined;
  /** A day as a number like 20261120, and its beginning as if in UTC. */
  #day = -1;
  #begin = Number.NaN;

  /** `isTwice` is called once, with the first time that clocks of the zone show twice. */
  constructor(style = usual, zone = zoneOf("UTC") as Zone, isTwice?: (text: string) => void) {
    this.#style = style;
    this.#zone = zone;
    let wasCalled = isTwice === undefined;
    this.#isTwice = (text) => {
      if (!wasCalled) isTwice?.(text);
      wasCalled = true;
    };
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
      const day = dayAt(bytes, from);
      if (day !== this.#day) {
        this.#day = day;
        this.#begin = beginOf(day);
      }
      const milliseconds = timeOfDay(bytes, from + 10);
      let at = from + secondsLength;
      let fraction = 0;
      if (milliseconds >= 0 && at < to && bytes[at] === 0x2e) {
        let scale = 100;
        for (at += 1; at < to && isDigit(bytes, at); at += 1, scale /= 10)
          if (scale >= 1) fraction += ((bytes[at] as number) - zero) * scale;
        if (scale === 100) at = -1;
      }
      if (milliseconds >= 0 && !Number.isNaN(this.#begin) && this.#endsAt(bytes, at, to)) {
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

  #endsAt(bytes: Buffer, from: number, to: number): boolean {
    const end = this.#end;
    if (to - from !== end.length) return false;
    for (let index = 0; index < end.length; index++)
      if (bytes[from + index] !== end.charCodeAt(index)) return false;
    return true;
  }
}

/** Returns a number like 20261120 of a day like 2026-11-20; 0 for another text. */
function dayAt(bytes: Buffer, at: number): number {
  const century = twoDigits(bytes, at);
  const year = twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  const isUsual = bytes[at + 4] === 0x2d && bytes[at + 7] === 0x2d && century < 100 && year < 100;
  return isUsual && month < 13 && day < 32 ? ((century * 100 + year) * 100 + month) * 100 + day : 0;
}

function beginOf(day: number): number {
  const month = Math.floor(day / 100) % 100;
  const begin = new Date(0).setUTCFullYear(Math.floor(day / 10_000), month - 1, day % 100);
  return month > 0 && new Date(begin).getUTCDate() === day % 100 ? begin : Number.NaN;
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
