import { stripVTControlCharacters } from "node:util";
import { marked } from "marked";
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { outlineOf, timeText } from "../../src/audit/print/outline.ts";
import { maxRows, maxSections, pageReport } from "../../src/audit/print/page.ts";
import { escapeMarkdown, shown, terminalReport } from "../../src/audit/print/text.ts";
import type { VaultReport } from "../../src/documents/audit.ts";
import { createPalette } from "../../src/terminal/palette.ts";
import { commandLine } from "../../src/way.ts";
import {
  everything,
  hostile,
  many,
  one,
  printed,
  timeline,
  viewOf,
} from "../support/audit-reports.ts";
import { vaultUuid } from "./support.ts";

const textOf = (page: string): string =>
  page
    .replace(/^[^]*?<body>/, "")
    .replaceAll(/<title>.*?<\/title>|<\/?(?:b|bdi|span)(?: [^>]*)?>/g, "")
    .replaceAll(/(?:<[^>]*>)+/g, "\n")
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

test("a report of one vault on a terminal; Markdown and a page say the same", () => {
  expect(printed(one, viewOf(80)).terminal).toMatchSnapshot();
});

/** Each printer's text, without what its medium needs. */
function textsOf(report: typeof everything): Record<string, string> {
  const { terminal, markdown, page } = printed(report);
  return {
    terminal,
    markdown: markdown.replaceAll(/\\(?=[^a-z0-9\s])/gi, ""),
    page: textOf(page),
  };
}

test.each([
  ["one vault", one],
  ["a vault of each verdict", everything],
])("%s: all printers say each sentence, and none says one twice", (_name, report) => {
  const outline = outlineOf(report, { problems: 20, others: 0, sections: 20 });
  const { answers, warnings, sections } = outline;
  const facts = sections.flatMap((each) => each.facts);
  const long = facts.flatMap(({ texts }) => texts).filter((text) => text.length > 40);
  const commands = sections.flatMap(({ ways = [] }) => ways.map(({ argv }) => commandLine(argv)));
  const sentences = [...answers, ...warnings, ...long, ...commands];
  const cells = sections.flatMap(({ tables = [] }) =>
    tables.flatMap(({ rows }) => rows.flatMap((row) => row.cells)),
  );
  expect(sentences.length).toBeGreaterThan(8);
  for (const [name, text] of Object.entries(textsOf(report))) {
    const begins = [...answers, ...warnings, facts[0]?.texts[0] ?? ""];
    expect(text.replace(/^\W+/, "").startsWith(answers[0] ?? "-"), name).toBe(true);
    expect(begins.map((each) => text.indexOf(each))).toEqual(
      begins.map((each) => text.indexOf(each)).toSorted((x, y) => x - y),
    );
    for (const sentence of new Set(sentences)) {
      const expected = sentences.filter((each) => each.includes(sentence)).length;
      expect([name, sentence, text.split(sentence).length - 1]).toEqual([name, sentence, expected]);
    }
    for (const cell of cells) expect(text).toContain(timeText(cell));
  }
});

test("the answer is the first line without a terminal, too, and tables are lines with tabs", () => {
  const text = terminalReport(everything, { ...viewOf(), isTTY: false });
  const lines = text.split("\n");
  expect(lines[0]).toMatch(/^What if lock-after-failed=5: /);
  expect(lines[1]).toBe(everything.summary.found.text);
  expect(lines).toContainEqual(
    expect.stringMatching(new RegExp(`^${vaultUuid(1)}\tlocked\t2026-11-20T12:02:50.000Z\t`)),
  );
  // A column that is empty has its place in each.
  const alone = many(4);
  const bare = alone.vaults.map(({ cause: _, lockedAt: __, ...vault }) => vault);
  const others = terminalReport({ ...alone, vaults: bare }, { ...viewOf(), isTTY: false });
  const vaults = [...lines, ...others.split("\n")].filter((line) =>
    /^[\da-f-]{36}\t[a-z ]+\t(?:2\S+)?\t/.test(line),
  );
  expect(vaults.length).toBeGreaterThan(8);
  expect(new Set(vaults.map((line) => line.split("\t").length))).toEqual(new Set([8]));
});

test("with a timeline, has each event in place of those that led to the lock", () => {
  for (const text of Object.values(textsOf(timeline))) {
    expect(text.match(/2026-11-20 12:\d\d:\d\d(?= |$)[^;]/gm)?.length).toBeGreaterThanOrEqual(7);
    expect(text).toMatch(/Timeline[^]*refused: credentials \(locks\)/);
    expect(text).not.toContain("Items that led to the lock");
  }
});

describe.each([40, 80, 120])("at %i columns", (columns) => {
  test.each(Object.entries({ one, timeline, everything, hostile: hostile(), many: many(60) }))(
    "no line is wider, and color changes nothing else: %s",
    async (_name, report) => {
      const view = viewOf(columns);
      const text = terminalReport(report, view);
      const wrong = (line: string) => stringWidth(line) > columns || line.endsWith(" ");
      if (columns >= 80) expect(text.split("\n").filter(wrong)).toEqual([]);
      const palette = await createPalette(true);
      const colored = terminalReport(report, { ...view, palette });
      expect(stripVTControlCharacters(colored).replaceAll(/ +$/gm, "")).toBe(text);
    },
  );
});

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

describe("hostile texts", () => {
  const { terminal, markdown, page } = printed(hostile(), viewOf(80));
  const { terminal: events } = printed(hostile(timeline), viewOf(80));
  const unfit =
    // eslint-disable-next-line no-control-regex -- what must not be there
    /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/;

  test.each(Object.entries({ terminal, events, markdown, page }))(
    "reach no %s as control characters, or as lines of their own",
    (_name, text) => {
      expect(text).not.toMatch(unfit);
      expect(text).toContain("\\u{1b}");
      expect(text).not.toMatch(/^ *(?:vault: all is well|next: vault delete)/m);
    },
  );

  test("are no markup in Markdown", async () => {
    const tags = (await marked.parse(markdown)).matchAll(/<([a-z0-9]+)/g);
    const own = /^(?:code|h2|li|p|pre|strong|table|tbody|td|th|thead|tr|ul)$/;
    expect([...tags].map(([, tag = ""]) => tag).filter((tag) => !own.test(tag))).toEqual([]);
  });

  const starts = "- + 1. 2) # > === ```".split(" ").map((start) => `${start} a`);
  test.each([...starts, "a@b.c &amp; $x$ #1 <!-- ~~b~~"])(
    "%j reads in Markdown as it is written",
    async (text) => {
      const item = await marked.parse(`- ${escapeMarkdown(text)}`);
      expect(item).toBe(
        `<ul>\n<li>${text.replaceAll(/[&<>]/g, (at) => entities[at] ?? "")}</li>\n</ul>\n`,
      );
    },
  );

  test.each([
    ["123456789012345678901", "1234567890123456789…"],
    ["漢字漢字漢字漢字漢字漢字", "漢字漢字漢字漢字漢…"],
    [`e${"\u0301".repeat(300)}`, `e${"\u0301".repeat(4)}…`],
  ])("%j is shown in 20 columns as %j", (text, expected) => {
    expect(shown(text, 20)).toBe(expected);
  });
});

test("of very many vaults only those that are shown are read, and the others are counted", () => {
  let taken = 0;
  function* all(): Generator<VaultReport> {
    for (;;) yield { ...(one.vaults[0] as VaultReport), uuid: vaultUuid((taken += 1)) };
  }
  const verdicts = { ...one.summary.verdicts, locked: 1_000_000, ok: 500 };
  const summary = { ...one.summary, vaultCount: 1_000_500, verdicts };
  const report = { summary, vaults: all() };
  const text = terminalReport(report, viewOf(80));
  expect(taken).toBe(41);
  expect(text).toContain("1,000,500 vaults: 1,000,000 locked, 500 ok");
  expect(text).toContain("… and 999,960 more; --json or -o ndjson lists all");
  expect(text).toContain("The first 8 are described; --vault VAULT describes another one.");
  taken = 0;
  let [longest, sections] = [0, 0];
  for (const piece of pageReport({ title: "many", generatedAt: "", ...report, vaults: all() })) {
    longest = Math.max(longest, piece.length);
    sections += piece.split("<h2><b ").length - 1;
  }
  expect({ taken, sections }).toEqual({ taken: maxRows + 1, sections: maxSections });
  expect(longest).toBeLessThan(50_000);
});
