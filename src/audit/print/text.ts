import stringWidth from "string-width";
import type { Palette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import type { Cell, TableOptions } from "../../terminal/tables.ts";
import { cut, listTable, oneLineTable, rowsTable } from "../../terminal/tables.ts";
import { commandLine, wayLines } from "../../way.ts";
import type { Verdict } from "../read/item.ts";
import type { Fact, Report, Row, Section, Table } from "./outline.ts";
import { outlineOf, timeText } from "./outline.ts";

/** Maximum columns of a sentence in a report: a warning must not lose the flag at its end. */
export const longest = 1200;

/**
 * Formats a report for a terminal of any width, or without one: then lines are not wrapped, and
 * tables are lines with tabs. All text from items is made safe. Ends with a newline.
 */
export function terminalReport(report: Report, { isTTY, palette, columns }: TableOptions): string {
  const view = { isTTY, palette, columns: isTTY ? columns : longest + 100 };
  const outline = outlineOf(report, { problems: 40, others: 10, sections: 8 });
  const { answers, warnings, sections } = outline;
  const parts = [
    answers.map((text) => line(text, palette.strong, 0, view)).join(""),
    warnings.map((text) => line(text, palette.warn, 0, view)).join(""),
    ...sections.flatMap((each) => section(each, view)),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** Makes a text safe for one line of any medium, and cuts it with `…` to `columns`. */
export function shown(text: string, columns = 200): string {
  if (text.length <= columns && /^[ -~]*$/.test(text)) return text;
  // Marks take no column, but many of them cover the lines above and below.
  const bounded = text.slice(0, columns * 4).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  const safe = printableLine(bounded.toWellFormed()).replaceAll("\t", "\\u{9}");
  return text.length <= columns * 4 && stringWidth(safe) <= columns
    ? safe
    : `${cut(safe, columns - 1)}…`;
}

type Paint = (text: string) => string;

const line = (text: string, paint: Paint, margin: number, { columns }: TableOptions): string =>
  rowsTable([[{ text: shown(text, longest), paint }]], columns, margin);

function facts(all: readonly Fact[], { columns, palette }: TableOptions): string {
  const rows = all.flatMap(({ label, texts }) =>
    texts.map((text, index): [Cell, string] => [
      { text: index === 0 ? label : "", paint: palette.dim },
      shown(text, longest),
    ]),
  );
  return rows.length === 0 ? "" : rowsTable(rows, columns);
}

const paints: Partial<Record<Verdict, "bad" | "good" | "dim">> = {
  locked: "bad",
  ok: "good",
  deleted: "dim",
};

function paintOf({ verdict, mark }: Pick<Row, "verdict" | "mark">, palette: Palette): Paint {
  if (verdict === undefined) return mark === undefined ? palette.same : palette.bad;
  return palette[paints[verdict] ?? "warn"];
}

function table({ name, heads, rows, wholeRows, notes }: Table, view: TableOptions): string {
  const { isTTY, palette } = view;
  const painted = (isTTY ? rows : wholeRows).map((row) =>
    row.cells.map((cell, index): Cell => {
      const text = shown(isTTY ? timeText(cell) : cell);
      return index === 1 ? { text, paint: paintOf(row, palette) } : text;
    }),
  );
  const draw = isTTY && rows[0]?.verdict !== undefined ? oneLineTable : listTable;
  const told = notes.map((text) => line(text, palette.dim, 2, view));
  return [line(name, palette.strong, 2, view), draw(heads, painted, view), ...told].join("");
}

function section(
  { vault, verdict = "", name = "", ways = [], tables = [], ...told }: Section,
  view: TableOptions,
): string[] {
  const { palette, columns } = view;
  const title = [
    ...(vault === undefined ? [] : [{ text: verdict, paint: paintOf(vault, palette) }]),
    { text: shown(name), paint: palette.strong },
  ];
  const lines = wayLines(ways, columns).map((way) => `${palette.code(way)}\n`);
  return [
    (name === "" ? "" : rowsTable([title], columns)) + facts(told.facts, view) + lines.join(""),
    ...tables.map((one) => table(one, view)),
  ];
}

/** Yields a report as Markdown for a ticket: the answer, vaults that need action, the basis. */
export function* markdownReport(report: Report): Generator<string, void, undefined> {
  const outline = outlineOf(report, { problems: 20, others: 0, sections: 20 });
  for (const answer of outline.answers) yield `**${escapeMarkdown(answer, longest)}**\n\n`;
  for (const warning of outline.warnings)
    yield `**Warning:** ${escapeMarkdown(warning, longest)}\n\n`;
  for (const each of outline.sections) yield markdownSection(each);
}

function markdownSection({ verdict, name, facts: told, ways = [], tables = [] }: Section): string {
  const commands = ways.map(
    ({ argv, note }) => `${commandLine(argv)}${note === undefined ? "" : ` # ${shown(note)}`}\n`,
  );
  const heading = [escapeMarkdown(name ?? ""), verdict ?? []].flat().join(": ");
  return [
    heading === "" ? "" : `## ${heading}\n\n`,
    markdownFacts(told),
    commands.length === 0 ? "" : `\`\`\`sh\n${commands.join("")}\`\`\`\n\n`,
    ...tables.map(markdownTable),
  ].join("");
}

function markdownFacts(all: readonly Fact[]): string {
  const list = all.map(({ label, texts }) => {
    const escaped = texts.map((text) => escapeMarkdown(text, longest));
    const [only] = escaped;
    return `- **${label}:**${escaped.length === 1 ? ` ${only}` : escaped.map((text) => `\n  - ${text}`).join("")}\n`;
  });
  return all.length === 0 ? "" : `${list.join("")}\n`;
}

function markdownTable({ name, heads, rows, notes }: Table): string {
  const cells = rows.map((row) => row.cells.map((cell) => escapeMarkdown(timeText(cell))));
  const lines = [heads, heads.map(() => "---"), ...cells].map((row) => `| ${row.join(" | ")} |\n`);
  return `**${escapeMarkdown(name)}**\n\n${lines.join("")}\n${notes.map((note) => `${escapeMarkdown(note)}\n\n`).join("")}`;
}

/** Escapes an untrusted text: one line, without markup, links or references to persons. */
export const escapeMarkdown = (text: string, most = 200): string =>
  shown(text, most)
    .replace(/[\\`*_[\]<>#|~$&@]/g, String.raw`\$&`)
    .replace(/:(?=\/\/)/g, String.raw`\:`)
    .replace(/^[-+=]|^\d+(?=[.)])/, (start) => (/^\d/.test(start) ? `${start}\\` : `\\${start}`))
    .replace(/\bwww\./gi, (start) => `${start.slice(0, -1)}\\.`);
