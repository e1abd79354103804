import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import type { VaultReport } from "../../src/documents/audit.ts";
import { tempDir } from "../support/cleanup.ts";
import { failure, line, moment, replayText, reportOfOne, rules, vaultUuid } from "./support.ts";

const day = 86_400;

/** Items by letters, which `at` and more follow: `S1` is a start one second after noon. */
const items: Record<string, (at: number, more?: object) => string> = {
  C: (at) => line(at, "CREATE_VAULT"),
  S: (at, more) => line(at, "READ_VAULT", { ...more }),
  U: (at) => line(at, "UPDATE_VAULT"),
  A: (at, more) => line(at, "ACKNOWLEDGE_READ_VAULT", { ...more }),
  B: (at) => line(at, "ACKNOWLEDGE_UPDATE_VAULT"),
  F: (at, more) => failure(at, { ...more }),
  /** Refused because of a lock; an item that says that it locks; refused for an unknown reason, or with 401 alone. */
  L: (at) => failure(at, { description: "the vault is locked" }),
  K: (at) => failure(at, { description: "bad credentials, vault locked" }),
  N: (at) => failure(at, { description: "too many starts without acknowledgement, vault locked" }),
  R: (at) => failure(at, { description: "qwx" }),
  P: (at) => failure(at, { description: undefined }),
  Q: (at) => failure(at, { outcome: "401 Unauthorized", description: undefined }),
  /** An unknown outcome, of a start and of an acknowledgement; an unknown action. */
  V: (at) => line(at, "READ_VAULT", { outcome: "qwx" }),
  W: (at) => line(at, "ACKNOWLEDGE_READ_VAULT", { outcome: "qwx" }),
  X: (at) => line(at, "QWX"),
  G: (at) => failure(at, { description: "no such vault" }),
  M: (at) => failure(at, { description: "Down for maintenance" }),
  D: (at) => line(at, "DELETE_VAULT"),
  Z: (at) => line(at, "UNLOCK_VAULT"),
  Y: (at) => line(at, "LOCK_VAULT"),
};

const log = (letters: string, more?: object): string[] =>
  letters.split(" ").map((each) => {
    const [, letter = "", at = ""] = /^([A-Z])(\d+)$/.exec(each) ?? [];
    return items[letter]?.(Number(at), more) ?? "";
  });

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
  ["C0 F10 S100 A101 M400", "ok certain 0 0", old],
  ["C0 F10", "ok certain 0 1", old],
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
])("%s: %s", async (letters, expected, options = {}) => {
  expect(short(await reportOfOne(log(letters), options))).toBe(expected);
});

test.each([
  ["C0 A8 S10", "ok likely 0 0 acknowledgement-before-start"],
  ["C0 S5 A6 A8 S10", "open-exchange likely 1 0 acknowledgement-without-start"],
  ["A8 S10", "open-exchange certain 1 0"],
])("with one reference, %s: %s", async (letters, expected) => {
  expect(short(await reportOfOne(log(letters, { externalRef: "job" })))).toBe(expected);
});

test("an unreadable line and a column without outcomes make it likely", async () => {
  const unread = await reportOfOne([...log("C0 S1 A2"), "no item"]);
  expect(unread).toMatchObject({ certainty: "likely", reason: "1 line could not be read" });
  const lines = log("C0 S1 A2").map((one) => one.replace(',"outcome":"SUCCESS"', ""));
  expect((await reportOfOne(lines)).certainty).toBe("likely");
});

test("the first twenty contradictions are listed, and chains name what locked", async () => {
  const acks = Array.from({ length: 30 }, (_, index) => `A${index + 1}`).join(" ");
  const { contradictions, moreContradictions } = await reportOfOne(log(`C0 ${acks}`));
  expect([contradictions.length, moreContradictions]).toEqual([20, 10]);
  const { cause } = await reportOfOne(log("C0 F1 F2 F3 F4 F5 L6"));
  expect(cause?.chain.map((one) => one.line)).toEqual([2, 3, 4]);
  const between = await reportOfOne(log("C0 F1 R2 F3 F4"));
  expect(between.cause?.chain.map((one) => one.line)).toEqual([2, 4, 5]);
  const attempts = Array.from({ length: 30 }, (_, at) => `F${at + 1}`).join(" ");
  const own = { id: "ID", operation: "get", generation: 6, state: "rejected", startedAt: "" };
  const many = await reportOfOne(log(`C0 ${attempts}`, { externalRef: "cron" }), {
    rules: { ...rules, limits: { unackedStarts: 5, failedAttempts: 30 } },
    own: () => own,
  });
  expect(many.cause?.chain).toHaveLength(24);
  expect(many.cause?.text).toContain(" after 30 failed attempts in a row, the last one ");
  expect(many.cause?.item?.own).toEqual(own);
});

test("a vault without a start for a year has locked itself, but for generic ones", async () => {
  const late = line(400 * day, "READ_VAULT", { vaultUuid: vaultUuid(2) });
  const now = Date.parse(moment(500 * day));
  const one = async (lines: string[], by: "path" | "stream" = "path") => {
    const { reports } = await replayText(lines.join("\n"), { now }, by);
    return short(reports.find(({ uuid }) => uuid === vaultUuid(1)) as VaultReport);
  };
  const idle = [...log("C0 S1 A2"), late];
  expect(await one(idle)).toBe(`locked likely 0 0 auto-lock@${1 + 365 * day}`);
  const generic = idle.map((text) =>
    text.replace("{", '{"endpoint":"POST /vault/generic/offline/get-start",'),
  );
  expect(await one(generic)).toBe("ok certain 0 0");
  expect(await one(generic, "stream")).toBe("ok certain 0 0");
  expect(await one(log(`C0 S1 A2 L${400 * day}`))).toBe(
    `locked certain 0 0 auto-lock@${1 + 365 * day}`,
  );
});

test("former action names, other wordings of failures, and checks of the application", async () => {
  const former = [
    line(0, "REGISTER_VAULT"),
    line(1, "START_USE_VAULT"),
    line(2, "COMPLETE_USE_VAULT"),
  ].join("\n");
  const { result, reports } = await replayText(former);
  expect(reports.map(short)).toEqual(["ok certain 0 0"]);
  expect(result.summary.notes.join()).toMatch(
    /names of actions are from before release 1.2.11: "REGISTER_VAULT" ×1, /,
  );
  const release = { rules: { ...rules, release: "1.2.10" } };
  expect((await replayText(former, release)).result.summary.notes.join()).not.toMatch(
    /names of actions/,
  );
  const odd = [1, 2, 3].map((at) => line(at, "READ_VAULT", { description: "secret differs" }));
  const failed = { rules: { ...rules, failure: "secret differs" } };
  expect(short(await reportOfOne([...log("C0"), ...odd], failed))).toMatch(/^locked certain/);
  const checks = [1, 2, 3].map((at) =>
    line(at, "API_KEY_CHECK", { outcome: "FAILURE", description: "API key check failed" }),
  );
  const checked = await replayText([...log("C0"), ...checks].join("\n"));
  expect(checked.reports).toMatchObject([{ verdict: "ok", items: 1 }]);
  expect(checked.result.summary.applicationItems).toBe(3);
});

describe("items out of order", () => {
  const others = Array.from({ length: 5000 }, (_, index) =>
    line(100 + index, "READ_VAULT", { vaultUuid: vaultUuid(2 + (index % 50)) }),
  );
  const one = async (lines: string[]) => {
    const { reports, result } = await replayText(lines.join("\n"));
    return { ...result.summary, one: reports.find(({ uuid }) => uuid === vaultUuid(1)) };
  };
  it("are sorted within the window, and told of beyond it", async () => {
    const near = await one([...log("C0 A2"), ...others.slice(0, 3000), ...log("S1")]);
    expect(near.one).toMatchObject({ verdict: "ok", contradictions: [] });
    expect(near.reordered).toBeGreaterThan(0);
    const far = [...log("C0 S60"), ...[1, 2, 3, 4].flatMap(() => others), ...log("A51")];
    const late = await one(far);
    expect(late.one?.reason).toMatch(/too far out of order to be sorted/);
    expect(late.notes.join()).toMatch(/too far out of order/);
  });
});

describe("items that are there twice", () => {
  const bare = (lines: string[]): string[] =>
    lines.map((text) => text.replace(/"id":"[^"]*",/, ""));
  const read = async (lines: string[]) => {
    const { reports, result } = await replayText(lines.join("\n"));
    return `${reports.map(short).join()}, ${result.summary.duplicates} duplicates`;
  };
  test.each<[string, string[], string]>([
    ["with ids", [...log("C0 S1 A1"), ...log("S1 A1")], "ok certain 0 0, 2 duplicates"],
    ["an id for start and end", log("C0 S1 A1", { id: "t-1" }), "ok certain 0 0, 0 duplicates"],
    [
      "equal lines without ids",
      bare(log("C0 F1 F1 F1")),
      "locked certain 0 3 failed-attempts@1, 0 duplicates",
    ],
    [
      "a file that begins anew",
      Array.from({ length: 3 }, () => bare(log("C0 F1 F2 F2 S100 A101"))).flat(),
      "ok likely 0 0 activity-while-locked, 12 duplicates",
    ],
  ])("%s", async (_what, lines, expected) => expect(await read(lines)).toBe(expected));

  const seconds = (lines: string[]): string[] => lines.map((text) => text.replace(".000Z", "Z"));
  const inMilliseconds = (lines: string[]): string[] =>
    lines.map((text, index) => text.replace(".000Z", `.${101 + index}Z`));
  test.each<[string, string[], string[], string]>([
    [
      "one without ids",
      log("C0 S1 A2 F3 F4"),
      bare(log("C0 S1 A2 F3 F4")),
      "at-risk likely 0 2, 5 duplicates",
    ],
    [
      "of other precision",
      inMilliseconds(log("C0 F1 F2 S3 A4 F5 F6")),
      bare(seconds(log("F2 S3 A4 F5 F6"))),
      "at-risk likely 0 2, 5 duplicates",
    ],
    [
      "of which the larger number counts",
      bare(log("F1 F1 F2")),
      bare(log("F1 F2 F2")),
      "locked likely 0 3 failed-attempts@2, 2 duplicates",
    ],
  ])("two exports, %s", async (_what, first, second, expected) => {
    const folder = tempDir("two");
    const inputs = [first, second].map((lines, index) => {
      const path = join(folder, `${index}`);
      writeFileSync(path, lines.join("\n"));
      return { name: `${index}`, path };
    });
    for (const order of [inputs, inputs.toReversed()]) {
      const { reports, result } = await replayText("", { inputs: order });
      expect(`${reports.map(short).join()}, ${result.summary.duplicates} duplicates`).toBe(
        expected,
      );
    }
  });
});

test("only the vault that is asked for is in the report, and times to come do not move its moment", async () => {
  const other = line(6, "READ_VAULT", { vaultUuid: vaultUuid(2) });
  const future = line(400 * day, "READ_VAULT", { vaultUuid: vaultUuid(3) });
  const { result, reports } = await replayText([...log("C0 S1"), other, future].join("\n"), {
    vault: vaultUuid(2).toUpperCase(),
  });
  expect(reports.map(({ uuid }) => uuid)).toEqual([vaultUuid(2)]);
  expect(result.summary).toMatchObject({ vaultCount: 1, items: 4, asOf: moment(6) });
  const at = async (seconds: number) =>
    (await reportOfOne(log("C0 S10"), { until: Date.parse(moment(seconds)) })).exchange;
  expect(await at(100)).toMatchObject({ tokenExpiry: moment(130), expired: false });
  expect(await at(130)).toMatchObject({ expired: true });
});

describe("advice", () => {
  const adviceIn = async (lines: string[], more: Partial<ReplayOptions> = {}) =>
    (await reportOfOne(lines, more)).advice;

  test.each([
    ["held", 60, /its status names what is possible/, /can still be acknowledged/],
    ["intent", 60, /its status names the next step\./, /locks the vault\.$/],
    ["held", 600, /its status names the next step\./, /locks the vault\.$/],
  ])("on this machine's exchange, %s, %i s after noon", async (state, seconds, open, risk) => {
    const own = () => ({ id: "x", operation: "get", generation: 1, state, startedAt: moment(10) });
    const options = { own, now: Date.parse(moment(seconds)) };
    const { support, next } = await adviceIn(log("C0 S10", { externalRef: "own" }), options);
    expect(support).toMatch(open);
    expect(next[0]).toEqual({ argv: ["vault", "status", vaultUuid(1)] });
    const more = log("C0 S10 F11 F12", { externalRef: "own" });
    expect((await adviceIn(more, options)).support).toMatch(risk);
  });

  test.each<[string, number[] | undefined, Partial<ReplayOptions>?]>([
    ["C0 S1 A2 S3 F4 F5", [2, 1]],
    ["C0 S1 S2 S3 S4", [0, 4]],
    ["C0 S1 A2", undefined],
    ["F1 F2", undefined],
    ["C0 F1 F2", undefined, { until: Date.parse(moment(9)) }],
    ["C0 F1 F2 F3", undefined],
  ])("names the counters of the log where they are certain: %s", async (letters, counts, more) => {
    const { next } = await adviceIn(log(letters), more);
    const set = next.map(({ argv }) => argv.slice(3).join(" ")).find((one) => /--failed/.test(one));
    expect(set).toBe(counts && `--reset --failed ${counts[0]} --starts ${counts[1]}`);
  });
});
