import type {
  InputReport,
  ReplaySummary,
  UnknownAction,
  VaultReport,
  WhatIfReport,
} from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import { originWords } from "../report/found.ts";
import type { Verdict } from "../report/severity.ts";
import { isProblem, verdicts } from "../report/severity.ts";
import type { Few, Line } from "./words.ts";
import { few, formatOf, ruleLines } from "./words.ts";

const maxOrigins = 10;

/** What a report begins with. */
export interface Answer {
  /** What may make the rest wrong. */
  warning: Line | undefined;
  found: Line;
  /** Who caused how many problems, if that is more than `found` says. */
  origins: Few<Line>;
  vaults: string;
  /** By verdict, worst first, also those of which there are none. */
  counts: readonly { verdict: Verdict; count: number }[];
}

export function answerOf({ warnings, found, vaultCount, verdicts: counts }: ReplaySummary): Answer {
  const by = found.by.length < 2 ? [] : found.by;
  return {
    warning: warnings.length === 0 ? undefined : [{ sentence: warnings.join(" ") }],
    found: [{ sentence: found.text }],
    origins: few(
      by.map((each) => [`${counted(each.vaults, "vault")}: `, { value: originWords(each) }]),
      maxOrigins,
    ),
    vaults: counted(vaultCount, "vault"),
    counts: verdicts.map((verdict) => ({ verdict, count: counts[verdict] })),
  };
}

/** Counts the vaults that need action, and the others. */
export function needsOf({ verdicts: counts }: Pick<ReplaySummary, "verdicts">): {
  problems: number;
  others: number;
} {
  const sum = (problem: boolean): number =>
    verdicts
      .filter((verdict) => isProblem(verdict) === problem)
      .reduce((all, verdict) => all + counts[verdict], 0);
  return { problems: sum(true), others: sum(false) };
}

/** Takes vaults, which are sorted by verdict, only as far as they are shown; the others only if all that need action are. */
export function takeVaults(
  vaults: Iterable<VaultReport>,
  most: { problems: number; others: number },
): { problems: VaultReport[]; others: VaultReport[] } {
  const taken = { problems: [] as VaultReport[], others: [] as VaultReport[] };
  for (const vault of vaults) {
    const which = isProblem(vault.verdict) ? "problems" : "others";
    if (taken[which].length === most[which]) break;
    taken[which].push(vault);
  }
  return taken;
}

/** What a report is based on. */
export interface Basis {
  rules: readonly Line[];
  inputs: readonly (Pick<InputReport, "name" | "items" | "columns"> & { format: string })[];
  /** What was left out or out of order. */
  left: readonly string[];
  skipped: { words: string; lines: readonly Line[]; count: number };
  actions: readonly UnknownAction[];
  notes: readonly Line[];
}

export function basisOf(summary: ReplaySummary): Basis {
  const { inputs, rules, skipped, skippedLines, otherActions, notes } = summary;
  return {
    rules: ruleLines(rules).map((words) => [{ sentence: words }]),
    inputs: inputs.map((input) => ({ ...input, format: formatOf(input) })),
    left: leftOut(summary),
    skipped: {
      words: skippedWords(skippedLines),
      lines: skipped.map((place) => [{ place }, ": ", { value: place.reason }]),
      count: skippedLines,
    },
    actions: otherActions,
    notes: notes.map((note) => [{ sentence: note }]),
  };
}

const skippedWords = (count: number): string =>
  counted(count, "line that is not an item", "lines that are not items");

function leftOut(summary: ReplaySummary): string[] {
  const { skippedLines, applicationItems, withoutVault, duplicates, reordered, late } = summary;
  const all: [number, string][] = [
    [skippedLines, skippedWords(skippedLines)],
    [applicationItems, `${grouped(applicationItems)} about the application`],
    [withoutVault, `${grouped(withoutVault)} without a vault`],
    [duplicates, counted(duplicates, "duplicate")],
    [reordered, `${grouped(reordered)} out of order, sorted`],
    [late, `${grouped(late)} too far out of order to be sorted`],
  ];
  return all.filter(([count]) => count > 0).map(([, words]) => words);
}

/** What is said of a hypothetical change: a title, a sentence, and what differs. */
export interface Comparison {
  title: Line;
  /** `isGood`: nothing differs. */
  result: { words: string; others: string; isGood: boolean };
  /** Names of the cells of each row, the first of which is the vault. */
  heads: readonly string[];
  rows: readonly { uuid: string; cells: readonly (readonly Line[])[] }[];
  /** Number of all rows, listed or not. */
  total: number;
}

/** Returns the outline of what a hypothetical change would make different. */
export function whatIfOutline({
  change,
  vaults,
  unchanged,
  moreChanged,
}: WhatIfReport): Comparison {
  const total = vaults.length + moreChanged;
  return {
    title: ["What if ", { value: change }],
    result: {
      words: total === 0 ? "no vault would differ" : `${counted(total, "vault")} would differ`,
      others: total === 0 ? "" : `, ${grouped(unchanged)} would not`,
      isGood: total === 0,
    },
    heads: ["Vault", "Now", "What if"],
    rows: vaults.map(({ uuid, before, after }) => ({
      uuid,
      cells: [
        [standing(before)],
        [standing(after), ...(after.cause === undefined ? [] : [[{ sentence: after.cause.text }]])],
      ],
    })),
    total,
  };
}

/** Returns verdict, time and counters in a line. */
function standing({ verdict, since, unackedStarts, failedAttempts }: VaultReport): Line {
  return [
    { verdict },
    ...(since === undefined ? [] : [" since ", { time: since }]),
    ...(unackedStarts === 0 ? [] : [`; ${counted(unackedStarts, "unacknowledged start")}`]),
    ...(failedAttempts === 0 ? [] : [`; ${counted(failedAttempts, "failed attempt")} in a row`]),
  ];
}
