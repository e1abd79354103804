import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import type { VaultReport } from "../../src/documents/audit.ts";
import { tempDir } from "../support/cleanup.ts";
import { line, log, moment, replayText, reportOfOne, rows, rules, vaultUuid } from "./support.ts";

/** `verdict certainty starts failed rule@seconds contradiction`. */
const short = ({ verdict, certainty, cause, lockedAt, contradictions, ...one }: VaultReport) =>
  [
    verdict,
    certainty,
    one.unackedStarts,
    one.failedAttempts,
    ...(cause === undefined
      ? []
      : [`${cause.rule}@${(Date.parse(lockedAt ?? "") - Date.parse(moment(0))) / 1000}`]),
    ...contradictions.map(({ kind }) => kind),
  ].join(" ");

const old = { rules: { ...rules, release: "1.2.22" } };
const two = { rules: { ...rules, limits: { failedAttempts: 2, unackedStarts: 3 } } };

test.each<[string, string, Partial<ReplayOptions>?]>([
  // What is certain.
  ["C0 S1 A2", "ok certain 0 0"],
  ["S1 A2", "ok certain 0 0"],
  ["A1", "ok certain 0 0"],
  ["S1 S2", "open-exchange likely 2 0"],
  ["C0 S1 S20", "open-exchange likely 1 0", { since: Date.parse(moment(10)) }],
  ["C0 S1 A2", "ok likely 0 0", { rules: { ...rules, release: "1.2.17" } }],
  ["C0 F1 F2", "at-risk certain 0 2"],
  ["C0 S1 S2 S3 S4", "at-risk certain 4 0"],
  ["C0 F1 F2 S3 A4", "ok certain 0 0"],
  ["C0 S1 F2 S3 F4", "open-exchange certain 2 1"],
  ["C0 F1 F2 F3 F4 F5 L6", "locked certain 0 3 failed-attempts@3"],
  ["C0 S1 S2 S3 S4 S5", "locked certain 5 0 unacknowledged-starts@5"],
  ["C0 D1", "deleted certain 0 0"],
  ["C0 D1 X2", "deleted likely 0 0"],
  ["C0 S1 S2 S3 S4 S5 S6", "at-risk certain 4 0", { until: Date.parse(moment(4)) }],
  // Other limits and releases.
  ["C0 F1 F2", "locked certain 0 2 failed-attempts@2", two],
  ["C0 S1 S2 S3", "locked certain 3 0 unacknowledged-starts@3", two],
  [
    "C0",
    "at-risk certain 0 0",
    { rules: { ...rules, limits: { ...rules.limits, unackedStarts: 1 } } },
  ],
  ["C0 F10 M400", "locked likely 0 1 expired-invalid-start@130", old],
  ["C0 F10 M90", "at-risk likely 0 1", old],
  ["C0 F1 F2 F3", "locked certain 0 3 failed-attempts@3", old],
  ["C0 F10 S100 A101 M400", "ok certain 0 0", old],
  // What items say of locks.
  ["K1", "locked certain 0 1 failed-attempts@1"],
  ["C0 F1 F2 K3", "locked certain 0 3 failed-attempts@3"],
  ["C0 F1 K2", "locked certain 0 2 failed-attempts@2 locked-at-another-moment"],
  ["C0 S1 S2 S3 S4 S5 N60", "locked certain 5 0 unacknowledged-starts@5 locked-at-another-moment"],
  ["C0 Y1", "locked certain 0 0 administrator@1"],
  ["C0 Y1 Z2", "ok certain 0 0"],
  ["C0 L1", "locked certain 0 0 unseen@1 refused-while-open"],
  ["F1 F2 L3", "locked certain 0 2 failed-attempts@3"],
  ["C0 S1 S2 S3 S4 L5", "locked certain 4 0 unacknowledged-starts@5"],
  ["C0 M1 M2 M3 L4", "locked certain 0 0 unseen@4 refused-while-open"],
  // What is not understood may count, and proves nothing.
  ["C0 P1 P2 P3", "locked likely 0 3 failed-attempts@3"],
  ["C0 R1 R2 R3", "locked likely 0 3 failed-attempts@3"],
  ["C0 R1 R2 R3 L4", "locked certain 0 3 failed-attempts@3"],
  ["C0 Q1 F2 F3 F4", "locked certain 0 4 failed-attempts@4"],
  ["C0 R1 R2 R3 S4 A5", "ok certain 0 0"],
  ["C0 S1 A2 R3", "unknown unknown 0 1"],
  ["C0 S1 A2 Q3", "unknown unknown 0 1"],
  ["C0 S1 A2 P3", "ok likely 0 1"],
  ["C0 F1 F2 X3 F4", "locked likely 0 3 failed-attempts@4"],
  ["C0 F1 F2 V3 F4", "unknown unknown 0 1"],
  ["C0 V1 V2 V3 V4 V5", "unknown unknown 0 0"],
  ["C0 S1 S2 W3 S4 S5 S6", "unknown unknown 5 0"],
  ["C0 S1 X2", "unknown unknown 1 0"],
  ["C0 X1 S2", "open-exchange likely 1 0"],
  ["C0 X1 S2 A3", "ok certain 0 0"],
  ["C0 F1 F2 F3 X4", "locked likely 0 3 failed-attempts@3"],
  ["C0 F1 F2 F3 V4 L5", "locked certain 0 3 failed-attempts@3"],
  ["C0 S1 A2 G3", "deleted likely 0 0"],
  ["C0 S1 A2 M3 M4 M5", "ok certain 0 0"],
  // What does not fit together is listed, and the newest item believed.
  ["C0 S1 A2 A3", "ok likely 0 0 acknowledgement-without-start"],
  ["C0 S1 A200", "ok likely 0 0 acknowledgement-after-expiry"],
  ["C0 S1 B2", "ok likely 0 0 acknowledgement-of-other-operation"],
  ["C0 D1 S2", "open-exchange likely 1 0 activity-after-deletion"],
  ["C0 F1 F2 F3 S4", "open-exchange likely 1 0 activity-while-locked"],
  ["S1 A2 C3", "ok likely 0 0 activity-before-creation"],
  ["C0 C3", "ok likely 0 0 created-twice"],
  // The order of items of one time, and by other clocks.
  ["C0 A1 S1", "ok certain 0 0"],
  ["C0 A1 S1 A2 S2 A3 S3 A4 S4 A5 S5", "ok certain 0 0"],
  ["A1 S1", "ok certain 0 0"],
  ["C0 A8 S60", "open-exchange likely 1 0 acknowledgement-without-start"],
  ["C0 A8c S10c", "ok likely 0 0 acknowledgement-before-start"],
  ["C0 S5c A6c A8c S10c", "open-exchange likely 1 0 acknowledgement-without-start"],
  ["A8c S10c", "open-exchange likely 1 0"],
  ["A8c S10c S11c S12c S13c", "at-risk likely 4 0"],
  ["A8c S10c S11c S12c S13c S14c", "locked likely 5 0 unacknowledged-starts@14"],
  ["A8c S10c S11c S12c S13c S14c S15c", "locked certain 5 0 unacknowledged-starts@15"],
  ["A8c S10c S11c S12c S13c S14c A15c", "ok certain 0 0"],
  ["A8c S10c S11c S12c S13c S14c L15c", "locked certain 5 0 unacknowledged-starts@14"],
  ["A8 S10 S11 S12 S13 S14", "locked likely 5 0 unacknowledged-starts@14"],
  ["A8c S10c S11c X12 S13c S14c S15c", "unknown unknown 5 0"],
  ["A8c S20c S21c S22c S23c S24c", "locked certain 5 0 unacknowledged-starts@24"],
  ["A8c S10c F11c F12c F13c", "locked certain 1 3 failed-attempts@13"],
])("%s: %s", async (letters, expected, options = {}) => {
  expect(short(await reportOfOne(log(letters), options))).toBe(expected);
});

test("an unreadable line, no outcomes, and those of a column without a known name make it likely", async () => {
  const unread = await reportOfOne([...log("C0 S1 A2"), "no item"]);
  expect(unread).toMatchObject({ certainty: "likely", reason: "1 line could not be read" });
  const lines = log("C0 S1 A2").map((one) => one.replace(',"outcome":"SUCCESS"', ""));
  expect((await reportOfOne(lines)).certainty).toBe("likely");
  // What is passed and failed may be something else.
  const words = (name: string) =>
    log("C0 P1 S2 A3").map((one) =>
      one.replace(
        /"outcome":"(?:SUCCESS|(FAILURE))"/,
        (_, bad) => `"${name}":"${bad ? "FAIL" : "PASS"}"`,
      ),
    );
  expect((await reportOfOne(words("result"))).certainty).toBe("certain");
  expect((await reportOfOne(words("mfa"))).certainty).toBe("likely");
  // What is good for all calls, also for those whose text tells a failed attempt, is something else.
  const good = log("C0 F1 F2 F3").map((one) => one.replace(/"outcome":"\w+"/, '"statusCode":200'));
  expect(short(await reportOfOne(good))).toBe("locked likely 0 3 failed-attempts@3");
  // A note beside one of many accepted calls makes nothing else of it.
  const pairs = Array.from({ length: 150 }, (_, n) => `S${2 * n + 1} A${2 * n + 2}`);
  const noted = log(`C0 ${pairs.join(" ")}`).map((one, n) =>
    n === 5 ? one.replace('"outcome"', '"description":"after bad credentials","outcome"') : one,
  );
  expect(short(await reportOfOne(noted))).toBe("ok certain 0 0");
});

test("what tells failures in one export tells nothing of another without outcomes and reasons", async () => {
  const bare = log("S5 A6").map((one) => one.replace(',"outcome":"SUCCESS"', ""));
  const inputs = [log("C0 F1 S2 A3"), bare].map((lines, index) => ({
    name: `${index}`,
    stream: [Buffer.from(lines.join("\n"))],
  }));
  const { reports } = await replayText("", { inputs });
  expect(reports.map(short)).toEqual(["ok likely 0 0"]);
});

test("the first twenty contradictions are listed, and the last 24 items of a chain, which names what locked", async () => {
  const many = (letter: string): string =>
    Array.from({ length: 30 }, (_, index) => `${letter}${index + 1}c`).join(" ");
  expect((await reportOfOne(log(`C0 ${many("A")}`))).contradictions).toHaveLength(20);
  const chainOf = async (letters: string) =>
    (await reportOfOne(log(letters))).cause?.chain.map((one) => one.line).join(" ");
  expect(await chainOf("C0 F1 F2 F3 F4 F5 L6")).toBe("2 3 4");
  expect(await chainOf("C0 F1 R2 F3 F4")).toBe("2 4 5");
  const { cause } = await reportOfOne(log(`C0 ${many("F")}`), {
    rules: { ...rules, limits: { unackedStarts: 5, failedAttempts: 30 } },
  });
  expect(cause?.chain).toHaveLength(24);
  expect(cause?.text).toContain(" after 30 failed attempts in a row, the last one ");
});

test("a vault without a start for a year has locked itself, but for generic ones", async () => {
  const day = 86_400;
  const now = Date.parse(moment(500 * day));
  const idle = log(`C0 S1 A2 2:S${400 * day}`);
  const generic = idle.map((text) =>
    text.replace("{", '{"endpoint":"POST /vault/generic/offline/get-start",'),
  );
  const one = async (lines: string[], by: "path" | "stream") =>
    short((await replayText(lines.join("\n"), { now }, by)).reports.at(-1) as VaultReport);
  const idleLock = `locked likely 0 0 auto-lock@${1 + 365 * day}`;
  for (const by of ["path", "stream"] as const) {
    const { reports } = await replayText(idle.join("\n"), { now }, by);
    expect(reports.map(short)).toContain(idleLock);
    expect(await one(generic, by)).toBe("ok certain 0 0");
    expect(await one(log(`C0 S1 A2 L${400 * day}`), by)).toBe(
      idleLock.replace("likely", "certain"),
    );
  }
});

test("former action names, other wordings of failures, and checks of the application", async () => {
  const former = ["REGISTER_VAULT", "START_USE_VAULT", "COMPLETE_USE_VAULT"];
  const lines = former.map((action, at) => line(at, action)).join("\n");
  expect((await replayText(lines)).reports.map(short)).toEqual(["ok certain 0 0"]);
  const odd = [...log("C0"), ...log("S1 S2 S3", { description: "secret differs" })];
  const failed = { rules: { ...rules, failure: "secret differs" } };
  expect(short(await reportOfOne(odd, failed))).toMatch(/^locked certain/);
  const check = { outcome: "FAILURE", description: "API key check failed" };
  const checks = [1, 2, 3].map((at) => line(at, "API_KEY_CHECK", check));
  const checked = await replayText([...log("C0"), ...checks].join("\n"));
  expect(checked.reports).toMatchObject([{ verdict: "ok", items: 1 }]);
  expect(checked.result.summary.applicationItems).toBe(3);
});

test("items out of order are sorted, within a window at once, and beyond it by reading them again", async () => {
  const others = log(
    Array.from({ length: 5000 }, (_, n) => `${2 + (n % 50)}:S${100 + n}`).join(" "),
  );
  const one = async (...lines: string[][]) => {
    const { reports, result } = await replayText(lines.flat().join("\n"));
    return { ...result.summary, one: reports.find(({ uuid }) => uuid === vaultUuid(1)) };
  };
  const near = await one(log("C0 A2"), others.slice(0, 3000), log("S1"));
  expect(near.one).toMatchObject({ verdict: "ok", contradictions: [] });
  const far = await one(log("C0 A60"), others, others, others, others, log("S51"));
  expect(far.one).toMatchObject({ verdict: "ok", contradictions: [] });
  const copied = await one(
    log("C0 F1 S60"),
    others,
    log("F61"),
    log("C0 F1 S60"),
    others,
    log("F61"),
  );
  expect(copied.one).toMatchObject({ unackedStarts: 1, failedAttempts: 1, contradictions: [] });
  expect(copied).toMatchObject({ items: 10_008, duplicates: 5004 });
});

/** Lines by letters; behind `-` without ids, `s` without ids and in seconds, `ms` at other milliseconds. */
const exported = (text: string): string[] => {
  const [, how = "", letters = ""] = /^(?:(-|s|ms) )?(.*)$/.exec(text) ?? [];
  return log(letters).map((item, index) => {
    const bare = how === "-" || how === "s" ? item.replace(/"id":"[^"]*",/, "") : item;
    if (how === "s") return bare.replace(".000Z", "Z");
    return how === "ms" ? bare.replace(".000Z", `.${101 + index}Z`) : bare;
  });
};
/** More than a sample, of lines that are long enough. */
const many = exported(
  `- ${Array.from({ length: 3000 }, (_, n) => `${n % 2 > 0 ? "A" : "S"}${n}c`).join(" ")}`,
).map((text) => text.replace("{", `{"pad":"${"x".repeat(400)}",`));

test.each(
  rows(`
with ids                      | C0 S1 A1 S1 A1          |                         | ok certain 0 0, 2
without ids                   | - C0 F1 F1 F1           |                         | locked certain 0 3 failed-attempts@1, 0
the newest first              | - F99 F99 F99 C0        |                         | locked certain 0 3 failed-attempts@99, 0
a file that begins anew       | - C0 F1 F99 F1 F99      |                         | locked likely 0 3 failed-attempts@99, 0
two exports, one without ids  | C0 S1 A2 F3 F4          | - C0 S1 A2 F3 F4        | at-risk likely 0 2, 5
of other precision            | ms C0 F1 F2 S3 A4 F5 F6 | s F2 S3 A4 F5 F6        | at-risk likely 0 2, 5
the larger number counts      | - F1 F1 F2              | - F1 F2 F2              | locked likely 0 3 failed-attempts@2, 2
long ones                     | many                    | last of many            | ok likely 0 0, 500`),
)("items that are there twice: %s", async (_what, first = "", second = "", expected = "") => {
  const known: Record<string, string[]> = { many, "last of many": many.slice(2500) };
  const folder = tempDir("twice");
  const inputs = [first, second].flatMap((text, index) => {
    const path = join(folder, `${index}`);
    if (text === "") return [];
    writeFileSync(path, (known[text] ?? exported(text)).join("\n"));
    return [{ name: `${index}`, path }];
  });
  for (const order of [inputs, inputs.toReversed()]) {
    const { reports, result } = await replayText("", { inputs: order });
    expect(`${reports.map(short).join()}, ${result.summary.duplicates}`).toBe(expected);
  }
});

test("items of one day without times are told apart by their ids, however many", async () => {
  const time = "2026-11-20T00:00:00Z";
  // A search of all of them for each would take longer than a test may.
  const items = Array.from({ length: 45_000 }, (_, n) =>
    line(0, "READ_VAULT", { id: `${n}`, time }),
  );
  const { id: _, ...bare } = JSON.parse(line(0, "READ_VAULT", { time })) as Record<string, unknown>;
  const text = [...items, JSON.stringify(bare), ...items.slice(0, 500)].join("\n");
  const { reports, result } = await replayText(text);
  expect([reports[0]?.items, result.summary.duplicates]).toEqual([45_001, 500]);
});

test("a lock at times that clocks show twice is likely", async () => {
  const shown = log("C0 F1 F2 F3").map((one) =>
    one.replace("2026-11-20T12:00:0", "2026-10-25T02:10:0").replace(".000Z", ""),
  );
  const { verdict, certainty } = await reportOfOne(shown, { zone: "Europe/Berlin" });
  expect([verdict, certainty]).toEqual(["locked", "likely"]);
});

test("a short file that was appended to itself counts once", async () => {
  const { result, reports } = await replayText(
    [...log("C0 F1 F2 F3"), ...log("C0 F1 F2 F3")].join("\n"),
  );
  expect([...reports.map(short), result.summary.duplicates]).toEqual([
    "locked certain 0 3 failed-attempts@3",
    4,
  ]);
});

test("two failed attempts of one time both count, though their ids have the same hash", async () => {
  const failed = { outcome: "FAILURE", description: "bad credentials" };
  const lines = ["id-3ia3c", "id-4k3659"].map((id) => line(1, "READ_VAULT", { id, ...failed }));
  expect(short(await reportOfOne([...log("C0"), ...lines]))).toBe("at-risk certain 0 2");
});

test("an id that a start and its acknowledgement share makes no duplicate", async () => {
  const { result, reports } = await replayText(log("C0 S1 A1", { id: "t-1" }).join("\n"));
  expect([...reports.map(short), result.summary.duplicates]).toEqual(["ok certain 0 0", 0]);
});

test("only the vault that is asked for is in the report, and times to come do not move its moment", async () => {
  const lines = log(`C0 S1 2:S6 3:S${400 * 86_400}`).join("\n");
  const { result, reports } = await replayText(lines, { vault: vaultUuid(2) });
  expect(reports.map(({ uuid }) => uuid)).toEqual([vaultUuid(2)]);
  expect(result.summary).toMatchObject({ vaultCount: 1, items: 4, asOf: moment(6) });
  const at = async (seconds: number) =>
    (await reportOfOne(log("C0 S10"), { until: Date.parse(moment(seconds)) })).exchange;
  expect(await at(100)).toMatchObject({ tokenExpiry: moment(130), expired: false });
  expect(await at(130)).toMatchObject({ expired: true });
});

test.each([
  [
    60,
    /^Have the client acknowledge it before /,
    /locks the vault\.\nFind .* can still be acknowledged/,
  ],
  [
    600,
    /^Not locked: the token has expired/,
    /locks the vault\.\nFind .* acknowledged exchange resets/,
  ],
])("advice on an open exchange, %i s after noon", async (seconds, open, risk) => {
  const adviceOn = async (letters: string) =>
    (await reportOfOne(log(letters), { now: Date.parse(moment(seconds)) })).advice.steps.join("\n");
  expect(await adviceOn("C0 S10c")).toMatch(open);
  expect(await adviceOn("C0 S10c F11c F12c")).toMatch(risk);
});

test("releases before 1.2.17 cannot unlock what failed attempts have locked", async () => {
  const stepsOf = async (letters: string) =>
    (await reportOfOne(log(letters), { rules: { ...rules, release: "1.2.16" } })).advice.steps;
  expect((await stepsOf("C0 F1 F2 F3 L4")).at(-1)).toMatch(/^Release 1\.2\.16 cannot unlock it/);
  expect((await stepsOf("C0 S1 S2 S3 S4 S5")).at(-1)).toMatch(/unlock the vault in the console/);
});

test.each<[string, string | undefined, Partial<ReplayOptions>?]>([
  ["C0 S1 A2 S3 F4 F5", "--failed 2 --starts 1"],
  ["C0 S1 S2 S3 S4", "--failed 0 --starts 4"],
  ["C0 S1 A2", undefined],
  ["F1 F2", undefined],
  ["C0 F1 F2", undefined, { until: Date.parse(moment(9)) }],
  ["C0 F1 F2 F3", undefined],
])(
  "advice names the counters of the log where they are certain: %s",
  async (letters, counts, more) => {
    const { next } = (await reportOfOne(log(letters), more)).advice;
    const set = next.map(({ argv }) => argv.slice(3).join(" ")).find((one) => /--failed/.test(one));
    expect(set).toBe(counts && `--reset ${counts}`);
  },
);
