import type {
  InputReport,
  ReplaySummary,
  Rules,
  VaultReport,
  WhatIfReport,
} from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import { originWords } from "../explain/summary.ts";
import { isProblem, verdicts } from "../fold/events.ts";
import type { Fact, Row, Section, Table } from "./section.ts";
import {
  countersOf,
  factsOf,
  few,
  more,
  sectionOf,
  tableOf,
  timeText,
  verdictWords,
} from "./section.ts";

// The outline of a report: strings, in the order in which a person needs them, and each thing once.

/** What is printed. */
export interface Report {
  summary: ReplaySummary;
  /** Worst first; read only as far as they are shown. */
  vaults: Iterable<VaultReport>;
  whatIf?: WhatIfReport | undefined;
}

interface Outline {
  /** The first of them answers what was asked. */
  answers: readonly string[];
  warnings: readonly string[];
  /** The vaults, and who caused what; then each vault that needs action; last what the report is based on. */
  sections: readonly Section[];
}

/**
 * Returns the outline of a report, with room for so many rows of vaults that need action, of others, which are listed only if all of the
 * former are, and for so many vaults that have a section.
 */
export function outlineOf(
  { summary, vaults, whatIf }: Report,
  room: { problems: number; others: number; sections: number },
): Outline {
  const { found, warnings, vaultCount, verdicts: counts } = summary;
  const problems = verdicts.filter(isProblem).reduce((sum, verdict) => sum + counts[verdict], 0);
  const rows: Row[] = [];
  const described: Section[] = [];
  for (const vault of vaults) {
    const isOne = isProblem(vault.verdict);
    if (rows.length === (isOne ? room.problems : problems + room.others)) break;
    const isDescribed =
      described.length < room.sections &&
      (vaultCount === 1 || isOne || vault.contradictions.length > 0);
    if (isDescribed) described.push(sectionOf(vault, summary));
    rows.push(vaultRow(vault, summary.rules, isDescribed ? described.length : undefined));
  }
  const isSaid = vaultCount <= 3 && described.length === vaultCount;
  const notes = [
    ...unlistedNote((rows.length > problems ? vaultCount : problems) - rows.length),
    described.length < Math.min(rows.length, problems)
      ? `The first ${described.length} are described; --vault VAULT describes another one.`
      : [],
  ].flat();
  const origins = found.by.map((each) => `${counted(each.vaults, "vault")}: ${originWords(each)}`);
  const all = {
    // The answer names three of them.
    facts: factsOf({ "Caused by": origins.length > 3 ? few(origins) : [] }),
    tables: [
      ...(whatIf === undefined ? [] : whatIfTable(whatIf, room.problems)),
      ...tableOf(vaultsName(summary), vaultHeads, isSaid ? [] : rows, notes),
    ],
  };
  return {
    answers: [...(whatIf === undefined ? [] : [whatIfAnswer(whatIf)]), found.text],
    warnings,
    sections: [all, ...described, { name: "Rules and inputs", facts: basisOf(summary) }],
  };
}

const unlistedNote = (count: number): string[] =>
  more(count, "more; --json or -o ndjson lists all");

const vaultsName = ({ vaultCount, verdicts: counts }: ReplaySummary): string =>
  `${counted(vaultCount, "vault")}: ${verdicts
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${grouped(counts[verdict])} ${verdictWords(verdict)}`)
    .join(", ")}`;

const vaultHeads = "Vault,Verdict,Since (UTC),Rule,Confidence,Unacked,Failures,Label".split(",");

function vaultRow(vault: VaultReport, rules: Rules, section: number | undefined): Row {
  const { uuid, label, verdict, since = "", cause, certainty } = vault;
  const { starts, failed } = countersOf(vault, rules);
  const [words, rule] = [verdictWords(verdict), cause?.rule ?? ""];
  const cells = [uuid, words, timeText(since), rule, certainty, starts, failed, label ?? ""];
  return { cells, verdict, section };
}

function whatIfAnswer({ change, vaults, unchanged, moreChanged }: WhatIfReport): string {
  const total = vaults.length + moreChanged;
  const differ = `${counted(total, "vault")} would differ, ${grouped(unchanged)} would not`;
  return `What if ${change}: ${total === 0 ? "no vault would differ" : differ}`;
}

function whatIfTable({ vaults, moreChanged }: WhatIfReport, most: number): Table[] {
  const rows = vaults.slice(0, most).map(({ uuid, before, after }) => {
    const why = after.cause === undefined ? "" : `. ${after.cause.text}`;
    return { cells: [uuid, standing(before), `${standing(after)}${why}`] };
  });
  const notes = unlistedNote(vaults.length + moreChanged - rows.length);
  return tableOf("What would differ", ["Vault", "Now", "What if"], rows, notes);
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
  const { items, asOf, inputs, rules, skipped, skippedLines } = summary;
  const { limits } = rules;
  const left = {
    "lines that are not items": skippedLines,
    "about the application": summary.applicationItems,
    "without a vault": summary.withoutVault,
    "there twice": summary.duplicates,
    "out of order, sorted": summary.reordered,
    "too far out of order to be sorted": summary.late,
  };
  const lines = skipped.map(({ input, line, reason }) => `${input}, line ${line}: ${reason}`);
  const failure = rules.failure === null ? "" : `; failed attempts match ${rules.failure}`;
  const meanings = { action: rules.actions ?? {}, outcome: rules.outcomes ?? {} };
  return factsOf({
    Items: [
      `${grouped(items)}${asOf === null ? "" : `, up to ${timeText(asOf)}`}; all times are in UTC`,
    ],
    [inputs.length > 1 ? "Inputs" : "Input"]: few(inputs.flatMap(inputWords)),
    Rules: [
      `locked after ${counted(limits.failedAttempts, "failed attempt")} or ${counted(limits.unackedStarts, "unacknowledged start")} in a row`,
      `assumed token lifetime ${lasting(rules.tokenLifetimeMs)}; auto-lock after ${Math.round(rules.autoLockAfterMs / 86_400_000)} days without a start`,
      `release ${rules.release}${failure}`,
      ...Object.entries(meanings).flatMap(([what, all]) =>
        Object.entries(all).map(([from, to]) => `${what} ${from} means ${to}`),
      ),
    ],
    "Left out": Object.entries(left).map(([what, count]) =>
      count > 0 ? `${grouped(count)} ${what}` : "",
    ),
    Lines: [...lines, ...more(skippedLines - lines.length)],
    Notes: few(summary.notes),
  });
}

/** Describes an input, and what each of its columns was taken for. */
function inputWords({ name, items, format, gzip, order, columns }: InputReport): string[] {
  const taken = Object.entries(columns).map(([role, { name: first, by, inverted, and }]) => {
    const why = { name: "", value: " (by its values)", "--map": " (--map)" }[by];
    const names = [first, and ?? []].flat().map((one) => JSON.stringify(one));
    return `${role} ${names.join(" and ")}${inverted === true ? " (true is a failure)" : ""}${why}`;
  });
  const form = [
    format === "journal" ? "journal of this machine" : format.toUpperCase(),
    gzip ? "gzip" : [],
    order === "newest-first" ? "newest first" : [],
  ].flat();
  return [
    `${name}: ${counted(items, "item")}, ${form.join(", ")}`,
    ...(taken.length === 0 ? [] : [`columns: ${taken.join(", ")}`]),
  ];
}
