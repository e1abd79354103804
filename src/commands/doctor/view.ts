import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import type { Cell, Painted } from "../../terminal/tables.ts";
import { rowsTable } from "../../terminal/tables.ts";
import type { Finding } from "../documents/setup.ts";
import { count } from "../../terminal/count.ts";

/** Each finding with what to do below it, then the sum. Lines fit the columns; color where the stream has it. */
export async function doctorTable(
  findings: readonly Finding[],
  facts: TerminalFacts,
): Promise<string> {
  const palette = await createPalette(facts.color);
  const rows = findings.flatMap(({ check, level, message, hint }): Cell[][] => {
    const isFine = level === "ok" || level === "info";
    // Each way out on a line of its own, as errors have it.
    const ways = hint?.replaceAll("; ", "\n  ");
    return [
      [
        { text: level, paint: levelPaint(level, palette) },
        { text: check, paint: palette.dim },
        isFine ? message : { text: message, paint: palette.strong },
      ],
      ...(ways === undefined
        ? []
        : [["", "", { text: `→ ${ways}`, paint: isFine ? palette.dim : palette.code }]]),
    ];
  });
  return `${rowsTable(rows, facts.columns)}\n  ${summary(findings)}\n`;
}

/** `1 error, 2 warnings, 9 ok, 1 not verified`. */
export function summary(findings: readonly Finding[]): string {
  const n = (level: Finding["level"]): number =>
    findings.filter((finding) => finding.level === level).length;
  const parts = [
    ...(n("error") > 0 ? [count(n("error"), "error")] : []),
    ...(n("warn") > 0 ? [count(n("warn"), "warning")] : []),
    `${n("ok")} ok`,
    ...(n("info") > 0 ? [`${n("info")} not verified`] : []),
  ];
  return parts.join(", ");
}

const levelPaint = (level: Finding["level"], palette: Palette): Painted["paint"] =>
  ({ ok: palette.good, info: palette.dim, warn: palette.warn, error: palette.bad })[level];
