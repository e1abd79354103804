import stringWidth from "string-width";
import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import type { Cell } from "../../terminal/tables.ts";
import { cut, listTable, oneLineTable, rowsTable, tabbedLines } from "../../terminal/tables.ts";
import { unlikeWay, wayLines } from "../../way.ts";
import type { Verdict } from "../explain/severity.ts";
import type { Report } from "./outline.ts";
import { outlineOf } from "./outline.ts";
import type { Fact, Section, Table } from "./section.ts";

/** Where a report is shown. */
export interface AuditView {
  isTTY: boolean;
  columns: number;
  palette: Palette;
}

export const viewOn = async ({ isTTY, columns, color }: TerminalFacts): Promise<AuditView> => ({
  isTTY,
  columns,
  palette: await createPalette(color),
});

/**
 * Formats a report for a terminal of any width, or without one: then lines are not wrapped, and tables are lines with tabs. All text
 * from items is made safe. Ends with a newline.
 */
export function terminalReport(
  report: Report,
  view: AuditView,
  options: { problems?: boolean; timeline?: boolean } = {},
): string {
  const room = { problems: 40, others: options.problems === true ? 0 : 10, sections: 8 };
  const outline = outlineOf(report, room);
  const { strong, warn, dim } = view.palette;
  const parts = [
    outline.answers.map((text) => line(text, strong, 0, view)).join(""),
    outline.warnings.map((text) => line(text, warn, 0, view)).join(""),
    outline.whatIf === undefined ? "" : table(outline.whatIf, view),
    (outline.counts === undefined ? "" : line(outline.counts, strong, 2, view)) +
      facts(outline.origins === undefined ? [] : [outline.origins], view),
    outline.vaults === undefined ? "" : vaultTable(outline.vaults, view),
    ...[...outline.sections].flatMap((each) => section(each, options.timeline === true, view)),
    outline.more === undefined ? "" : line(outline.more, dim, 2, view),
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

const longest = 600;

type Paint = (text: string) => string;

function line(text: string, paint: Paint, margin: number, { isTTY, columns }: AuditView): string {
  const safe = shown(text, longest);
  return isTTY
    ? rowsTable([[{ text: safe, paint }]], columns, margin)
    : `${" ".repeat(margin)}${paint(unlikeWay(safe))}\n`;
}

/** Formats facts, each text a line, the first of which has the label. */
function facts(all: readonly Fact[], { isTTY, columns, palette }: AuditView): string {
  const rows = all.flatMap(({ label, texts }) =>
    texts.map((text, index): [Cell, string] => [
      { text: index === 0 ? label : "", paint: palette.dim },
      shown(text, longest),
    ]),
  );
  if (rows.length === 0) return "";
  if (isTTY) return rowsTable(rows, columns);
  return all
    .flatMap(({ label, texts }) =>
      texts.map(
        (text, index) => `  ${(index === 0 ? label : "").padEnd(12)}  ${shown(text, longest)}\n`,
      ),
    )
    .join("");
}

const verdictPaint = (verdict: Verdict, { bad, warn, good, dim }: Palette): Paint =>
  ({ locked: bad, "at-risk": warn, "open-exchange": warn, unknown: warn, deleted: dim, ok: good })[
    verdict
  ];

function cellsOf({ rows }: Table, palette: Palette): Cell[][] {
  return rows.map(({ cells, verdict, mark }) =>
    cells.map((cell, index) => {
      const text = shown(cell);
      if (index !== 1) return text;
      if (verdict !== undefined) return { text, paint: verdictPaint(verdict, palette) };
      return mark === undefined ? text : { text, paint: palette.bad };
    }),
  );
}

function notes({ notes: all }: Table, view: AuditView): string {
  return all.map((text) => line(text, view.palette.dim, 2, view)).join("");
}

/** Formats the list of vaults: a line each, as many columns as fit. */
function vaultTable(vaults: Table, view: AuditView): string {
  const rows = cellsOf(vaults, view.palette);
  return (
    (view.isTTY ? oneLineTable(vaults.heads, rows, view) : tabbedLines(rows)) + notes(vaults, view)
  );
}

function table(each: Table, view: AuditView): string {
  return (
    line(each.name, view.palette.strong, 2, view) +
    listTable(each.heads, cellsOf(each, view.palette), view) +
    notes(each, view)
  );
}

function section(
  { vault, verdict, name, facts: told, ways, evidence, tables, timeline }: Section,
  isLong: boolean,
  view: AuditView,
): string[] {
  const { palette, isTTY, columns } = view;
  const words = { text: verdict, paint: verdictPaint(vault.verdict, palette) };
  const title = { text: shown(name), paint: palette.strong };
  const head = isTTY
    ? rowsTable([[words, title]], columns)
    : `  ${words.paint(words.text)}  ${title.paint(title.text)}\n`;
  const commands = wayLines(ways, isTTY ? columns : Infinity).map(
    (each) => `${palette.code(each)}\n`,
  );
  const all = isLong && timeline !== undefined ? [timeline, ...tables.slice(1)] : tables;
  return [
    `${head}${facts(told, view)}${commands.join("")}`,
    facts(evidence, view),
    ...all.map((each) => table(each, view)),
  ];
}
