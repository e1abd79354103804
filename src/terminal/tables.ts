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
export async function factsTable(facts: readonly (readonly [label: string, value: Cell])[], options: TableOptions): Promise<string> {
  const labels = Math.max(0, ...facts.map(([label]) => widthOf(label)));
  const values = Math.max(narrowest, options.columns - margin - labels - gap);
  const rows = facts.map(([label, value]) => [{ text: label, paint: options.palette.dim }, value]);
  return render(rows, [labels, values], options.palette, undefined);
}

/**
 * Formats a heading, a rule and rows. If they do not fit, the widest columns shrink, and the first one last: it names the subject of the
 * row and should be copied whole. Ends with a newline.
 */
export async function listTable(heading: readonly string[], rows: readonly (readonly Cell[])[], options: TableOptions): Promise<string> {
  const head = heading.map((text): Cell => ({ text, paint: options.palette.strong }));
  const widths = heading.map((_, index) => Math.max(...[head, ...rows].map((row) => naturalWidth(row[index] ?? ""))));
  const available = options.columns - margin - gap * (widths.length - 1);
  const [first = 0, ...others] = widths;
  const shrunk = shrink(others, available - first, narrowest);
  return render(rows, shrink([first, ...shrunk], available, narrowest), options.palette, head);
}

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);

const naturalWidth = (cell: Cell): number => Math.max(...printable(textOf(cell)).split("\n").map(widthOf));

async function render(
  rows: readonly (readonly Cell[])[],
  widths: readonly number[],
  palette: Palette,
  heading: readonly Cell[] | undefined,
): Promise<string> {
  const { default: Table } = await import("cli-table3");
  const table = new Table({ chars: borders, style: { "padding-left": 0, "padding-right": gap, head: [], border: [] } });
  const rule = widths.map((width) => palette.dim("─".repeat(width)));
  if (heading !== undefined) table.push(lay(heading, widths), rule);
  for (const row of rows) table.push(lay(row, widths));
  const lines = table.toString().split("\n");
  return lines.map((line) => `${" ".repeat(margin)}${trimEnd(line)}\n`).join("");
}

/** Empty borders: space separates columns, and `render` adds the rule below a heading. */
const borders = Object.fromEntries(
  ["top", "bottom", "left", "mid", "right", "middle"].flatMap((side) =>
    ["", "-left", "-mid", "-right"].map((part): [string, string] => [side + part, ""]),
  ),
);

/** Wraps cells before painting them, so that each line starts and ends its color. */
function lay(row: readonly Cell[], widths: readonly number[]): string[] {
  return row.map((cell, index) => {
    const lines = wrap(printable(textOf(cell)), widths[index] ?? narrowest);
    return lines.map((line) => (typeof cell === "string" ? line : cell.paint(line))).join("\n");
  });
}

/** Removes the spaces that pad the last column. */
function trimEnd(line: string): string {
  return line.replace(/ +$/, "");
}
