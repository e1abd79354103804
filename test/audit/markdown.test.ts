import { marked } from "marked";
import { describe, expect, test } from "vitest";
import { escape, maxDescribed, writeMarkdown } from "../../src/audit/render/markdown.ts";
import { auditSummary } from "../../src/audit/render/text/view.ts";
import { plain } from "../../src/terminal/palette.ts";
import * as reports from "../support/audit-reports.ts";
import { failure, line, replayText, vaultUuid } from "./support.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

const textOf = (vaults: readonly VaultReport[], summary = reports.summaryOf(vaults)): string =>
  [...writeMarkdown(summary, vaults)].join("");

describe("the text for a ticket", () => {
  test("of a lockout: the answer, the vault with its decisive items and commands, rules and inputs last", async () => {
    const web = { externalRef: "web_1", ipAddress: "10.0.0.8" };
    const cron = { externalRef: "cron|*", ipAddress: "10.0.0.7" };
    const log = [
      line(0, "READ_VAULT", web),
      line(1, "ACKNOWLEDGE_READ_VAULT", web),
      ...[2, 3, 4].map((at) => failure(at, cron)),
      line(5, "CREATE_VAULT", { vaultUuid: vaultUuid(2) }),
    ];
    const { result, reports: vaults } = await replayText(log.join("\n"), {
      labels: new Map([[vaultUuid(1), "card <1>"]]),
    });
    expect(textOf(vaults, result.summary)).toMatchSnapshot();
  });

  test("and that for a terminal say once that an item locked the vault", async () => {
    const log = [1, 2].map((at) => failure(at));
    const locking = failure(3, { description: "bad credentials, vault locked" });
    const { result, reports: vaults } = await replayText([...log, locking].join("\n"));
    expect(textOf(vaults, result.summary)).toContain("refused: credentials (locks)");
    const view = { isTTY: true, columns: 80, palette: plain, now: 0 };
    expect(auditSummary(result.summary, vaults, view)).toMatch(
      /refused: credentials {2}line 3 {2}← locks$/m,
    );
  });

  test("begins with the answer of the terminal, and describes only vaults that need action", () => {
    const vaults = [...reports.problems(), reports.deleted(), reports.fine()];
    const text = textOf(vaults);
    expect(text).toMatch(
      /^\*\*Warning:\*\* 1 of 71 items .*\n\n\*\*5 vaults locked; 1 by reference nightly-backup-0412 from 203\.0\.113\.7, .*\.\*\*\n\n10 vaults: 6 locked/,
    );
    expect(text.match(/^## .*$/gm)).toHaveLength(reports.problems().length + 1);
    expect(text).toMatch(/\n## Rules and inputs\n\n(- .*\n)+$/);
  });

  test("says what was left out", async () => {
    const { result } = await replayText(`${failure(1)}\n${"x".repeat(1024 * 1024 + 1)}\n`);
    expect([...writeMarkdown(result.summary, [])].join("")).toContain(
      "\n- Left out: 1 line that is not an item\n",
    );
  });

  test("has at most five items of a vault", () => {
    for (const vault of reports.problems())
      expect(textOf([vault]).match(/^\| \d{4}-.*$/gm)?.length ?? 0).toBeLessThanOrEqual(5);
    expect(textOf([reports.lockedByStarts()]).match(/^\| \d{4}-.*$/gm)).toHaveLength(5);
  });

  test("of very many vaults has a line for the rest", () => {
    let taken = 0;
    function* all(): Generator<VaultReport> {
      for (;;) {
        taken += 1;
        yield { ...reports.lockedByStarts(), uuid: reports.uuid(taken) };
      }
    }
    const counts = {
      locked: 3000,
      "at-risk": 0,
      "open-exchange": 0,
      unknown: 0,
      deleted: 0,
      ok: 1,
    };
    const text = [
      ...writeMarkdown(reports.summaryOf([], { vaultCount: 3001, verdicts: counts }), all()),
    ].join("");
    expect(text).toContain(
      `… and ${(3000 - maxDescribed).toLocaleString("en")} more vaults need action; \`vault audit-replay --json\` lists all.`,
    );
    expect(taken).toBe(maxDescribed + 1);
  });
});

describe("a text that is not trusted", () => {
  const own = new Set([
    "h2",
    "p",
    "strong",
    "ul",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "pre",
  ]);

  test("of hostile items is shown as text only", async () => {
    const vaults = [reports.hostile(), { ...reports.hostile(), label: reports.hostileTexts[0] }];
    const page = await marked.parse(textOf(vaults, reports.hostileSummary(vaults)));
    expect(
      [...page.matchAll(/<([a-z0-9]+)/g)]
        .map(([, tag]) => tag)
        .filter((tag) => !own.has(tag ?? "")),
    ).toEqual([]);
    expect(page).not.toMatch(
      // eslint-disable-next-line no-control-regex -- what must not be there
      /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/,
    );
  });

  test.each([
    "**a** _b_ ~~c~~ `d` \\*e\\*",
    "<script>alert(1)</script> <!-- &amp; &#64;",
    "[a](javascript:b) ![c](d) [e]: f",
    "https://evil.example/x ftp://evil.example www.evil.example WWW.evil.example a@evil.example",
    "| a | b | $c$ #1 @someone",
    "```\n# heading\n- item\n> quote",
  ])("%j reads as it is written", async (text) => {
    for (const [markdown, start, end] of [
      [`**Cause:** ${escape(text)}`, "<p><strong>Cause:</strong> ", "</p>\n"],
      [`- x ${escape(text)}`, "<ul>\n<li>x ", "</li>\n</ul>\n"],
    ] as const) {
      const page = await marked.parse(markdown);
      const content = page.slice(start.length, -end.length);
      expect(page).toBe(`${start}${content}${end}`);
      const entities: Record<string, string> = {
        "&lt;": "<",
        "&gt;": ">",
        "&quot;": '"',
        "&#39;": "'",
        "&amp;": "&",
      };
      expect(content).not.toMatch(/<|>/);
      expect(
        content.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? ""),
      ).toBe(text.replaceAll("\n", "\\u{a}"));
    }
    const cells = await marked.parse(`| a | b |\n|---|---|\n| ${escape(text)} | x |`);
    expect(cells.match(/<td>/g)).toHaveLength(2);
  });

  test("is cut, and names no command but its own", () => {
    expect(escape("x".repeat(1e6))).toHaveLength(200);
    const counted = {
      support:
        "Wait: vault guard 00000000-0000-4000-8000-000000000001 --reset --failed 2 --starts 0",
      developer: "",
      next: [],
    };
    expect(textOf([{ ...reports.lockedByStarts(), advice: counted }])).toContain(
      `\n${counted.support.slice(6)}\n`,
    );
    const advice = {
      support: "vault delete x; vault delete ../../etc",
      developer: "`rm -rf /` vault guard x",
      next: [],
    };
    expect(textOf([{ ...reports.lockedByStarts(), advice }])).not.toContain("```");
  });
});
