import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMoment, parseTime, TimeReader, timeStyleOf } from "../../src/audit/columns/times.ts";
import { zoneOf } from "../../src/audit/columns/zones.ts";
import { viewOf } from "../../src/audit/read/bytes.ts";
import { runs } from "../support/campaign.ts";

const listed = (list: string): string[] =>
  list
    .trim()
    .split("\n")
    .flatMap((row) => row.split(" | "));

const at = Date.UTC(2026, 10, 3, 10, 11, 12);

test.each(
  listed(`
2026-11-03T10:11:12Z | 2026-11-03T10:11:12 | 2026-11-03 10:11:12 | 2026-11-03t10:11:12z | 2026-11-03 10:11:12 UTC
2026-11-03T12:11:12+02:00 | 2026-11-03T12:11:12+0200 | 2026-11-03T12:11:12+02 | 2026-11-03T04:41:12-05:30 | 2026-11-04T00:11:12+14:00
20261103T101112Z | 20261103101112 | 20261103 101112 | 2026/11/03 10:11:12 | 2026.11.03 10:11:12 | 2026/11/3 10:11:12
2026-11-03T10:11:12Z[Etc/UTC] | 2026-11-03T11:11:12+01:00[Europe/Berlin] | 2026-11-03T11:11:12[Europe/Berlin] | 2026-11-03 11:11:12 Europe/Berlin
2026-11-03 11:11:12 CET | 2026-11-03 10:11:12 +0000 UTC | 2026-11-03 11:11:12 +0100 CET m=+0.001 | [2026,11,3,10,11,12]
1793700672 | 1793700672000999 | /Date(1793700672000)/ | 2026-11-03T10:11:12.0009999999999999999999Z
03.11.2026 10:11:12 | 3.11.26 10:11:12 | 03.11.2026, 10:11:12 Uhr | 03/11/2026 10.11.12 | 03-11-2026 10:11:12 | 3.11.2026 klo 10.11.12
3/11/2026, 10:11:12 AM | 3/11/2026 10:11:12 a. m. | 03/11/2026 12:11:12 pm +0200 | Nov 3, 2026 @ 10:11:12 | November 3, 2026 at 10:11:12 AM
Tue, 03 Nov 2026 10:11:12 +0000 | Tuesday, 03-Nov-26 10:11:12 GMT | 03/Nov/2026:10:11:12 +0000 | [03/Nov/2026:10:11:12 +0000] | 03-NOV-26 10.11.12.000000 AM
Tue Nov  3 10:11:12 2026 | Tue Nov 03 10:11:12 UTC 2026 | Tue Nov 03 2026 10:11:12 GMT+0000 (Coordinated Universal Time)
03 Nov 2026 10:11:12,000 | 3. November 2026 10:11:12 | Di., 3. Nov. 2026 10:11:12 | 3 nov. 2026 à 10:11:12 | 3 de noviembre de 2026, 10:11:12`),
)("%s", (text) => {
  expect(parseTime(text)).toBe(at);
  expect(parseTime(`  ${text}\t`)).toBe(at);
});

test.each([
  ["2026-11-03T10:11:12.5Z", 500],
  ["2026-11-03T10:11:12,123Z", 123],
  ["2026-11-03 12:11:12.250 +0200", 250],
  ["2026-11-03T10:11Z", -12_000],
  ["[2026,11,3,10,11,12,123000000]", 123],
  ["1793700672.123999", 123],
  ["1793700672001", 1],
  ["1793700672001999999", 1],
])("%s has milliseconds", (text, offset) => {
  expect(parseTime(text)).toBe(at + offset);
});

test.each(
  listed(`
now | 2026 | 2026-11-20 | 14:02:11 | Nov  3 10:11:12 | 2026-W45-2T10:11:12Z | 2026-307T10:11:12Z | 46329.4244 | 26/11/03 10:11:12 | 26-11-20T10:11:12Z
2026-13-01T00:00:00Z | 2026-00-01T00:00:00Z | 2026-02-30T00:00:00Z | 2026-02-29T00:00:00Z | 2026-11-00T00:00:00Z | 2100-02-29T00:00:00Z
2026-11-20T24:00:00Z | 2026-11-20T14:60:00Z | 2026-11-20T14:02:60Z | 2026-11-20T14:02:11+24:00 | 2026-11-20T14:02:11+02:60 | 2026-11-20T14:02:11.Z
2026-11-20T14:02:11Zulu | 2026-11-20T14:02:11 +2 | 2026-11-20 14:02:11 IST | +02026-11-20T14:02:11Z | 3 Foo 2026 10:11:12 | 11/3/2026 13:11 PM
179518333 | 17951833311 | 179518333100 | 17951833310000 | 1795183331e3 | -1795183331 | 0x6b009ba3 | ١٧٩٥١٨٣٣٣١ |  `),
)("%j is no time", (text) => {
  expect(parseTime(text)).toBeNull();
});

test("a time is the one that JavaScript wrote, whatever the day", () => {
  const [min, max] = [new Date("0001-01-01"), new Date("9999-12-31T23:59:59.999Z")];
  fc.assert(
    fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
      expect(parseTime(date.toISOString())).toBe(date.getTime());
    }),
    { seed: 20_261_120, numRuns: runs(2000) },
  );
});

describe("day and month", () => {
  test.each([
    ["a day above 12", "3/11/2026 10:11 | 13/11/2026 10:11", "2026-11-03"],
    ["a month above 12", "3/11/2026 10:11 | 3/13/2026 10:11", "2026-03-11"],
    ["dots", "3.11.2026 10:11", "2026-11-03"],
  ])("are told by %s", (_what, values, day) => {
    const style = timeStyleOf(listed(values), true);
    expect(style.unclear).toBeUndefined();
    expect(new TimeReader(style).parse(listed(values)[0] ?? "")).toBe(Date.parse(`${day}T10:11Z`));
  });

  test.each([
    ["a short time", "11/3/2026 10:11 | 11/4/2026 10:11", 0],
    ["halves of a day", "11/3/2026 10:11 AM", 0],
    ["a colon", "11/03/2026:10:11:00", 0],
    ["nearness to now", "11/3/26 10:11", Date.UTC(2026, 10, 27)],
    ["nearness, the other way round", "3/11/26 10:11", Date.UTC(2026, 10, 27)],
    ["habit", "3/11/26 10:11", 0],
  ])("are guessed by %s, and the guess is told", (_what, values, now) => {
    const style = timeStyleOf(listed(values), true, now);
    expect(style.unclear).toBe(listed(values)[0]);
    expect(new TimeReader(style).parse(style.unclear ?? "")).toBe(Date.UTC(2026, 10, 3, 10, 11));
  });
});

test("a column has the forms of its first times, so that no other text becomes another date", () => {
  const reader = new TimeReader(timeStyleOf(["2026-11-03T10:11:12Z", "3 Nov 2026 10:11:12"], true));
  expect(reader.parse("3. November 2026 10:11:12")).toBe(at);
  expect(reader.parse("1793700672")).toBeNull();
  expect(reader.parse("3/11/2026 10:11:12")).toBeNull();
});

test("numbers of a spreadsheet are times if all are, and the column is named for it", () => {
  const reader = new TimeReader(timeStyleOf(["46329.42444444", "46330,5"], true));
  expect(reader.parse("46329.42444444")).toBe(at);
  expect(timeStyleOf(["46329.42444444"], false).share).toBe(0);
  expect(timeStyleOf(["46329.42444444", "2026-11-03T10:11:12Z"], true).share).toBe(0.5);
});

test.each(
  listed(`
+01:00 : 2026-11-03 11:11:12 : 2026-11-03T10:11:12Z
Europe/Berlin : 2026-07-01 12:00:00 : 2026-07-01T10:00:00Z
Europe/Berlin : 2026-03-29 02:30:00 : 2026-03-29T01:30:00Z
Europe/Berlin : 2026-10-25 02:30:00 : 2026-10-25T00:30:00Z
Europe/Berlin : 2026-10-25 03:00:00 : 2026-10-25T02:00:00Z
America/New_York : 2026-11-01 01:30:00 : 2026-11-01T05:30:00Z
Asia/Kolkata : 2026-11-03 15:41:12 : 2026-11-03T10:11:12Z
Europe/Berlin : 2026-11-03 10:11:12 UTC : 2026-11-03T10:11:12Z`),
)("a zone: %s", (row) => {
  const [zone = "", text = "", expected = ""] = row.split(" : ");
  expect(new TimeReader(undefined, zoneOf(zone)).parse(text)).toBe(Date.parse(expected));
});

test.each(["UTC", "+02:00", "Europe/Berlin"])(
  "times are the same by their bytes, in %s",
  (zone) => {
    const reader = new TimeReader(undefined, zoneOf(zone));
    const ends = [
      "",
      "Z",
      ".5Z",
      ".123Z",
      ".1234567Z",
      ".Z",
      ".123",
      ",123Z",
      "+02:00",
      ".5+02:00",
    ];
    const texts = ["2026-11-20", "2026-11-21", "2026-11-31", "2026-03-29"].flatMap((day) =>
      ["T14:02:11", " 14:02:11", "T24:02:11", "T14:62:11", "T02:30:00"].flatMap((clock) =>
        [...ends, " UTC", "Zulu", "Z[Etc/UTC]"].map((end) => `${day}${clock}${end}`),
      ),
    );
    for (const text of [...texts, ...texts.toReversed(), "1793700672", "", ...texts.slice(0, 3)]) {
      const entry = { time: 0 };
      reader.read(viewOf(Buffer.from(`"${text}","x"`)), 1, 1 + Buffer.byteLength(text), entry);
      expect(entry.time, text).toBe(reader.parse(text) ?? Number.NaN);
    }
  },
);

test("a person names a date, or a time as exports have it", () => {
  expect(parseMoment("2026-11-03")).toBe(Date.UTC(2026, 10, 3));
  expect(parseMoment("3.11.2026")).toBe(Date.UTC(2026, 10, 3));
  expect(parseMoment("2026-11-03", "+01:00")).toBe(Date.UTC(2026, 10, 2, 23));
  expect(parseMoment("Nov 3, 2026 @ 10:11:12.000")).toBe(at);
  expect(parseMoment("3/11/2026 10:11")).toBeNull();
  expect(parseMoment("foo")).toBeNull();
});
