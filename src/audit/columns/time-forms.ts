/** A way to write times. A column has one of them, or a few. */
export type Form = "iso" | "epoch" | "numbers" | "month" | "array" | "serial";

/** A time as a text has it. */
export interface Written {
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
const weekday = String.raw`(?:\p{L}{2,10}\.?,?\s)?`;
const month = String.raw`(?<month>\p{L}{3,10})\.?`;

const forms: readonly [Form, RegExp][] = (
  [
    [
      "iso",
      String.raw`(?<year>\d{4})(?<mark>[-/.])(?<month>\d\d?)\k<mark>(?<day>\d\d?)${sep}${clock}${zone}${after}`,
    ],
    [
      "iso",
      String.raw`(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)[T_\s-]?(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)(?:[.,](?<fraction>\d{1,30}))?${zone}`,
    ],
    [
      "numbers",
      String.raw`(?<day>\d\d?)(?<mark>[-/.])(?<month>\d\d?)\k<mark>(?<year>\d{4}|\d\d)${sep}${clock}${zone}${after}`,
    ],
    [
      "month",
      String.raw`${weekday}(?<day>\d\d?)(?:\.|st|nd|rd|th|er)?[-/\s](?:de\s)?${month}[-/,\s]\s?(?:del?\s)?(?<year>\d{4}|\d\d)${sep}${clock}${zone}${after}`,
    ],
    [
      "month",
      String.raw`${weekday}${month}\s{1,2}(?<day>\d\d?)(?:st|nd|rd|th)?,?\s(?<year>\d{4})${sep}${clock}${zone}${after}`,
    ],
    ["month", String.raw`${weekday}${month}\s{1,2}(?<day>\d\d?)\s${clock}${zone}\s(?<year>\d{4})`],
    [
      "array",
      String.raw`\[(?<year>\d{4}),(?<month>\d\d?),(?<day>\d\d?),(?<hour>\d\d?),(?<minute>\d\d?)(?:,(?<second>\d\d?)(?:,(?<nanos>\d{1,9}))?)?\]`,
    ],
  ] as const
).map(([form, text]) => [form, new RegExp(`^${text}$`, "iu")]);

const epoch = /^(?:\d{10}(?:[.,]\d+)?|\d{13}(?:\.\d+)?|\d{16}|\d{19})$/;
const netEpoch = /^\/Date\((\d{13})(?:[+-]\d{4})?\)\/$/;
/** Days since 1899 of a spreadsheet, from 2000 to 2099. */
const serial = /^(?:3(?:6[5-9]|[7-9]\d)|[4-6]\d\d|7[0-2]\d|730[0-4])\d\d[.,]\d{1,15}$/;
const longest = 100;

/** Brackets of web servers: [03/Nov/2026:10:11:12 +0000]. */
const bracketed = /^\[(\d\d\/.*)\]$/;

/** Reads a time in any known form; null if it has none. `isDayFirst`: of two numbers in a date, the first one is the day. */
export function writtenTime(text: string, isDayFirst = true): Written | null {
  if (text.length > longest || !/\d.*\d/.test(text)) return null;
  if (epoch.test(text)) return { form: "epoch", shown: epochTime(text), zone: "Z" };
  const net = netEpoch.exec(text)?.[1];
  if (net !== undefined) return { form: "epoch", shown: Number(net), zone: "Z" };
  if (serial.test(text)) {
    const shown = Math.round((Number(text.replace(",", ".")) - 25_569) * 86_400_000);
    return { form: "serial", shown, zone: undefined };
  }
  const bare = bracketed.exec(text)?.[1] ?? text;
  for (const [form, pattern] of forms) {
    const found = pattern.exec(bare)?.groups;
    if (found !== undefined) return ofGroups(form, found, isDayFirst);
  }
  return null;
}

/** Cuts digits instead of dividing: a number cannot hold 19 of them. */
const epochTime = (text: string): number =>
  text.length < 13 || /^\d{10}[.,]/.test(text)
    ? Math.floor(Number(text.slice(0, 14).replace(",", ".")) * 1000 + 1e-4)
    : Number(text.slice(0, 13));

function ofGroups(
  form: Form,
  found: Record<string, string | undefined>,
  isDayFirst: boolean,
): Written | null {
  const number = (name: string): number => Number(found[name] ?? 0);
  const isSwapped = form === "numbers" && !isDayFirst;
  const day = number(isSwapped ? "month" : "day");
  const named = form === "month" ? monthOf(found["month"] ?? "") : number("month");
  const month = isSwapped ? number("day") : named;
  const year = number("year") + (found["year"]?.length === 2 ? 2000 : 0);
  // 26/11/03 and 26-11-20 begin with the year.
  if (found["year"]?.length === 2 && (year < 2010 || (form === "numbers" && found["mark"] === "-")))
    return null;
  const date = new Date(0).setUTCFullYear(year, month - 1, day);
  const isHalfDay = found["half"] !== undefined;
  const [hour, minute, second] = [number("hour"), number("minute"), number("second")];
  if (new Date(date).getUTCDate() !== day || month < 1 || month > 12) return null;
  if (minute > 59 || second > 59 || hour > (isHalfDay ? 12 : 23) || (isHalfDay && hour === 0))
    return null;
  const hours = isHalfDay ? (hour % 12) + (found["half"]?.toLowerCase() === "p" ? 12 : 0) : hour;
  const fraction =
    found["nanos"] === undefined
      ? Number((found["fraction"] ?? "").padEnd(3, "0").slice(0, 3))
      : Math.floor(number("nanos") / (found["nanos"].length > 3 ? 1e6 : 1));
  return {
    form,
    shown: date + ((hours * 60 + minute) * 60 + second) * 1000 + fraction,
    zone: found["zone"] ?? found["place"],
  };
}

/** Beginnings of the names of months in English, German, French, Spanish, Italian, Dutch and Portuguese, without accents. */
const months =
  "jan ene gen|feb fev|mar mrz mae maa|apr avr abr|may mai mag mei|jun juin giu|jul juil lug|aug aou ago|sep set|oct okt ott out|nov|dec dez dic dis"
    .split("|")
    .map((starts) => starts.split(" "));

function monthOf(name: string): number {
  const text = name.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return months.findIndex((starts) => starts.some((start) => text.startsWith(start))) + 1;
}
