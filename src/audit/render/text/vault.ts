import stringWidth from "string-width";
import type { Rules, Tally, VaultReport } from "../../../documents/audit.ts";
import { counted } from "../../../terminal/count.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { distance } from "../../../terminal/time.ts";
import { few, shortened, isMoment, verdictWords } from "../words.ts";
import type { FactName, OriginName, Step, VaultBlock } from "../vault.ts";
import { contradictionsOf, outlineOf } from "../vault.ts";
import type { AuditView } from "./text.ts";
import {
  exactTime,
  itemLocation,
  labelled,
  paragraph,
  shown,
  shownSentence,
  verdictPaint,
  written,
} from "./text.ts";

const maxContradictions = 5;

type Row = readonly [label: string, pieces: readonly Cell[]];

/** Formats the report on a vault without its timeline, in lines without newlines. */
export function vaultBlock(vault: VaultReport, rules: Rules, view: AuditView): string[] {
  const rows = outlineOf(vault, rules).flatMap((block) => rowsOf(block, view));
  return [...heading(vault, view), ...labelled(rows, 4, view)];
}

/** Formats the report on a vault in a few lines, for a list of many vaults. */
export function vaultSketch(vault: VaultReport, view: AuditView): string[] {
  const { cause, reason, certainty, advice } = vault;
  const why =
    cause === undefined
      ? `${certainty}: ${shownSentence(reason)}`
      : `${shownSentence(cause.text)} (${cause.certainty})`;
  const refused = cause?.refused === undefined ? [] : [shownSentence(cause.refused.text)];
  const rows = (["support", "developer"] as const).flatMap((to) =>
    rowsOf({ kind: "advice", to, text: advice[to] }, view),
  );
  return [
    ...heading(vault, view),
    ...paragraph([why, ...refused], 4, view),
    ...labelled(rows, 4, view),
  ];
}

/** Labels of facts, without those that the table of vaults and the timeline have. */
const factLabels: Partial<Record<FactName, string>> = {
  refused: "Refused",
  rule: "Rule",
  open: "Open",
};

const originWords: Record<OriginName, string> = {
  addresses: "address",
  externalRefs: "reference",
  endpoints: "endpoint",
  applications: "application",
};

function rowsOf(block: VaultBlock, view: AuditView): Row[] {
  switch (block.kind) {
    case "cause":
      return [["Cause", [{ text: written(block.line), paint: view.palette.strong }]]];
    case "fact": {
      const label = factLabels[block.name];
      return label === undefined ? [] : [[label, [written(block.line)]]];
    }
    case "confidence":
      return block.isRepeated ? [] : [["Why", [written(block.line)]]];
    case "steps":
      return [["Items", chain(block.steps, view)]];
    case "origin":
      // The only application is everybody's.
      return block.name === "applications" && block.values.length === 1
        ? []
        : [["Who", [tally(originWords[block.name], block.values, block.name)]]];
    case "exchanges":
      return [["Who", block.lines.map((line) => written(line))]];
    case "contradictions":
      return [["Log", contradictions(block, view)]];
    case "advice": {
      const text = shownSentence(block.text);
      return [
        [block.to === "support" ? "Support" : "Developer", [{ text, paint: view.palette.code }]],
      ];
    }
    case "commands":
      return [];
  }
}

/** Formats the heading: `locked  5a4b… (daily)  since 2026-11-20 14:02:11 (2 hours ago)`, on two lines if it does not fit. */
function heading(vault: VaultReport, view: AuditView): string[] {
  const name = vaultName(vault);
  const since = vault.since === undefined ? "" : `since ${exactWhen(vault.since, view)}`;
  const words = verdictWords[vault.verdict];
  const start = `  ${verdictPaint(vault.verdict, view.palette)(words)}  ${view.palette.strong(name)}`;
  const fits = 2 + words.length + 2 + stringWidth(name) + 2 + since.length <= view.columns;
  if (since === "") return [start];
  return fits ? [`${start}  ${since}`] : [start, `    ${since}`];
}

/** Formats the name of a vault: `5a4b… (daily)`. */
const vaultName = ({ uuid, label }: Pick<VaultReport, "uuid" | "label">): string =>
  `${shown(uuid, 48)}${label === null ? "" : ` (${shown(label, 40)})`}`;

function exactWhen(at: string, view: AuditView): string {
  const ago = isMoment(at) ? ` (${distance(Date.parse(at), view.now)})` : "";
  return `${exactTime(at)}${ago}`;
}

function chain(steps: readonly Step[], view: AuditView): readonly Cell[] {
  const inputs = new Set(steps.map(({ item }) => item.input));
  const [input] = inputs.size === 1 ? inputs : [];
  const lines = steps.map(({ item, event, locks }): Cell => {
    const place = input === undefined ? itemLocation(item) : `line ${item.line}`;
    const text = `${exactTime(item.at)}  ${event}  ${place}`;
    return locks ? { text: `${text}  ← locks`, paint: view.palette.bad } : text;
  });
  const listed = shortened(lines, (left) => ({
    text: `… ${left} more …`,
    paint: view.palette.dim,
  }));
  return input === undefined
    ? listed
    : [...listed, { text: `in ${shown(input)}`, paint: view.palette.dim }];
}

function tally(label: string, values: readonly Tally[], name: OriginName): string {
  const { shown: listed, more } = few(values, 3);
  const words = listed.map(
    ({ value, count }) =>
      `${shown(value, name === "endpoints" ? 100 : 64)}${count > 1 ? ` ×${count}` : ""}`,
  );
  return `${label} ${words.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Formats contradictions with their items. */
function contradictions(
  { all, more }: Extract<VaultBlock, { kind: "contradictions" }>,
  view: AuditView,
): Cell[] {
  const { shown: listed, more: others } = few(all, maxContradictions, more);
  const lines = listed.map(({ at, words, text, item }): Cell => {
    const line = `${exactTime(at)}  ${words}: ${shownSentence(text)}  ${itemLocation(item)}`;
    return { text: line, paint: view.palette.warn };
  });
  return others === 0
    ? lines
    : [
        ...lines,
        { text: `… and ${counted(others, "more contradiction")}`, paint: view.palette.dim },
      ];
}

/** Formats the contradictions of a vault that needs no action, if it has any. */
export function contradictionBlock(vault: VaultReport, view: AuditView): string[] {
  const block = contradictionsOf(vault);
  if (block === undefined) return [];
  const verdict = verdictPaint(vault.verdict, view.palette)(verdictWords[vault.verdict]);
  return [
    `  ${verdict}  ${view.palette.strong(vaultName(vault))}`,
    ...paragraph(contradictions(block, view), 4, view),
  ];
}
