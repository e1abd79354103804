import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { auditSummary } from "../../src/audit/render/text/view.ts";
import { exactTime, shown } from "../../src/audit/render/text/text.ts";
import { auditTimeline } from "../../src/audit/render/text/timeline.ts";
import type { AuditView } from "../../src/audit/render/text/text.ts";
import { auditBasis, columnLines } from "../../src/audit/render/text/basis.ts";
import { createPalette, plain } from "../../src/terminal/palette.ts";
import * as reports from "../support/audit-reports.ts";

const now = Date.parse("2026-11-20T16:00:00Z");
const colors = await createPalette(true);
const viewOf = (columns: number, color = false): AuditView => ({
  isTTY: true,
  columns,
  palette: color ? colors : plain,
  now,
});

beforeAll(() => {
  vi.stubEnv("TZ", "Europe/Berlin");
});
afterAll(() => {
  vi.unstubAllEnvs();
});

const few = () => [
  reports.lockedByFailures(),
  reports.openExchange(),
  reports.revived(),
  reports.fine(),
];
const every = () => [...reports.problems(), reports.revived(), reports.deleted(), reports.fine()];
const hostile = () => [reports.hostile()];

const views: Record<string, (view: AuditView) => string> = {
  "few vaults": (view) => auditSummary(reports.summaryOf(few()), few(), view),
  "a vault of each kind": (view) => auditSummary(reports.summaryOf(every()), every(), view),
  "the same, in few lines each": (view) =>
    auditSummary(reports.summaryOf(every()), every(), view, undefined, {
      blocks: 2,
      sketches: 3,
      problems: 5,
    }),
  "who caused how many": (view) => auditSummary(reports.summaryOf(few()), [], view),
  "the basis": (view) => auditBasis(reports.summaryOf(few()), view),
  "the basis of an empty log": (view) => auditBasis(reports.emptySummary(), view),
  "a lock of failures": (view) => auditTimeline(reports.lockedByFailures(), reports.rules, view),
  "a lock of starts": (view) => auditTimeline(reports.lockedByStarts(), reports.rules, view),
  "contradictions in place": (view) => auditTimeline(reports.atRisk(), reports.rules, view),
  "an open exchange, older events left out": (view) =>
    auditTimeline({ ...reports.openExchange(), timelineOmitted: 1203 }, reports.rules, view),
  "what if": (view) => auditSummary(reports.summaryOf([]), [], view, reports.whatIf()),
};

const hostileViews: Record<string, (view: AuditView) => string> = {
  summary: (view) => auditSummary(reports.hostileSummary(hostile()), hostile(), view),
  basis: (view) => auditBasis(reports.hostileSummary(hostile()), view),
  timeline: (view) => auditTimeline(reports.hostile(), reports.rules, view),
  "what if": (view) => {
    const [script, , , , , escapes] = reports.hostileTexts;
    return auditSummary(reports.summaryOf([]), [], view, {
      change: `${script}${escapes}`,
      vaults: [{ uuid: escapes, before: reports.hostile(), after: reports.hostile() }],
      unchanged: 0,
      moreChanged: 0,
    });
  },
};

describe.each([80, 120])("at %i columns", (columns) => {
  test.each(Object.entries(views))("%s", (_name, render) => {
    const text = render(viewOf(columns));
    expect(text.split("\n").filter((line) => stringWidth(line) > columns)).toEqual([]);
    expect(text.split("\n").filter((line) => line.endsWith(" "))).toEqual([]);
    expect(`\n${text}`).toMatchSnapshot();
  });
});

describe("color", () => {
  test.each(Object.entries(views))("changes nothing else: %s", (_name, render) => {
    const colored = render(viewOf(80, true));
    expect(stripVTControlCharacters(colored).replaceAll(/ +$/gm, "")).toBe(render(viewOf(80)));
  });

  test("by meaning", () => {
    const summary = auditSummary(reports.summaryOf(few()), few(), viewOf(80, true));
    expect(summary.replaceAll("\u001B", "␛")).toMatchSnapshot("summary");
    const timeline = auditTimeline(reports.lockedByFailures(), reports.rules, viewOf(120, true));
    expect(timeline.replaceAll("\u001B", "␛")).toMatchSnapshot("timeline");
  });
});

describe.each(Object.entries(hostileViews))("hostile values in the %s", (_name, render) => {
  test.each([40, 80, 120])(
    "reach a terminal of %i columns as visible text only, and no line of their own",
    (columns) => {
      const text = render(viewOf(columns));
      expect(text).not.toMatch(
        // eslint-disable-next-line no-control-regex -- what must not be there
        /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/,
      );
      // At 40 columns a word is broken where it does not fit.
      expect(text).not.toMatch(columns >= 80 ? /^ *vault: all is well/m : /^vault: all is well/m);
      expect(text).toContain("\\u{1b}");
      if (columns >= 80)
        expect(text.split("\n").filter((line) => stringWidth(line) > columns)).toEqual([]);
      // eslint-disable-next-line no-control-regex -- the palette's own sequences are the only ones
      expect(render(viewOf(columns, true)).replaceAll(/\u001B\[\d+m/g, "")).not.toContain("\u001B");
    },
  );
});

test("a contradiction before all events that are listed stands before them", () => {
  const vault = reports.atRisk();
  const listed = vault.timeline?.slice(-1) ?? [];
  const text = auditTimeline({ ...vault, timeline: listed }, reports.rules, viewOf(120));
  const [, timeline = ""] = text.split("Timeline");
  expect(timeline.indexOf("!")).toBeGreaterThan(-1);
  expect(timeline.indexOf("!")).toBeLessThan(timeline.indexOf("line "));
});

describe("many vaults", () => {
  test("are counted by the summary and taken only as far as they are shown", () => {
    const summary = reports.summaryOf([], {
      vaultCount: 10_000_000,
      verdicts: {
        locked: 300,
        "at-risk": 0,
        "open-exchange": 0,
        unknown: 0,
        deleted: 0,
        ok: 9_999_700,
      },
    });
    let taken = 0;
    function* all() {
      for (let n = 0; n < 10_000_000; n += 1) {
        taken += 1;
        yield n < 300 ? { ...reports.lockedByStarts(), uuid: reports.uuid(n) } : reports.fine(n);
      }
    }
    const text = auditSummary(summary, all(), viewOf(80));
    expect(text).toContain("10,000,000 vaults: 300 locked, 9,999,700 ok");
    expect(text).toContain("… and 260 more that need action; --json or -o ndjson lists all");
    expect(text).toContain(
      "… and 9,999,700 more that need no action; --json or -o ndjson lists all",
    );
    expect(text).toContain("275 more are not described here");
    expect(taken).toBe(41);
  });

  test("with --problems, say nothing of the others, which --json would not list either", () => {
    const [summary, locked] = [reports.summaryOf(few()), few().slice(0, 1)];
    const text = auditSummary(summary, locked, viewOf(80), undefined, { others: 0 });
    expect(text).not.toContain("that need no action");
  });

  test("without any, and with nothing to say", () => {
    expect(auditSummary(reports.emptySummary(), [], viewOf(80))).toMatchSnapshot();
  });
});

test("columns: what each was taken for, a line for each input", () => {
  expect(columnLines(reports.summaryOf([]))).toEqual([
    'audit-2026-11.ndjson.gz (NDJSON, gzip): vault: "vault.uuid" (--map), time: "transactionTime", action: "what" (by its values), endpoint: "endpoint", ip: "ipAddress", ref: "externalRef", outcome: "outcome", description: "details"',
    'console.csv (CSV, newest first): vault: "vault.uuid" (--map), time: "transactionTime", action: "what" (by its values), ip: "ipAddress", outcome: "outcome"',
  ]);
  for (const line of columnLines(reports.hostileSummary([])))
    expect(line).toMatch(/^[\u0020-\u007E…]+$/);
});

describe("a text of an item", () => {
  test.each([
    ["plain", "plain"],
    ["a\nb\tc", "a\\u{a}b\\u{9}c"],
    ["\u001B[31m", "\\u{1b}[31m"],
    ["a\u2028b\u202E", "a\\u{2028}b\\u{202e}"],
    ["\u200Bd\u{E0041}", "\\u{200b}d\\u{e0041}"],
    ["12345678901234567890", "12345678901234567890"],
    ["123456789012345678901", "1234567890123456789…"],
    ["漢字漢字漢字漢字漢字漢字", "漢字漢字漢字漢字漢…"],
    [`e${"\u0301".repeat(300)}`, `e${"\u0301".repeat(4)}…`],
  ])("%j is shown in 20 columns as %j", (text, expected) => {
    expect(shown(text, 20)).toBe(expected);
  });

  test("that is no date is shown as it is, and a date in its zone", () => {
    expect(exactTime("\u001Bsoon")).toBe("\\u{1b}soon");
    expect(exactTime("2026-07-01T22:00:09.999Z")).toBe("2026-07-02 00:00:09");
  });
});
