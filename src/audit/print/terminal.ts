import stringWidth from "string-width";
import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import type { Cell, TableOptions } from "../../terminal/tables.ts";
import { cut, listTable, oneLineTable, rowsTable, tabbedLines } from "../../terminal/tables.ts";
import { wayLines } from "../../way.ts";
import type { Verdict } from "../explain/severity.ts";
import type { Report } from "./outline.ts";
import { outlineOf } from "./outline.ts";
import { type Fact, longest, type Section, type Table } from "./section.ts";

export const viewOn = async ({ isTTY, columns, color }: TerminalFacts): Promise<TableOptions> => ({
  isTTY,
  columns,
  palette: await createPalette(color),
});

/** Columns that no text of a report takes: without a terminal nothing is wrapped. */
const unwrapped = longest + 100;

/**
 * Formats a report for a terminal of any width, or without one: then lines are not wrapped, and tables are lines with tabs. All text
 * from items is made safe. Ends with a newline.
 */
export function terminalReport(
  report: Report,
  { isTTY, palette, columns }: TableOptions,
  { problems = false, timeline = false } = {},
): string {
  const view = { isTTY, palette, columns: isTTY ? columns : unwrapped };
  const outline = outlineOf(report, { problems: 40, others: problems ? 0 : 10, sections: 8 });
  const { strong, warn } = palette;
  const parts = [
    outline.answers.map((text) => line(text, strong, 0, view)).join(""),
    outline.warnings.map((text) => line(text, warn, 0, view)).join(""),
    outline.whatIf === undefined ? "" : table(outline.whatIf, view),
    facts(outline.origins, view),
    outline.vaults === undefined ? "" : vaultTable(outline.vaults, view),
    ...outline.sections.flatMap((each) => section(each, timeline, view)),
    facts(outline.basis, view),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** Makes a text safe for one line of a terminal, and cuts it with `…` to `columns`. */
export function shown(text: string, columns = 200): string {
  // Marks take no column, but many of them cover the lines above and below.
  const bounded = text.slice(0, columns * 4).replace(/(\p{Mark}{4})\p{Mark}+/gu, "$1");
  const safe = printableLine(bounded).replaceAll("\t", "\\u{9}");
  return text.length <= columns * 4 && stringWidth(safe) <= columns
    ? safe
    : `${cut(safe, columns - 1)}…`;
}

type Paint = (text: string) => string;

const line = (text: string, paint: Paint, margin: number, { columns }: TableOptions): string =>
  rowsTable([[{ text: shown(text, longest), paint }]], columns, margin);

/** Formats facts, each text a line, the first of which has the label. */
function facts(all: readonly Fact[], { columns, palette }: TableOptions): string {
  const rows = all.flatMap(({ label, texts }) =>
    texts.map((text, index): [Cell, string] => [
      { text: index === 0 ? label : "", paint: palette.dim },
      shown(text, longest),
    ]),
  );
  return rows.length === 0 ? "" : rowsTable(rows, columns);
}

const verdictPaint = (verdict: Verdict, { bad, warn, good, dim }: Palette): Paint =>
  verdict === "locked" ? bad : verdict === "ok" ? good : verdict === "deleted" ? dim : warn;

const cellsOf = ({ rows }: Table, palette: Palette): Cell[][] =>
  rows.map(({ cells, verdict, mark }) =>
    cells.map((cell, index) => {
      const text = shown(cell);
      if (index !== 1) return text;
      if (verdict !== undefined) return { text, paint: verdictPaint(verdict, palette) };
      return mark === undefined ? text : { text, paint: palette.bad };
    }),
  );

const notes = (each: Table, view: TableOptions): string =>
  each.notes.map((text) => line(text, view.palette.dim, 2, view)).join("");

/** Formats the list of vaults: a line each, as many columns as fit. */
function vaultTable(vaults: Table, view: TableOptions): string {
  const rows = cellsOf(vaults, view.palette);
  const drawn = view.isTTY ? oneLineTable(vaults.heads, rows, view) : tabbedLines(rows);
  return line(vaults.name, view.palette.strong, 2, view) + drawn + notes(vaults, view);
}

const table = (each: Table, view: TableOptions): string =>
  line(each.name, view.palette.strong, 2, view) +
  listTable(each.heads, cellsOf(each, view.palette), view) +
  notes(each, view);

function section(each: Section, isLong: boolean, view: TableOptions): string[] {
  const { vault, name, timeline, tables } = each;
  const { palette, columns } = view;
  const verdict = { text: each.verdict, paint: verdictPaint(vault.verdict, palette) };
  const ways = wayLines(each.ways, columns).map((way) => `${palette.code(way)}\n`);
  const title = rowsTable([[verdict, { text: shown(name), paint: palette.strong }]], columns);
  // The timeline has the items that led to the lock, too.
  const all = isLong && timeline !== undefined ? [timeline, ...tables.slice(1)] : tables;
  return [
    `${title}${facts(each.facts, view)}${ways.join("")}`,
    facts(each.evidence, view),
    ...all.map((one) => table(one, view)),
  ];
}
