import type {
  InputReport,
  ReplaySummary,
  Rules,
  VaultReport,
  WhatIfReport,
} from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { originWords } from "../explain/found.ts";
import type { Verdict } from "../explain/severity.ts";
import { isProblem, verdicts } from "../explain/severity.ts";
import { occurrences } from "../meaning/unknowns.ts";
import type { Fact, Row, Section, Table } from "./section.ts";
import { countersOf, fact, few, findOf, sectionOf } from "./section.ts";
import { formatOf, ruleSentences, timeText, verdictWords } from "./words.ts";

// The outline of a report: strings, in the order in which a person needs them, and each thing once.

/** What is printed. */
export interface Report {
  summary: ReplaySummary;
  /** Worst first; read only as far as they are shown. */
  vaults: Iterable<VaultReport>;
  whatIf?: WhatIfReport | undefined;
}

/** What a printer has room for. */
export interface Room {
  /** Rows of vaults that need action, and of the others, which are listed only if all of the former are. */
  problems: number;
  others: number;
  /** Vaults that have a section. */
  sections: number;
}

interface Outline {
  /** The first of them answers what was asked. */
  answers: readonly string[];
  verdict: Verdict;
  warnings: readonly string[];
  whatIf: Table | undefined;
  /** Who caused how many problems, if the answer does not name all of them. */
  origins: readonly Fact[];
  /** Absent for one vault, of which all is said in its section. Its name counts verdicts: `3 vaults: 1 locked, 2 ok`. */
  vaults: Table | undefined;
  sections: readonly Section[];
  basis: readonly Fact[];
}

/** Returns the outline of a report. */
export function outlineOf({ summary, vaults, whatIf }: Report, room: Room): Outline {
  const { found, warnings, vaultCount, verdicts: counts } = summary;
  const { rows, described } = take(vaults, summary, room);
  const origins = few(
    found.by.map((each) => `${counted(each.vaults, "vault")}: ${originWords(each)}`),
    maxListed,
  );
  return {
    answers: [...(whatIf === undefined ? [] : [whatIfAnswer(whatIf)]), found.text],
    verdict: verdicts.find((verdict) => counts[verdict] > 0) ?? "ok",
    warnings,
    whatIf: whatIf && whatIfTable(whatIf),
    origins: fact("Caused by", found.by.length > namedInAnswer ? origins : []),
    vaults: vaultCount < 2 || rows.length === 0 ? undefined : vaultTable(summary, rows),
    sections: described.map((vault) => sectionOf(vault, summary)),
    basis: basisOf(summary),
  };
}

/** Number of origins that the answer names at most. */
const namedInAnswer = 3;
const maxListed = 10;
const maxDiffering = 50;

/** Takes vaults as far as there is room, and keeps only those that have a section. */
function take(
  vaults: Iterable<VaultReport>,
  { rules, vaultCount }: ReplaySummary,
  room: Room,
): { rows: Row[]; described: VaultReport[] } {
  const rows: Row[] = [];
  const described: VaultReport[] = [];
  const left = { problems: room.problems, others: room.others };
  for (const vault of vaults) {
    if (left[isProblem(vault.verdict) ? "problems" : "others"]-- === 0) break;
    const isDescribed =
      described.length < room.sections &&
      (vaultCount === 1 || isProblem(vault.verdict) || vault.contradictions.length > 0);
    if (isDescribed) described.push(vault);
    rows.push(vaultRow(vault, rules, isDescribed ? described.length : undefined));
  }
  return { rows, described };
}

function vaultRow(vault: VaultReport, rules: Rules, section: number | undefined): Row {
  const { starts, failed } = countersOf(vault, rules);
  const { uuid, label, verdict, since, cause, certainty } = vault;
  return {
    cells: [
      uuid,
      verdictWords(verdict),
      since === undefined ? "" : timeText(since),
      cause?.rule ?? "",
      certainty,
      starts,
      failed,
      label ?? "",
    ],
    verdict,
    section,
    find: findOf(vault),
  };
}

const vaultHeads = "Vault,Verdict,Since (UTC),Rule,Confidence,Unacked,Failures,Label".split(",");

function vaultTable(summary: ReplaySummary, rows: readonly Row[]): Table {
  const { vaultCount, verdicts: counts } = summary;
  const words = verdicts
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${grouped(counts[verdict])} ${verdictWords(verdict)}`);
  const problems = verdicts.filter(isProblem).reduce((sum, verdict) => sum + counts[verdict], 0);
  const shown = rows.filter(({ verdict = "ok" }) => isProblem(verdict)).length;
  const described = rows.filter(({ section }) => section !== undefined).length;
  // Where none of the others are listed, their number is in the name.
  const others = rows.length === shown ? 0 : vaultCount - problems - (rows.length - shown);
  const all = "--json or -o ndjson lists all";
  const notes: [number, string][] = [
    [problems - shown, `… and ${grouped(problems - shown)} more that need action; ${all}`],
    [others, `… and ${grouped(others)} more that need no action; ${all}`],
    [
      shown - described,
      `The first ${described} are described; --vault VAULT describes another one.`,
    ],
  ];
  const end = rows.some(({ cells }) => cells.at(-1) !== "") ? undefined : -1;
  return {
    name: `${counted(vaultCount, "vault")}: ${words.join(", ")}`,
    heads: vaultHeads.slice(0, end),
    rows: rows.map((row) => ({ ...row, cells: row.cells.slice(0, end) })),
    notes: notes.filter(([count]) => count > 0).map(([, note]) => note),
  };
}

function whatIfAnswer({ change, vaults, unchanged, moreChanged }: WhatIfReport): string {
  const total = vaults.length + moreChanged;
  const differ = `${counted(total, "vault")} would differ, ${grouped(unchanged)} would not`;
  return `What if ${change}: ${total === 0 ? "no vault would differ" : differ}`;
}

function whatIfTable({ vaults, moreChanged }: WhatIfReport): Table | undefined {
  if (vaults.length === 0) return undefined;
  const more = vaults.length + moreChanged - maxDiffering;
  return {
    name: "What would differ",
    heads: ["Vault", "Now", "What if"],
    rows: vaults.slice(0, maxDiffering).map(({ uuid, before, after }) => ({
      cells: [
        uuid,
        standing(before),
        `${standing(after)}${after.cause ? `. ${after.cause.text}` : ""}`,
      ],
      verdict: after.verdict,
    })),
    notes: more > 0 ? [`… and ${grouped(more)} more; --json or -o ndjson lists all`] : [],
  };
}

/** Returns verdict, time and counters in a line. */
const standing = ({ verdict, since, unackedStarts, failedAttempts }: VaultReport): string =>
  [
    `${verdictWords(verdict)}${since === undefined ? "" : ` since ${timeText(since)}`}`,
    ...(unackedStarts === 0 ? [] : [counted(unackedStarts, "unacknowledged start")]),
    ...(failedAttempts === 0 ? [] : [`${counted(failedAttempts, "failed attempt")} in a row`]),
  ].join("; ");

/** Returns what the report is based on: items, inputs, rules, and what was left out. */
function basisOf(summary: ReplaySummary): Fact[] {
  const { items, asOf, inputs, skipped, skippedLines, otherActions } = summary;
  const left = {
    "lines that are not items": skippedLines,
    "about the application": summary.applicationItems,
    "without a vault": summary.withoutVault,
    "there twice": summary.duplicates,
    "out of order, sorted": summary.reordered,
    "too far out of order to be sorted": summary.late,
  };
  const reasons = skipped.map(({ input, line, reason }) => `${input}, line ${line}: ${reason}`);
  const first = reasons.slice(0, maxListed);
  const actions = otherActions.map((action) => `${action.value} ${occurrences(action)}`);
  return [
    ...fact("Items", [
      `${grouped(items)}${asOf === null ? "" : `, up to ${timeText(asOf)}`}; all times are in UTC`,
    ]),
    ...fact(inputs.length > 1 ? "Inputs" : "Input", few(inputs.flatMap(inputWords), 2 * maxListed)),
    ...fact("Rules", ruleSentences(summary.rules)),
    ...fact(
      "Left out",
      Object.entries(left).map(([what, count]) => (count > 0 ? `${grouped(count)} ${what}` : "")),
    ),
    ...fact("Lines", few(first, maxListed, skippedLines - first.length)),
    ...fact("Unknown actions", [few(actions, maxListed).join(", ")]),
    ...fact("Notes", few(summary.notes, 5 * maxListed)),
  ];
}

/** Describes an input, and what each of its columns was taken for. */
function inputWords(input: InputReport): string[] {
  const columns = Object.entries(input.columns).map(([role, { name, by, inverted, and }]) => {
    const why = { name: "", value: " (by its values)", "--map": " (--map)" }[by];
    const names = [name, and ?? []].flat().map((one) => JSON.stringify(one));
    return `${role} ${names.join(" and ")}${inverted === true ? " (true is a failure)" : ""}${why}`;
  });
  return [
    `${input.name}: ${counted(input.items, "item")}, ${formatOf(input)}`,
    ...(columns.length === 0 ? [] : [`columns: ${columns.join(", ")}`]),
  ];
}
