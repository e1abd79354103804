import { expect, test } from "vitest";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { parseMoment, TimeReader, zoneOf } from "../../src/audit/columns/times.ts";

import { viewOf } from "../../src/audit/read/bytes.ts";
import { VaultError } from "../../src/errors.ts";
import { replayText, rows, vaultUuid } from "./support.ts";

/** The times that are read of these texts in a column, an item each; null for one that is none. */
async function readIn(
  texts: readonly string[],
  options: Partial<ReplayOptions> = {},
  name = "time",
) {
  const items = texts.map((text, n) => ({
    [name]: text,
    action: "READ_VAULT",
    vault: vaultUuid(n),
  }));
  const log = items.map((item) => `${JSON.stringify(item)}\n`).join("");
  try {
    const { result, reports } = await replayText(log, options);
    const times = new Map(reports.map(({ uuid, lastAt }) => [uuid, lastAt]));
    const isGuessed = /are read with the (?:day|month) before/.test(result.summary.warnings.join());
    return { times: items.map(({ vault }) => times.get(vault) ?? null), isGuessed };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return { times: texts.map(() => null), isGuessed: false };
  }
}

const listed = (list: string): string[] => rows(list).flat();
const time = "2026-11-03T10:11:12.000Z";

test.each(
  listed(`
2026-11-03T10:11:12Z | 2026-11-03T10:11:12 | 2026-11-03 10:11:12 | 2026-11-03t10:11:12z | 2026-11-03 10:11:12 UTC
2026-11-03T12:11:12+02:00 | 2026-11-03T12:11:12+0200 | 2026-11-03T12:11:12+02 | 2026-11-03T04:41:12-05:30 | 2026-11-04T00:11:12+14:00
20261103T101112Z | 20261103101112 | 20261103 101112 | 2026/11/03 10:11:12 | 2026.11.03 10:11:12 | 2026/11/3 10:11:12
2026-11-03T10:11:12Z[Etc/UTC] | 2026-11-03T11:11:12+01:00[Europe/Berlin] | 2026-11-03T11:11:12[Europe/Berlin] | 2026-11-03 11:11:12 Europe/Berlin
2026-11-03 11:11:12 CET | 2026-11-03 10:11:12 +0000 UTC | 2026-11-03 11:11:12 +0100 CET m=+0.001 | [2026,11,3,10,11,12] | datetime.datetime(2026, 11, 3, 10, 11, 12)
1793700672 | 1793700672000999 | /Date(1793700672000)/ | 2026-11-03T10:11:12.0009999999999999999999Z
03.11.2026 10:11:12 | 3.11.26 10:11:12 | 03.11.2026, 10:11:12 Uhr | 03/11/2026 10.11.12 | 03-11-2026 10:11:12 | 3.11.2026 klo 10.11.12
11/3/2026, 10:11:12 AM | 11/3/2026 10:11:12 a. m. | 11/03/2026 12:11:12 pm +0200 | Nov 3, 2026 @ 10:11:12 | November 3, 2026 at 10:11:12 AM
Tue, 03 Nov 2026 10:11:12 +0000 | Tuesday, 03-Nov-26 10:11:12 GMT | 03/Nov/2026:10:11:12 +0000 | [03/Nov/2026:10:11:12 +0000] | 03-NOV-26 10.11.12.000000 AM
Tue Nov  3 10:11:12 2026 | Tue Nov 03 10:11:12 UTC 2026 | Tue Nov 03 2026 10:11:12 GMT+0000 (Coordinated Universal Time)
03 Nov 2026 10:11:12,000 | 3. November 2026 10:11:12 | Di., 3. Nov. 2026 10:11:12 | 3 nov. 2026 à 10:11:12 | 3 de noviembre de 2026, 10:11:12`),
)("%s", async (text) => {
  for (const one of [text, `  ${text}\t`]) expect((await readIn([one])).times).toEqual([time]);
});

test.each([
  ["2026-11-03T10:11:12.5Z", 500],
  ["2026-11-03T10:11:12,123Z", 123],
  ["2026-11-03 12:11:12.250 +0200", 250],
  ["2026-11-03T10:11Z", -12_000],
  ["[2026,11,3,10,11,12,123000000]", 123],
  ["datetime.datetime(2026, 11, 3, 10, 11, 12, 45000, tzinfo=datetime.timezone.utc)", 45],
  ["datetime.datetime(2026, 11, 3, 10, 11, 12, 45000, tzinfo=tzutc())", 45],
  ["datetime.datetime(2026, 11, 3, 10, 11, 12, 45000, tzinfo=<UTC>)", 45],
  ["1793700672.123999", 123],
  ["1793700672001", 1],
  ["1793700672001999999", 1],
])("%s has milliseconds", async (text, offset) => {
  const expected = new Date(Date.parse(time) + offset).toISOString();
  expect((await readIn([text])).times).toEqual([expected]);
});

test.each(
  listed(`
now | 2026 | 2026-11-20 | 14:02:11 | Nov  3 10:11:12 | 2026-W45-2T10:11:12Z | 2026-307T10:11:12Z | 26/11/03 10:11:12 | 26-11-20T10:11:12Z
2026-13-01T00:00:00Z | 2026-00-01T00:00:00Z | 2026-02-30T00:00:00Z | 2026-02-29T00:00:00Z | 2026-11-00T00:00:00Z | 2100-02-29T00:00:00Z
2026-11-20T24:00:00Z | 2026-11-20T14:60:00Z | 2026-11-20T14:02:60Z | 2026-11-20T14:02:11+24:00 | 2026-11-20T14:02:11+02:60 | 2026-11-20T14:02:11.Z
2026-11-20T14:02:11Zulu | 2026-11-20T14:02:11 +2 | 2026-11-20 14:02:11 IST | +02026-11-20T14:02:11Z | 3 Foo 2026 10:11:12 | 11/3/2026 13:11 PM
179518333 | 17951833311 | 179518333100 | 17951833310000 | 1795183331e3 | -1795183331 | 0x6b009ba3 | ١٧٩٥١٨٣٣٣١ |  `),
)("%j is no time", async (text) => {
  for (const texts of [[text], [text, time]]) expect((await readIn(texts)).times[0]).toBeNull();
});

test.each(
  rows(`
a day above 12        | 3/11/2026 10:11, 13/11/2026 10:11 | 2026-11-03 |
a month above 12      | 3/11/2026 10:11, 3/13/2026 10:11  | 2026-03-11 |
dots                  | 3.11.2026 10:11                   | 2026-11-03 |
a short time          | 11/3/2026 10:11, 11/4/2026 10:11  | 2026-11-03 | guessed
halves of a day       | 11/3/2026 10:11 AM                | 2026-11-03 | guessed
a colon               | 11/03/2026:10:11:00               | 2026-11-03 | guessed
nearness to now       | 11/3/26 10:11                     | 2026-11-03 | guessed
nearness the other way | 3/11/26 10:11                    | 2026-11-03 | guessed`),
)("day and month are told by %s", async (_what, texts = "", day, guessed) => {
  const { times, isGuessed } = await readIn(texts.split(", "));
  expect([times[0], isGuessed]).toEqual([`${day}T10:11:00.000Z`, guessed === "guessed"]);
});

test("a column has the forms of its first times, so that no other text becomes another date", async () => {
  const first = Array.from({ length: 1000 }, (_, n) => (n % 2 > 0 ? time : "3 Nov 2026 10:11:12"));
  const others = ["3. November 2026 10:11:12", "1793700672", "3/11/2026 10:11:12"];
  const { times } = await readIn([...first.map((text) => text.padEnd(1000)), ...first, ...others]);
  expect(times.slice(-3)).toEqual([time, null, null]);
});

test.each(
  rows(`
Time (UTC)            | 2026-11-03T10:11:12
Time (CET)            | 2026-11-03T10:11:12
Time [Europe/Berlin]  | 2026-11-03T09:11:12
Timestamp (UTC+01:00) | 2026-11-03T09:11:12
event-utc-time        | 2026-11-03T10:11:12
Time (GMT/BST)        | 2026-11-03T10:11:12
Time (local)          | 2026-11-03T10:11:12`),
)("a column %s has times like %s", async (name, expected = "") => {
  expect((await readIn(["2026-11-03 10:11:12"], {}, name)).times).toEqual([`${expected}.000Z`]);
});

test("numbers of a spreadsheet are times if the column is named for it", async () => {
  const [serial, other] = ["46329.42444444", "46330,5"];
  expect((await readIn([serial, other])).times).toEqual([time, "2026-11-04T12:00:00.000Z"]);
  expect((await readIn([serial], {}, "x")).times).toEqual([null]);
  expect((await readIn([serial, time])).times).toEqual([time, time]);
});

test.each(
  rows(`
+01:00           | 2026-11-03 11:11:12     | 2026-11-03T10:11:12
Europe/Berlin    | 2026-07-01 12:00:00     | 2026-07-01T10:00:00
Europe/Berlin    | 2026-03-29 02:30:00     | 2026-03-29T01:30:00
Europe/Berlin    | 2026-10-25 02:30:00     | 2026-10-25T00:30:00
Europe/Berlin    | 2026-10-25 03:00:00     | 2026-10-25T02:00:00
America/New_York | 2026-11-01 01:30:00     | 2026-11-01T05:30:00
Asia/Kolkata     | 2026-11-03 15:41:12     | 2026-11-03T10:11:12
Europe/Berlin    | 2026-11-03 10:11:12 UTC | 2026-11-03T10:11:12`),
)("--zone %s: %s", async (zone = "", text = "", expected = "") => {
  expect((await readIn([text], { zone })).times).toEqual([`${expected}.000Z`]);
});

test.each(["UTC", "+02:00", "Europe/Berlin"])("times are the same by their bytes: %s", (zone) => {
  const reader = new TimeReader([], { zone: zoneOf(zone) });
  const days = ["2026-11-20", "2026-11-31", "2026-03-29"];
  const clocks = ["T14:02:11", " 14:02:12", "T14:62:11", "T24:02:11", "T02:30:00", "T14:02"];
  const ends = ["", "Z", ".5Z", ".1234567Z", ".Z", ",123Z", ":25", "+02:00", "Zulu", "Z[Etc/UTC]"];
  const texts = days.flatMap((day) =>
    clocks.flatMap((clock) =>
      ends.flatMap((end) => [`${day}${clock}${end}`, `${day}${clock}${end}`]),
    ),
  );
  for (const text of [...texts, ...texts.toReversed(), "1793700672", ""]) {
    const entry = { time: 0 };
    reader.read(viewOf(Buffer.from(`"${text}","7"`)), 1, 1 + text.length, entry);
    expect(entry.time, text).toBe(reader.parse(text) ?? Number.NaN);
  }
});

test.each<[string, number | null, string?]>([
  ["2026-11-03", Date.UTC(2026, 10, 3)],
  ["3.11.2026", Date.UTC(2026, 10, 3)],
  ["2026-11-03", Date.UTC(2026, 10, 2, 23), "+01:00"],
  ["Nov 3, 2026 @ 10:11:12.000", Date.parse(time)],
  ["3/11/2026 10:11", null],
  ["foo", null],
])("a person may name a moment: %s", (text, moment, zone) => {
  expect(parseMoment(text, zone)).toBe(moment);
});
