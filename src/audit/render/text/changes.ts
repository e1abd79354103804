import type { ReenactmentReport, WhatIfReport } from "../../../documents/audit.ts";
import { grouped } from "../../../terminal/count.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { createPalette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import type { Comparison } from "../outline/changes.ts";
import { reenactmentOutline, whatIfOutline } from "../outline/changes.ts";
import type { Line } from "../outline/line.ts";
import type { AuditView } from "./text.ts";
import { labelled, lines, paragraph, shown, verdictPaint, written } from "./text.ts";

const most = 50;

/** Formats the vaults for which a hypothetical change makes a difference. Ends with a newline. */
export function whatIfLines(report: WhatIfReport, view: AuditView, palette: Palette): string {
  const outline = whatIfOutline(report);
  const paint = outline.result.isGood ? palette.good : palette.strong;
  return lines(comparison(outline, paint, "", view, palette));
}

/** Formats the comparison with the emulated service. Ends with a newline. */
export async function reenactmentView(report: ReenactmentReport, view: AuditView): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const outline = reenactmentOutline(report);
  const paint = outline.result.isGood ? palette.good : palette.bad;
  return lines(comparison(outline, paint, `${palette.bad("differs")}  `, view, palette));
}

/** What a comparison has found: its first line. */
export const resultOf = ({ title, result }: Comparison, view: AuditView): string =>
  `${written(title, view)}: ${result.words}${result.others}`;

function comparison(
  outline: Comparison,
  paint: (text: string) => string,
  mark: string,
  view: AuditView,
  palette: Palette,
): string[] {
  const { notes, heads, rows, total, missing } = outline;
  const { columns } = view.facts;
  const differing = rows.slice(0, most).flatMap(({ uuid, cells }) => [
    "",
    `  ${mark}${palette.strong(shown(uuid, 48))}`,
    ...labelled(
      cells.map((cell, index) => [
        heads[index + 1] ?? "",
        cell.map((line) => painted(line, view, palette)),
      ]),
      4,
      palette,
      columns,
    ),
  ]);
  const others = missing
    .slice(0, most)
    .flatMap(({ uuid, reason }) => [
      "",
      `  ${palette.warn("not re-enacted")}  ${palette.strong(shown(uuid, 48))}`,
      ...paragraph([written(reason, view)], 4, columns),
    ]);
  return [
    ...paragraph([{ text: resultOf(outline, view), paint }], 2, columns),
    ...notes.flatMap((note) => paragraph([`Note: ${written(note, view)}`], 2, columns)),
    ...differing,
    ...left(total, palette),
    ...others,
    ...left(missing.length, palette),
  ];
}

/** Paints a line that begins with a verdict, and a state, which is a value. */
function painted(line: Line, view: AuditView, palette: Palette): Cell {
  const text = written(line, view);
  const [first] = line;
  if (typeof first !== "object") return text;
  if ("verdict" in first) return { text, paint: verdictPaint(first.verdict, palette) };
  return "value" in first ? { text, paint: palette.strong } : text;
}

const left = (count: number, palette: Palette): string[] =>
  count <= most
    ? []
    : [
        "",
        `  ${palette.dim(`… and ${grouped(count - most)} more; --json or -o ndjson lists all`)}`,
      ];
