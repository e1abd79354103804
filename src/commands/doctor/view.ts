import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printable } from "../../terminal/redactor.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import { widthOf, wrap } from "../../terminal/width.ts";
import type { Finding } from "../documents/setup.ts";
import { count } from "../../terminal/count.ts";

const margin = 2;
const gap = 2;
const levelWidth = 5;
/** Lines of a message are not shorter than this, whatever the terminal. */
const narrowest = 24;

/** Each finding with what to do below it, then the sum. Lines fit the columns; color where the stream has it. */
export async function doctorTable(
  findings: readonly Finding[],
  facts: TerminalFacts,
): Promise<string> {
  const palette = await createPalette(facts.color);
  const checks = Math.max(0, ...findings.map(({ check }) => widthOf(check)));
  const before = margin + levelWidth + gap + checks + gap;
  const width = Math.max(narrowest, facts.columns - before);
  const lines = findings.flatMap((finding) => {
    const isFine = finding.level === "ok" || finding.level === "info";
    const message = wrap(printable(finding.message), width).map((line) =>
      isFine ? line : palette.strong(line),
    );
    const hint =
      finding.hint === null
        ? []
        : hintLines(printable(finding.hint), width, isFine ? palette.dim : palette.code);
    const head = `${" ".repeat(margin)}${levelCell(finding.level, palette)}${" ".repeat(gap)}${palette.dim(finding.check.padEnd(checks))}${" ".repeat(gap)}`;
    return [...message, ...hint].map(
      (line, index) => `${index === 0 ? head : " ".repeat(before)}${line}`,
    );
  });
  return `${lines.join("\n")}\n\n${" ".repeat(margin)}${summary(findings)}\n`;
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

/** Behind an arrow; each way out on a line of its own, as errors have it. */
function hintLines(hint: string, width: number, paint: (text: string) => string): string[] {
  return hint
    .split("; ")
    .flatMap((way, index) =>
      wrap(way, width - 2).map(
        (line, row) => `${index === 0 && row === 0 ? "→ " : "  "}${paint(line)}`,
      ),
    );
}

function levelCell(level: Finding["level"], palette: Palette): string {
  const paint = { ok: palette.good, info: palette.dim, warn: palette.warn, error: palette.bad }[
    level
  ];
  return paint(level.padEnd(levelWidth));
}
