import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { maxRows, maxSections, writeHtml } from "../../src/audit/render/html/page.ts";
import { lockedPeriods, openPeriods } from "../../src/audit/render/html/lanes.ts";
import { chosen, maxDrawn, scaleOf } from "../../src/audit/render/html/timeline.ts";
import { clip, escape, html } from "../../src/audit/render/html/parts.ts";
import * as reports from "../support/audit-reports.ts";
import { line, reportOfOne } from "./support.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

const generatedAt = "2026-11-20T16:00:00Z";
const pageOf = (vaults: VaultReport[], more = {}): string =>
  [
    ...writeHtml({
      title: "Ticket 4711",
      generatedAt,
      summary: reports.summaryOf(vaults),
      vaults,
      ...more,
    }),
  ].join("");

describe("a text", () => {
  test.each([
    [`<b a="1" c='2'>&amp;`, "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;"],
    ["\u001B[2J\r\n\u0000\u007F\u009B", "\\u{1b}[2J\\u{d}\\u{a}\\u{0}\\u{7f}\\u{9b}"],
    ["a\u202Eb\u2066c\u200Fd\u061C", "a\\u{202e}b\\u{2066}c\\u{200f}d\\u{61c}"],
    ["\uFEFF\u200B\u2028\u{E0041}\uD800", "\\u{feff}\\u{200b}\\u{2028}\\u{e0041}\\u{d800}"],
    ["שלום 漢字 👩‍💻 é", "שלום 漢字 👩‍💻 é"],
  ])("%j enters the page as %j", (text, expected) => {
    expect(escape(text)).toBe(expected);
    expect(html`<p title="${text}">${[text, [text]]}</p>`.markup).toBe(
      `<p title="${expected}">${expected}${expected}</p>`,
    );
  });

  test("is cut between characters, and has few marks", () => {
    expect(clip("abcdef", 3)).toBe("abc…");
    expect(clip("ab😀", 3)).toBe("ab…");
    expect(clip(`e${"\u0301".repeat(9)}x`, 10)).toBe(`e${"\u0301".repeat(4)}x`);
    expect(clip("x".repeat(1e7), 10)).toHaveLength(11);
  });
});

describe("the page", () => {
  test("allows its own style and script by their hashes, and nothing else", () => {
    const page = pageOf(reports.problems());
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/
      .exec(page)?.[1]
      ?.replaceAll("&#39;", "'");
    const hash = (tag: string): string => {
      const text = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page)?.[1] ?? "";
      return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    };
    expect(policy).toBe(
      `default-src 'none'; style-src ${hash("style")}; script-src ${hash("script")}; img-src 'none'; base-uri 'none'; form-action 'none'`,
    );
    expect(page.indexOf("Content-Security-Policy")).toBeLessThan(page.indexOf("<style>"));
    expect(page.match(/<(style|script)\b/g)).toEqual(["<style", "<script"]);
    expect(page).not.toMatch(/<[^>]*\s(?:style|on\w+|src|srcset|action)=/);
  });

  test("finds a vault that is fine by who has used it", async () => {
    const log = ["CREATE_VAULT", "READ_VAULT", "ACKNOWLEDGE_READ_VAULT"].map((action, at) =>
      line(at, action, { externalRef: "Nightly-4711", ipAddress: "203.0.113.9" }),
    );
    const vault = await reportOfOne(log, { timeline: "problems" });
    expect(vault.verdict).toBe("ok");
    const finds = [...pageOf([vault]).matchAll(/<(tr|article)\b[^>]*?\sdata-find="([^"]*)"/g)];
    expect(finds.map(([, element]) => element)).toEqual(["tr", "article"]);
    for (const [, , find] of finds) expect(find).toContain("203.0.113.9 nightly-4711");
  });

  test("of no vaults says so", () => {
    const page = pageOf([]);
    expect(page).toContain("All vaults are fine.");
    expect(page).not.toContain('id="filter"');
  });

  test("of very many vaults is written in pieces and says what it leaves out", () => {
    let taken = 0;
    function* all(): Generator<VaultReport> {
      for (let n = 0; n < 1_000_000; n += 1) {
        taken += 1;
        yield { ...reports.lockedByFailures(), uuid: reports.uuid(n) };
      }
    }
    const summary = reports.summaryOf([], {
      verdicts: {
        locked: 1_000_000,
        "at-risk": 0,
        "open-exchange": 0,
        unknown: 0,
        deleted: 0,
        ok: 5,
      },
    });
    let [articles, rows, longest] = [0, 0, 0];
    let text = "";
    for (const piece of writeHtml({ title: "many", generatedAt, summary, vaults: all() })) {
      longest = Math.max(longest, piece.length);
      articles += piece.split("<article").length - 1;
      rows += piece.split("<tr data-find").length - 1;
      if (piece.includes('id="vaults"')) text = piece;
    }
    expect({ taken, articles, rows }).toEqual({
      taken: maxRows,
      articles: maxSections,
      rows: maxRows,
    });
    expect(text).toContain("995,000 more vaults need action; vault audit-replay --json lists all.");
    expect(text).toContain(
      "The first 300, worst first, have details below; the others only a row here.",
    );
    expect(longest).toBeLessThan(50_000);
  });

  test("says how many vaults need no action, listed or not", () => {
    const fine = Array.from({ length: maxRows }, (_, n) => ({
      ...reports.fine(),
      uuid: reports.uuid(n),
    }));
    const summary = reports.summaryOf(fine);
    summary.verdicts.ok = 7000;
    const text = [...writeHtml({ title: "many", generatedAt, summary, vaults: fine })].join("");
    expect(text).toContain(
      "2,000 more vaults need no action; vault audit-replay --json lists all.",
    );
    expect(text.match(/<summary>[\d,]+ vaults need no action/g)).toEqual([
      "<summary>7,000 vaults need no action",
      "<summary>7,000 vaults need no action",
    ]);
  });
});

describe("a timeline", () => {
  const second = 1000;
  const scale = scaleOf([0, second, 2 * second, 40 * 86_400_000], 100, 900);

  test("goes from one end to the other, keeps the order, and leaves room between neighbors", () => {
    const times = [
      -5,
      0,
      500,
      second,
      1500,
      2 * second,
      3 * second,
      20 * 86_400_000,
      40 * 86_400_000,
      41 * 86_400_000,
    ];
    const places = times.map((time) => scale.x(time));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect([places[0], places[1], places.at(-2), places.at(-1)]).toEqual([100, 100, 900, 900]);
    expect(scale.x(second) - scale.x(0)).toBeGreaterThan(100);
    expect(scale.gaps).toEqual([
      { x: (scale.x(2 * second) + 900) / 2, milliseconds: 40 * 86_400_000 - 2 * second },
    ]);
    expect(scaleOf([7], 100, 900).x(7)).toBe(500);
  });

  test("draws of many events the first, the newest, and all about the lock", () => {
    const { timeline = [] } = reports.fine();
    const [usual] = timeline;
    const lock = reports.lockedByFailures().timeline?.find(({ locks }) => locks);
    if (usual === undefined || lock === undefined) throw new Error("fixtures without events");
    const many = Array.from({ length: 1000 }, (_, index) =>
      index === 500 ? lock : { ...usual, note: String(index) },
    );
    const drawn = chosen(many);
    expect(drawn).toHaveLength(maxDrawn);
    expect(drawn).toEqual(many.filter((event) => drawn.includes(event)));
    for (const index of [0, 499, 500, 501, 999]) expect(drawn).toContain(many[index]);
  });

  test("knows when an exchange was open, and how that ended", () => {
    const ends = (report: VaultReport): string[] =>
      openPeriods(report.timeline ?? [], 300_000, Date.parse("2026-11-20T15:02:11Z")).map(
        ({ from, to, end }) => `${end} after ${(to - from) / 1000} s`,
      );
    expect(ends(reports.lockedByFailures())).toEqual([
      "acknowledged after 1 s",
      "acknowledged after 2 s",
    ]);
    expect(ends(reports.openExchange())).toEqual(["not acknowledged yet after 191 s"]);
    expect(ends(reports.atRisk())).toEqual(["acknowledged after 30 s"]);
    expect(ends(reports.lockedByAdministrator())).toEqual(["its token expired after 300 s"]);
    expect(ends(reports.lockedByStarts())).toEqual(
      Array.from(
        { length: 4 },
        (_, n) => `replaced by another start after ${n === 3 ? 242 : 241} s`,
      ),
    );
  });

  test("knows when a vault was locked, also where no event shows it", () => {
    const periods = (report: VaultReport): string[] =>
      lockedPeriods(report, Date.parse("2026-11-20T15:02:11Z")).map(
        ({ from, to, end }) =>
          `${new Date(from).toISOString().slice(5, 19)} to ${new Date(to).toISOString().slice(5, 19)}: ${end}`,
      );
    expect(periods(reports.lockedByAdministrator())).toEqual([
      "11-04T12:00:00 to 11-04T12:30:00: unlocked",
      "11-06T16:20:00 to 11-20T15:02:11: still locked",
    ]);
    expect(periods(reports.lockedByExpiredStart())).toEqual([
      "11-12T10:05:00 to 11-20T15:02:11: still locked",
    ]);
    expect(periods(reports.lockedByTime())).toEqual([
      "11-02T09:00:01 to 11-20T15:02:11: still locked",
    ]);
    expect(periods(reports.lockedUnseen())).toEqual([
      "11-01T00:00:05 to 11-20T15:02:11: still locked",
    ]);
    expect(periods(reports.atRisk())).toEqual([]);
  });
});
