import type { ReplaySummary } from "../../../documents/audit.ts";
import { occurrences } from "../../report/found.ts";
import { counted, grouped } from "../../../terminal/count.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { factsTable } from "../../../terminal/tables.ts";
import { distance } from "../../../terminal/time.ts";
import { few, formatOf } from "../words.ts";
import type { Basis } from "../summary.ts";
import { basisOf, needsOf } from "../summary.ts";
import type { AuditView } from "./text.ts";
import { exactTime, joined, lines, paragraph, shown, written, zoneName } from "./text.ts";

/** Formats the basis of a report, which follows its findings: items, inputs, rules, lines left out, notes. Ends with a newline. */
export function auditBasis(summary: ReplaySummary, view: AuditView): string {
  const basis = basisOf(summary);
  return joined([
    facts(summary, basis, view),
    lines([...skippedLines(basis, view), ...unknownActions(basis, view)]),
    lines(basis.notes.flatMap((note) => paragraph([`Note: ${written(note)}`], 2, view))),
  ]);
}

/** Describes the column mapping of each input, for stderr, in lines without newlines. */
export function columnLines({ inputs }: Pick<ReplaySummary, "inputs">): string[] {
  return inputs
    .filter(({ format }) => format !== "journal")
    .map((input) => {
      const words = Object.entries(input.columns).map(([role, { name, by }]) => {
        const why = { name: "", value: " (by its values)", "--map": " (--map)" }[by];
        return shown(`${role}: ${JSON.stringify(name)}${why}`, 80);
      });
      return `${shown(input.name)} (${formatOf(input)}): ${words.join(", ")}`;
    });
}

function facts(summary: ReplaySummary, basis: Basis, view: AuditView): string {
  const { asOf, items } = summary;
  const { inputs, left } = basis;
  const until =
    asOf === null ? "" : `, up to ${exactTime(asOf)} (${distance(Date.parse(asOf), view.now)})`;
  const listed = inputs.map(
    ({ name, items: count, format }) => `${shown(name)}: ${counted(count, "item")}, ${format}`,
  );
  // The other rules matter only to problems.
  const rules = basis.rules.slice(0, needsOf(summary).problems > 0 ? undefined : 1);
  const rows: [string, Cell][] = [
    ["Items", { text: `${grouped(items)}${until}`, paint: view.palette.strong }],
    [inputs.length === 1 ? "Input" : "Inputs", listed.join("\n")],
    ["Rules", rules.map((line) => written(line)).join("\n")],
    ...(left.length === 0 ? [] : [["Left out", left.join(", ")] satisfies [string, Cell]]),
    ["Times", zoneName()],
  ];
  // A part of the report, which is text; the table of its vaults is for programs, too.
  return factsTable(rows, { ...view, isTTY: true });
}

const maxListed = 10;

function skippedLines({ skipped }: Basis, view: AuditView): string[] {
  const { shown: listed } = few(skipped.lines, maxListed);
  if (listed.length === 0) return [];
  const more = skipped.count - listed.length;
  const each = listed.map((line) => written(line));
  return [
    `  ${view.palette.strong("Lines that are not items")}`,
    ...paragraph(each, 4, view),
    ...(more > 0 ? [`    ${view.palette.dim(`… and ${grouped(more)} more`)}`] : []),
  ];
}

function unknownActions({ actions }: Basis, view: AuditView): string[] {
  const { shown: listed, more } = few(actions, maxListed);
  if (listed.length === 0) return [];
  const words = listed.map((action) => `${shown(action.value, 40)} ${occurrences(action)}`);
  return paragraph([`Unknown actions: ${words.join(", ")}${more > 0 ? ", …" : ""}`], 2, view);
}
