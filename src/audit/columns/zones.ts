/** Hours ahead of UTC of abbreviations that mean one zone. CST, IST, BST and others mean several. */
const abbreviations = new Map(
  "Z0 UTC0 UT0 GMT0 UCT0 WET0 WEST1 CET1 MEZ1 MET1 CEST2 MESZ2 EET2 EEST3 MSK3 JST9 EDT-4 EST-5 CDT-5 MDT-6 MST-7 PDT-7 PST-8"
    .split(" ")
    .map((entry) => [entry.replace(/-?\d/, ""), Number(entry.replace(/[A-Z]+/, "")) * 60] as const),
);

const minute = 60_000;
const day = 86_400_000;

/**
 * A time zone: returns the moment at which its clocks show a time, given as if it were UTC. Of two, as when clocks go back, the first one;
 * `isTwice` is called then.
 */
export type Zone = (shown: number, isTwice?: () => void) => number;

export const utc: Zone = (shown) => shown;

const named = new Map<string, Zone | undefined>();
const maxNamed = 1000;

/** Returns a zone by `Europe/Berlin`, `+01:00`, `UTC+1` or an abbreviation; undefined for one that is unknown or not clear. */
export function zoneOf(text: string): Zone | undefined {
  const ahead = aheadOf(text);
  if (ahead !== undefined) return (shown) => shown - ahead * minute;
  if (!text.includes("/")) return undefined;
  // Each costs as much as reading a hundred times.
  if (!named.has(text) && named.size < maxNamed) named.set(text, namedZone(text));
  return named.get(text);
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
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  } catch {
    return undefined;
  }
  const known = new Map<number, number>();
  const ahead = (time: number): number => {
    // No zone changes but at a quarter of an hour.
    const quarter = Math.floor(time / (15 * minute));
    let offset = known.get(quarter);
    if (offset === undefined) {
      const shown = /GMT([+-]\d\d:\d\d)?/.exec(format.format(quarter * 15 * minute))?.[1];
      offset = (aheadOf(shown ?? "UTC") ?? 0) * minute;
      if (known.size < 100_000) known.set(quarter, offset);
    }
    return offset;
  };
  return (shown, isTwice) => {
    const early = shown - ahead(shown - day);
    const late = shown - ahead(shown + day);
    const isEarly = early + ahead(early) === shown;
    if (isEarly && early !== late && late + ahead(late) === shown) isTwice?.();
    // Skipped by clocks that go forward: as if they had not.
    return isEarly || late + ahead(late) !== shown ? early : late;
  };
}
