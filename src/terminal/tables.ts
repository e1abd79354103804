import Table from "cli-table3";
import stringWidth from "string-width";
import type { Palette } from "./palette.ts";
import { fold, unlikeWay } from "../way.ts";
import { printable } from "./redactor.ts";

/** A text of any origin, with its color. */
export interface Painted {
  text: string;
  paint: (text: string) => string;
}

export type Cell = string | Painted;

export interface TableOptions {
  palette: Palette;
  /** Without a terminal, a table is lines for a program. */
  isTTY: boolean;
  /** Width of the whole table. */
  columns: number;
}

/** Columns between two cells. */
export const gap = 2;
const indent = 2;
const narrowest = 8;

/**
 * Draws rows without a heading, in columns of these widths; the last column is wrapped to what the others leave. Ends with a newline.
 */
export function rowsTable(
  rows: readonly (readonly Cell[])[],
  columns: number,
  margin = indent,
  widths = columnWidths(rows).slice(0, -1),
): string {
  const left = widths.reduce((sum, width) => sum + width + gap, margin);
  return drawRows(rows, [...widths, Math.max(narrowest, columns - left)], margin);
}

/** A line for each row, its fields separated by tabs. */
export const tabbedLines = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(fieldOf).join("\t")}\n`).join("");

const fieldOf = (cell: Cell): string =>
  typeof cell === "string" ? onOneLine(cell) : cell.paint(onOneLine(cell));

const onOneLine = (cell: Cell): string => printable(textOf(cell)).replaceAll(/[\t\n]+/g, " ");

const textOf = (cell: Cell = ""): string => (typeof cell === "string" ? cell : cell.text);

/** Draws labels and values; long values are wrapped. Ends with a newline. */
export const factsTable = (
  facts: readonly (readonly [label: string, value: Cell])[],
  { palette, isTTY, columns }: TableOptions,
): string =>
  isTTY
    ? rowsTable(
        facts.map(([label, value]) => [{ text: label, paint: palette.dim }, value]),
        columns,
      )
    : tabbedLines(facts);

/**
 * Draws a heading, a rule and rows. If they do not fit, the widest columns shrink, and the first one last: it names the subject of the
 * row and should be copied whole. Ends with a newline.
 */
export function listTable(
  heading: readonly string[],
  rows: readonly (readonly Cell[])[],
  { palette, isTTY, columns }: TableOptions,
): string {
  if (!isTTY) return tabbedLines(rows);
  const head = heading.map((text): Cell => ({ text, paint: palette.strong }));
  const [first = 0, ...others] = columnWidths([head, ...rows]);
  const available = columns - indent - gap * others.length;
  const shrunk = shrink(others, available - first);
  const widths = shrink([first, ...shrunk], available);
  const rule = widths.map((width) => ({ text: "─".repeat(width), paint: palette.dim }));
  return drawRows([head, rule, ...rows], widths, indent);
}

/**
 * Draws a list with one line for each row: as many columns as fit, the first of the list before the others, without those that are empty.
 * Only the first two are cut if they do not fit. Ends with a newline.
 */
export function oneLineTable(
  heading: readonly string[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): string {
  const [first = 0, second = 0, ...others] = columnWidths([heading, ...rows]);
  let left = options.columns - indent - gap;
  const name = Math.min(first, left - narrowest);
  const widths = [name, Math.min(second, left - name)];
  left -= name + (widths[1] ?? 0);
  const kept = [0, 1];
  for (const [index, width] of others.entries()) {
    const column = index + widths.length;
    if (gap + width > left || rows.every((row) => textOf(row[column]) === "")) continue;
    kept.push(column);
    left -= gap + width;
  }
  const cutRow = (row: readonly Cell[]): Cell[] =>
    kept.map((column, at) => cutCell(row[column] ?? "", widths[at] ?? Infinity));
  return listTable(
    kept.map((column) => heading[column] ?? ""),
    rows.map(cutRow),
    options,
  );
}

function cutCell(cell: Cell, width: number): Cell {
  const whole = onOneLine(cell);
  const text = stringWidth(whole) <= width ? whole : `${cut(whole, width - 1)}…`;
  return typeof cell === "string" ? text : { ...cell, text };
}

/** Cuts a text to a number of columns, but not to nothing. */
export function cut(text: string, columns: number): string {
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept !== "" && stringWidth(kept + segment) > columns) break;
    kept += segment;
  }
  return kept;
}

/** Returns the width that each column takes if nothing is wrapped. */
export const columnWidths = (rows: readonly (readonly Cell[])[]): number[] =>
  (rows[0] ?? []).map((_, column) =>
    rows.reduce((most, row) => Math.max(most, ...linesOf(row[column], column).map(stringWidth)), 0),
  );

/** Narrows the widest column, by one at a time, until all fit into `available` or none can shrink. */
function shrink(widths: readonly number[], available: number): number[] {
  const result = [...widths];
  const excess = result.reduce((sum, width) => sum + width, 0) - available;
  for (let taken = 0; taken < excess; taken += 1) {
    const widest = result.indexOf(Math.max(...result));
    const width = result[widest] ?? 0;
    if (width <= narrowest) break;
    result[widest] = width - 1;
  }
  return result;
}

/** The time that cli-table3 takes grows with the square of the rows of a table: lists are drawn a part at a time. */
const rowsAtATime = 20;

/** Draws rows in columns of these widths, without borders. Control characters in cells are escaped. Ends with a newline. */
function drawRows(
  rows: readonly (readonly Cell[])[],
  widths: readonly number[],
  margin: number,
): string {
  const lines = rows.flatMap((row) => splitRow(row, widths));
  let drawn = "";
  for (let start = 0; start < lines.length; start += rowsAtATime) {
    const table = new Table({
      chars: { ...noBorders, left: " ".repeat(margin), middle: " ".repeat(gap) },
      colWidths: [...widths],
      style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 0 },
    });
    table.push(...lines.slice(start, start + rowsAtATime));
    drawn += `${table.toString().replaceAll(/ +$/gm, "")}\n`;
  }
  return drawn;
}

const borders = ["top", "top-left", "top-mid", "top-right", "bottom", "bottom-left", "bottom-mid"];
const noBorders = Object.fromEntries(
  [...borders, "bottom-right", "right"].map((border) => [border, ""]),
);

function linesOf(cell: Cell = "", column: number): string[] {
  const lines = printable(textOf(cell)).replaceAll("\t", "  ").split("\n");
  return column === 0 ? lines.map(unlikeWay) : lines;
}

/** Splits a row whose cells have several lines into a row for each, which cli-table3 draws twice as fast. */
function splitRow(row: readonly Cell[], widths: readonly number[]): string[][] {
  const cells = widths.map((width, column) => {
    const cell = row[column] ?? "";
    const lines = linesOf(cell, column).flatMap((line) => wrapLine(line, width));
    return typeof cell === "string" ? lines : lines.map((line) => cell.paint(line));
  });
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ""));
}

/** Wraps a line at spaces, with its indent on the continued lines. Breaks a word that is too wide after a slash or a dash, else anywhere. */
function wrapLine(line: string, width: number): string[] {
  if (stringWidth(line) <= width) return [line];
  const [indent = ""] = /^ */.exec(line) ?? [];
  const [first = "", ...others] = fold(line.split(/(?<=\S) /), width, indent).flatMap((part) =>
    breakWord(part, width),
  );
  return [first, ...others.map(unlikeWay)];
}

function breakWord(word: string, width: number): string[] {
  const pieces: string[] = [];
  for (let left = word; left !== ""; left = left.slice(pieces.at(-1)?.length)) {
    const most = cut(left, width);
    pieces.push(most === left ? left : (/^.*[/-]/u.exec(most)?.[0] ?? most));
  }
  return pieces;
}
