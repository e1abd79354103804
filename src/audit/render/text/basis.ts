import { columnWords, formatOf, leftOut, needsOf, ruleLines } from "../words.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { AuditView } from "./text.ts";
import { exactTime, joined, lines, paragraph, shown, shownSentence, zoneName } from "./text.ts";
import { itemLocation } from "./vault.ts";
import type { Palette } from "../../../terminal/palette.ts";
import { createPalette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { factsTable } from "../../../terminal/tables.ts";
import { distance } from "../../../terminal/time.ts";
import type { ReplaySummary } from "../../../documents/audit.ts";

/** Formats the basis of a report, which follows its findings: items, inputs, rules, lines left out, notes. Ends with a newline. */
export async function auditBasis(summary: ReplaySummary, view: AuditView): Promise<string> {
  const palette = await createPalette(view.facts.color);
  return joined([
    await facts(summary, view, palette),
    skippedLines(summary, palette, view.facts.columns),
    lines(
      summary.notes.flatMap((note) =>
        paragraph([`Note: ${shownSentence(note, view)}`], 2, view.facts.columns),
      ),
    ),
  ]);
}

/** Describes the column mapping of each input, for stderr, in lines without newlines. */
export function columnLines(summary: Pick<ReplaySummary, "inputs">): string[] {
  return summary.inputs
    .filter(({ format }) => format !== "journal")
    .map(
      (input) =>
        `${shown(input.name)} (${formatOf(input)}): ${columnWords(input)
          .map((words) => shown(words, 80))
          .join(", ")}`,
    );
}

async function facts(summary: ReplaySummary, view: AuditView, palette: Palette): Promise<string> {
  const { asOf, inputs, rules, items } = summary;
  const rule = ruleLines(rules).map((line) => shownSentence(line, view));
  const left = leftOut(summary);
  const until =
    asOf === null
      ? ""
      : `, up to ${exactTime(asOf, view.timeZone)} (${distance(Date.parse(asOf), view.now)})`;
  const rows: [string, Cell][] = [
    ["Items", { text: `${grouped(items)}${until}`, paint: palette.strong }],
    [
      inputs.length === 1 ? "Input" : "Inputs",
      inputs
        .map((input) => `${shown(input.name)}: ${counted(input.items, "item")}, ${formatOf(input)}`)
        .join("\n"),
    ],
    // The other rules matter only to problems.
    ["Rules", (needsOf(summary).problems > 0 ? rule : rule.slice(0, 1)).join("\n")],
    ...(left.length === 0 ? [] : [["Left out", left.join(", ")] satisfies [string, Cell]]),
    ["Times", zoneName(view.timeZone)],
  ];
  return factsTable(rows, { palette, columns: view.facts.columns });
}

const maxSkipped = 10;

function skippedLines(
  { skipped, skippedLines, otherActions }: ReplaySummary,
  palette: Palette,
  columns: number,
): string {
  const each = skipped
    .slice(0, maxSkipped)
    .map((skip) => `${itemLocation(skip)}: ${shown(skip.reason, 200)}`);
  const more = skippedLines - each.length;
  const actions = otherActions
    .slice(0, maxSkipped)
    .map(({ value, count }) => `${shown(value, 40)} ×${grouped(count)}`);
  return lines([
    ...(each.length === 0
      ? []
      : [`  ${palette.strong("Lines that are not items")}`, ...paragraph(each, 4, columns)]),
    ...(more > 0 && each.length > 0 ? [`    ${palette.dim(`… and ${grouped(more)} more`)}`] : []),
    ...(actions.length === 0
      ? []
      : paragraph(
          [
            `Unknown actions: ${actions.join(", ")}${otherActions.length > maxSkipped ? ", …" : ""}`,
          ],
          2,
          columns,
        )),
  ]);
}
