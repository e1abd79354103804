import type {
  InputReport,
  ReplaySummary,
  Rules,
  VaultReport,
  WhatIfReport,
} from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import { originWords } from "../explain/found.ts";
import type { Verdict } from "../explain/severity.ts";
import { isProblem, verdicts } from "../explain/severity.ts";
import { occurrences } from "../meaning/unknowns.ts";
import type { Fact, Section, Table, TableRow } from "./section.ts";
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
  /** Who caused how many problems, if the answer does not name all of them. */
  origins: readonly Fact[];
  whatIf: Table | undefined;
  /** Absent where all is said in sections. Its name counts verdicts: `3 vaults: 1 locked, 2 ok`. */
  vaults: Table | undefined;
  sections: readonly Section[];
  basis: readonly Fact[];
}

/** Returns the outline of a report. */
export function outlineOf({ summary, vaults, whatIf }: Report, room: Room): Outline {
  const { found, warnings, vaultCount, verdicts: counts } = summary;
  const problems = verdicts.filter(isProblem).reduce((sum, verdict) => sum + counts[verdict], 0);
  const rows: TableRow[] = [];
  const sections: Section[] = [];
  for (const vault of vaults) {
    const isOne = isProblem(vault.verdict);
    if (rows.length === (isOne ? room.problems : problems + room.others)) break;
    const isDescribed =
      sections.length < room.sections &&
      (vaultCount === 1 || isOne || vault.contradictions.length > 0);
    if (isDescribed) sections.push(sectionOf(vault, summary));
    rows.push(vaultRow(vault, summary.rules, isDescribed ? sections.length : undefined));
  }
  const isSaid = vaultCount <= 3 && sections.length === vaultCount;
  const unlisted = (rows.length > problems ? vaultCount : problems) - rows.length;
  const origins = found.by.map((each) => `${counted(each.vaults, "vault")}: ${originWords(each)}`);
  return {
    answers: [...(whatIf === undefined ? [] : [whatIfAnswer(whatIf)]), found.text],
    verdict: verdicts.find((verdict) => counts[verdict] > 0) ?? "ok",
    warnings,
    origins: factsOf({ "Caused by": origins.length > namedInAnswer ? few(origins) : [] }),
    whatIf: whatIf && whatIfTable(whatIf, room.problems),
    vaults:
      isSaid || rows.length === 0
        ? undefined
        : tableOf(vaultsName(summary), rows, [
            ...unlistedNote(unlisted),
            ...(sections.length < Math.min(rows.length, problems)
              ? [`The first ${sections.length} are described; --vault VAULT describes another one.`]
              : []),
          ]),
    sections,
    basis: basisOf(summary),
  };
}

/** Number of origins that the answer names at most. */
const namedInAnswer = 3;

const unlistedNote = (count: number): string[] =>
  more(count, "more; --json or -o ndjson lists all");

const vaultsName = ({ vaultCount, verdicts: counts }: ReplaySummary): string =>
  `${counted(vaultCount, "vault")}: ${verdicts
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${grouped(counts[verdict])} ${verdictWords(verdict)}`)
    .join(", ")}`;

function vaultRow(vault: VaultReport, rules: Rules, section: number | undefined): TableRow {
  const { uuid, label, verdict, since = "", cause, certainty } = vault;
  const { starts, failed } = countersOf(vault, rules);
  const cells = {
    Vault: uuid,
    Verdict: verdictWords(verdict),
    "Since (UTC)": timeText(since),
    Rule: cause?.rule ?? "",
    Confidence: certainty,
    Unacked: starts,
    Failures: failed,
    Label: label ?? "",
  };
  return { cells, verdict, section };
}

function whatIfAnswer({ change, vaults, unchanged, moreChanged }: WhatIfReport): string {
  const total = vaults.length + moreChanged;
  const differ = `${counted(total, "vault")} would differ, ${grouped(unchanged)} would not`;
  return `What if ${change}: ${total === 0 ? "no vault would differ" : differ}`;
}

function whatIfTable({ vaults, moreChanged }: WhatIfReport, most: number): Table | undefined {
  const rows = vaults.slice(0, most).map(({ uuid, before, after }) => {
    const why = after.cause === undefined ? "" : `. ${after.cause.text}`;
    const cells = { Vault: uuid, Now: standing(before), "What if": `${standing(after)}${why}` };
    return { cells, verdict: after.verdict };
  });
  const notes = unlistedNote(vaults.length + moreChanged - rows.length);
  return rows.length === 0 ? undefined : tableOf("What would differ", rows, notes);
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
  const { items, asOf, inputs, rules, skipped, skippedLines, otherActions } = summary;
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
    "Unknown actions": [
      few(
        otherActions.map((action) => `${action.value} ${occurrences(action)}`),
        10,
      ).join(", "),
    ],
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
