import stringWidth from "string-width";
import { chainOf, hasLocked, openExchange } from "../model.ts";
import {
  contradictionWords,
  eventWords,
  isMoment,
  ownWords,
  ruleWords,
  verdictWords,
} from "../words.ts";
import { counted } from "../../../terminal/count.ts";
import type { AuditView } from "./text.ts";
import { exactTime, labelled, paragraph, shown, shownSentence, verdictPaint } from "./text.ts";
import type { Palette } from "../../../terminal/palette.ts";
import type { Cell } from "../../../terminal/tables.ts";
import { distance } from "../../../terminal/time.ts";
import type { ItemReference, Tally, VaultReport } from "../../../documents/audit.ts";

/** Maximum number of items shown of a chain: the first and the last ones. */
const longestChain = 8;
const maxContradictions = 5;
const maxOwn = 3;

/** Formats the report on a vault without its timeline, in lines without newlines. */
export function vaultBlock(vault: VaultReport, view: AuditView, palette: Palette): string[] {
  const { cause, advice } = vault;
  const rows: [string, Cell[]][] = [
    [
      "Cause",
      cause === undefined ? [] : [{ text: shownSentence(cause.text, view), paint: palette.strong }],
    ],
    ["Refused", cause?.refused === undefined ? [] : [shownSentence(cause.refused.text, view)]],
    [
      "Rule",
      cause === undefined
        ? []
        : [`${ruleWords[cause.rule]}, ${cause.certainty}: ${shownSentence(cause.reason, view)}`],
    ],
    [
      "Why",
      cause?.reason === vault.reason
        ? []
        : [`${vault.certainty}: ${shownSentence(vault.reason, view)}`],
    ],
    ["Open", pending(vault, view)],
    ["Items", chain(vault, view, palette)],
    ["Who", who(vault, view)],
    ["Log", contradictions(vault, view, palette)],
    ["Support", [{ text: shownSentence(advice.support, view), paint: palette.code }]],
    ["Developer", [{ text: shownSentence(advice.developer, view), paint: palette.code }]],
  ];
  return [...heading(vault, view, palette), ...labelled(rows, 4, palette, view.facts.columns)];
}

/** Formats the report on a vault in a few lines, for a list of many vaults. */
export function vaultSketch(vault: VaultReport, view: AuditView, palette: Palette): string[] {
  const { cause, advice, reason, certainty } = vault;
  const why =
    cause === undefined
      ? `${certainty}: ${shownSentence(reason, view)}`
      : `${shownSentence(cause.text, view)} (${cause.certainty})`;
  const rows: [string, Cell[]][] = [
    ["Support", [{ text: shownSentence(advice.support, view), paint: palette.code }]],
    ["Developer", [{ text: shownSentence(advice.developer, view), paint: palette.code }]],
  ];
  const refused = cause?.refused === undefined ? [] : [shownSentence(cause.refused.text, view)];
  return [
    ...heading(vault, view, palette),
    ...paragraph([why, ...refused], 4, view.facts.columns),
    ...labelled(rows, 4, palette, view.facts.columns),
  ];
}

/** Formats the heading: `locked  5a4b… (daily)  since 2026-11-20 14:02:11 (2 hours ago)`, on two lines if it does not fit. */
function heading(vault: VaultReport, view: AuditView, palette: Palette): string[] {
  const name = vaultName(vault);
  const since = vault.since === undefined ? "" : `since ${exactWhen(vault.since, view)}`;
  const words = verdictWords[vault.verdict];
  const start = `  ${verdictPaint(vault.verdict, palette)(words)}  ${palette.strong(name)}`;
  const fits = 2 + words.length + 2 + stringWidth(name) + 2 + since.length <= view.facts.columns;
  if (since === "") return [start];
  return fits ? [`${start}  ${since}`] : [start, `    ${since}`];
}

/** Formats the name of a vault: `5a4b… (daily)`. */
export const vaultName = ({ uuid, label }: Pick<VaultReport, "uuid" | "label">): string =>
  `${shown(uuid, 48)}${label === null ? "" : ` (${shown(label, 40)})`}`;

function exactWhen(at: string, view: AuditView): string {
  const ago = isMoment(at) ? ` (${distance(Date.parse(at), view.now)})` : "";
  return `${exactTime(at, view.timeZone)}${ago}`;
}

function pending(vault: VaultReport, { timeZone }: AuditView): Cell[] {
  const open = openExchange(vault);
  if (open === undefined) return [];
  const { operation, startedAt, token, tokenExpiry } = open;
  return [
    `${operation} started ${exactTime(startedAt, timeZone)}, not acknowledged; ${token} ${exactTime(tokenExpiry, timeZone)}`,
  ];
}

function chain(vault: VaultReport, view: AuditView, palette: Palette): Cell[] {
  const items = chainOf(vault);
  const inputs = new Set(items.map(({ input }) => input));
  const [input] = inputs.size === 1 ? inputs : [];
  const lines = items.map((item): Cell => {
    const text = `${exactTime(item.at, view.timeZone)}  ${eventWords[item.event]}  ${input === undefined ? itemLocation(item) : `line ${item.line}`}`;
    return hasLocked(vault, item) ? { text: `${text}  ← locks`, paint: palette.bad } : text;
  });
  const left = lines.length - longestChain + 1;
  const few: Cell[] =
    left <= 1
      ? lines
      : [
          ...lines.slice(0, 3),
          { text: `… ${left} more …`, paint: palette.dim },
          ...lines.slice(3 + left),
        ];
  return input === undefined ? few : [...few, { text: `in ${shown(input)}`, paint: palette.dim }];
}

/** Formats input and line of an item: `export.csv:17`. */
export const itemLocation = ({ input, line }: Pick<ItemReference, "input" | "line">): string =>
  `${shown(input, 40)}:${line}`;

function who(vault: VaultReport, view: AuditView): Cell[] {
  const { who } = vault;
  const own = new Set(
    chainOf(vault).flatMap((item) => ownWords(item, (iso) => exactTime(iso, view.timeZone)) ?? []),
  );
  return [
    ...tallies("address", who.addresses),
    ...tallies("reference", who.externalRefs),
    ...tallies("endpoint", who.endpoints, 100),
    ...(who.applications.length > 1 ? tallies("application", who.applications) : []),
    ...[...own].slice(0, maxOwn).map((words) => shownSentence(words, view)),
    ...(own.size > maxOwn
      ? [`and ${counted(own.size - maxOwn, "more exchange")} of this machine`]
      : []),
  ];
}

function tallies(name: string, values: readonly Tally[], columns = 64): string[] {
  if (values.length === 0) return [];
  const few = values
    .slice(0, 3)
    .map(({ value, count }) => `${shown(value, columns)}${count > 1 ? ` ×${count}` : ""}`);
  return [`${name} ${few.join(", ")}${values.length > 3 ? ` and ${values.length - 3} more` : ""}`];
}

/** Formats contradictions with their items. */
export function contradictions(vault: VaultReport, view: AuditView, palette: Palette): Cell[] {
  const { contradictions, moreContradictions } = vault;
  const more = Math.max(0, contradictions.length - maxContradictions) + moreContradictions;
  const lines = contradictions.slice(0, maxContradictions).map((each): Cell => {
    const text = `${exactTime(each.at, view.timeZone)}  ${contradictionWords[each.kind]}: ${shownSentence(each.text, view)}  ${itemLocation(each.item)}`;
    return { text, paint: palette.warn };
  });
  return more === 0
    ? lines
    : [...lines, { text: `… and ${counted(more, "more contradiction")}`, paint: palette.dim }];
}
