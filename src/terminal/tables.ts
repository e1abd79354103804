import type { Palette } from "./palette.ts";
import { printable } from "./redactor.ts";
import { shrink, widthOf, wrap } from "./width.ts";

/** A text of any origin, with its color. */
export interface Painted {
  text: string;
  paint: (text: string) => string;
}

export type Cell = string | Painted;

interface TableOptions {
  palette: Palette;
  /** Width of the whole table. */
  columns: number;
}

const margin = 2;
const gap = 2;
const narrowest = 8;

/** Formats labels and values, without borders; long values are wrapped. Ends with a newline. Control characters in cells are escaped. */
export function factsTable(
  facts: readonly (readonly [label: string, value: Cell])[],
  options: TableOptions,
): string {
  const labels = Math.max(0, ...facts.map(([label]) => widthOf(label)));
  const values = Math.max(narrowest, options.columns - margin - labels - gap);
  const rows = facts.map(([label, value]) => [{ text: label, paint: options.palette.dim }, value]);
  return render(rows, [labels, values], options.palette, undefined);
}

/**
 * Formats a heading, a rule and rows. If they do not fit, the widest columns shrink, and the first one last: it names the subject of the
 * row and should be copied whole. Ends with a newline.
 */
export function listTable(
  heading: readonly string[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): string {
  const head = heading.map((text): Cell => ({ text, paint: options.palette.strong }));
  const widths = heading.map((_, index) =>
    Math.max(...[head, ...rows].map((row) => naturalWidth(row[index] ?? ""))),
  );
  const available = options.columns - margin - gap * (widths.length - 1);
  const [first = 0, ...others] = widths;
  const shrunk = shrink(others, available - first, narrowest);
  return render(rows, shrink([first, ...shrunk], available, narrowest), options.palette, head);
}

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);

const naturalWidth = (cell: Cell): number =>
  Math.max(...printable(textOf(cell)).split("\n").map(widthOf));

function render(
  rows: readonly (readonly Cell[])[],
  widths: readonly number[],
  palette: Palette,
  heading: readonly Cell[] | undefined,
): string {
  const rule = widths.map((width) => ({ text: "─".repeat(width), paint: palette.dim }));
  const all = heading === undefined ? rows : [heading, rule, ...rows];
  return all.flatMap((row) => lay(row, widths)).join("");
}

/** Lays out a row, on as many lines as its longest cell takes. Cells are wrapped before they are painted, so that each line has its color. */
function lay(row: readonly Cell[], widths: readonly number[]): string[] {
  const cells = widths.map((width, index) => wrap(printable(textOf(row[index] ?? "")), width));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => {
    const pieces = cells.map((lines, index) => {
      const text = lines[line] ?? "";
      const cell = row[index] ?? "";
      return (
        (typeof cell === "string" ? text : cell.paint(text)) +
        " ".repeat(Math.max(0, (widths[index] ?? 0) + gap - widthOf(text)))
      );
    });
    return `${" ".repeat(margin)}${pieces.join("").trimEnd()}\n`;
  });
}
