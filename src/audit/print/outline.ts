import type { InputReport, ItemReference, ReplaySummary, Rules } from "../../documents/audit.ts";
import type { VaultReport, WhatIfReport } from "../../documents/audit.ts";
import { count, grouped } from "../../terminal/count.ts";
import { durationInWords } from "../../terminal/time.ts";
import type { Way } from "../../way.ts";
import { said } from "../read/clip.ts";
import { eventWords, isProblem, type Verdict, verdicts } from "../read/item.ts";

// The outline of a report: strings in the order in which a person needs them, each thing once. Any
// may hold what somebody wrote into a log: a printer escapes all of them for its medium.

export interface Report {
  summary: ReplaySummary;
  /** Worst first; read only as far as they are shown. */
  vaults: Iterable<VaultReport>;
}

export interface Fact {
  label: string;
  texts: readonly string[];
}

export interface Row {
  cells: readonly string[];
  verdict?: Verdict;
  /** Part of the cause of a lock, the item that locked, or one that replaced the credentials. */
  mark?: "cause" | "locks" | "replaces" | undefined;
  /** Number of the section about it. */
  section?: number | undefined;
}

export interface Table {
  name: string;
  heads: readonly string[];
  rows: readonly Row[];
  /** With the columns that are empty or shared, for a program. */
  wholeRows: readonly Row[];
  /** What is not listed. */
  notes: readonly string[];
}

/** A part of a report: why, what to do, then the evidence. */
export interface Section {
  /** Absent at the beginning of a report, and at its end. */
  vault?: VaultReport;
  /** `locked`, or `locked, likely`. */
  verdict?: string;
  name?: string;
  facts: readonly Fact[];
  ways?: readonly Way[];
  tables?: readonly Table[];
}

/**
 * Returns the outline of a report. The first answer is to what was asked; the sections are the
 * vaults and who caused what, each vault that needs action, and what the report is based on.
 * `room`: the most rows of vaults that need action, of others, which are listed only after all of
 * those, and the most vaults that have a section.
 */
export function outlineOf(
  { summary, vaults }: Report,
  room: { problems: number; others: number; sections: number },
) {
  const { found, warnings, vaultCount, verdicts: counts, whatIf } = summary;
  const problems = verdicts.filter(isProblem).reduce((sum, verdict) => sum + counts[verdict], 0);
  const rows: Row[] = [];
  const described: Section[] = [];
  for (const vault of vaults) {
    const isOne = isProblem(vault.verdict);
    if (rows.length === (isOne ? room.problems : problems + room.others)) break;
    const isDescribed =
      described.length < room.sections &&
      (vaultCount === 1 || isOne || vault.contradictions.length > 0);
    if (isDescribed) described.push(sectionOf(vault, summary.rules));
    rows.push(vaultRow(vault, summary.rules, isDescribed ? described.length : undefined));
  }
  const isSaid = vaultCount <= 3 && described.length === vaultCount;
  const notes = more((rows.length > problems ? vaultCount : problems) - rows.length, unlisted);
  if (described.length < Math.min(rows.length, problems))
    notes.push(`The first ${described.length} are described; --vault VAULT describes another one.`);
  const all: Section = {
    facts: [],
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

const unlisted = "more; --json or -o ndjson lists all";

const vaultsName = ({ vaultCount, verdicts: counts }: ReplaySummary): string =>
  `${count(vaultCount, "vault")}: ${verdicts
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${grouped(counts[verdict])} ${verdictWords(verdict)}`)
    .join(", ")}`;

const vaultHeads = "Vault,Verdict,Since (UTC),Rule,Confidence,Unacked,Failures,Label".split(",");

function vaultRow(vault: VaultReport, { limits }: Rules, section: number | undefined): Row {
  const { uuid, label, verdict, lockedAt = "", cause, certainty } = vault;
  const starts = `${vault.unackedStarts} of ${limits.unackedStarts}`;
  const failed = `${vault.failedAttempts} of ${limits.failedAttempts}`;
  const [words, rule] = [verdictWords(verdict), cause?.rule ?? ""];
  const cells = [uuid, words, lockedAt, rule, certainty, starts, failed, label ?? ""];
  return { cells, verdict, section };
}

function whatIfAnswer({ change, vaults, unchanged, moreChanged }: WhatIfReport): string {
  const differ = `${count(vaults.length + moreChanged, "vault")} would differ`;
  return `What if ${change}: ${differ}, ${grouped(unchanged)} would not`;
}

function whatIfTable({ vaults, moreChanged }: WhatIfReport, most: number): Table[] {
  const rows = vaults.slice(0, most).map(({ uuid, before, after }) => {
    const why = after.cause === undefined ? "" : `. ${after.cause.text}`;
    return { cells: [uuid, standing(before), `${standing(after)}${why}`] };
  });
  const notes = more(vaults.length + moreChanged - rows.length, unlisted);
  return tableOf("What would differ", ["Vault", "Now", "What if"], rows, notes);
}

const standing = ({ verdict, lockedAt }: VaultReport): string =>
  verdictWords(verdict) + (lockedAt === undefined ? "" : ` since ${timeText(lockedAt)}`);

/** Returns what the report is based on: items, inputs, rules, and what was left out. */
function basisOf(summary: ReplaySummary): Fact[] {
  const { items, asOf, inputs, rules, skipped, skippedLines } = summary;
  const { limits } = rules;
  const left: readonly (readonly [number, string])[] = [
    [skippedLines, "lines that are not items"],
    [summary.applicationItems, "about the application"],
    [summary.withoutVault, "without a vault"],
    [summary.duplicates, "there twice"],
  ];
  const lines = skipped.map(({ input, line, reason }) => `${input}, line ${line}: ${reason}`);
  const failure = rules.failure === null ? "" : `; failed attempts match ${rules.failure}`;
  const meanings = { action: rules.actions ?? {}, outcome: rules.outcomes ?? {} };
  return factsOf({
    Items: [
      `${grouped(items)}${asOf === null ? "" : `, up to ${timeText(asOf)}`}; all times are in UTC`,
    ],
    [inputs.length > 1 ? "Inputs" : "Input"]: few(inputs.flatMap(inputWords)),
    Rules: [
      `locked after ${count(limits.failedAttempts, "failed attempt")} or ${count(limits.unackedStarts, "unacknowledged start")} in a row`,
      `assumed token lifetime ${durationInWords(rules.tokenLifetimeMs)}; auto-lock after ${Math.round(rules.autoLockAfterMs / 86_400_000)} days without a start`,
      `release ${rules.release}${failure}`,
      ...Object.entries(meanings).flatMap(([what, all]) =>
        Object.entries(all).map(([from, to]) => `${what} ${from} means ${to}`),
      ),
    ],
    "Left out": left.map(([count, what]) => (count > 0 ? `${grouped(count)} ${what}` : "")),
    Lines: [...lines, ...more(skippedLines - lines.length)],
  });
}

function inputWords({ name, items, format, order, columns }: InputReport): string[] {
  const taken = Object.entries(columns).map(([role, { name: first, by, inverted, and }]) => {
    const why = { name: "", value: " (by its values)", "--map": " (--map)" }[by];
    const names = [first, and ?? []].flat().map((one) => JSON.stringify(one));
    return `${role} ${names.join(" and ")}${inverted === true ? " (true is a failure)" : ""}${why}`;
  });
  const form = [
    format === "journal" ? "journal of this machine" : format.toUpperCase(),
    order === "newest-first" ? "newest first" : [],
  ].flat();
  return [
    `${name}: ${count(items, "item")}, ${form.join(", ")}`,
    ...(taken.length === 0 ? [] : [`columns: ${taken.join(", ")}`]),
  ];
}

function sectionOf(vault: VaultReport, rules: Rules): Section {
  const { uuid, label, cause, certainty, reason, advice, verdict, counting, timeline } = vault;
  const isOther = cause !== undefined && (cause.certainty !== certainty || cause.reason !== reason);
  const replaced = cause?.replacedBy;
  const led = (cause?.chain ?? counting).map((item) =>
    itemRow(item, item === cause?.item ? "locks" : undefined),
  );
  const all = timeline?.map(({ item, isCause, locks }) =>
    itemRow(item, locks ? "locks" : isCause ? "cause" : undefined),
  );
  // The timeline has the items that led to the lock, too.
  const [name, rows, notes] = all?.length
    ? (["Timeline", all, more(vault.timelineOmitted ?? 0, "earlier")] as const)
    : [
        `Items that ${cause === undefined ? "count" : "led to the lock"}`,
        [...(replaced === undefined ? [] : [itemRow(replaced, "replaces")]), ...led],
      ];
  return {
    vault,
    verdict: `${verdictWords(verdict)}${certainty === "likely" ? ", likely" : ""}`,
    name: label === null ? uuid : `${uuid} (${label})`,
    facts: factsOf({
      Why: [
        cause?.text,
        verdict === "locked" ? "" : countersText(vault, rules),
        openText(vault),
        ...vault.explanation,
      ],
      Confidence: [
        `${certainty}: ${reason}`,
        isOther ? `cause ${cause.certainty}: ${cause.reason}` : "",
      ],
      "What to do": advice.steps,
      Contradictions: vault.contradictions.map(
        ({ text, item }) => `${timeText(item.at)}, ${item.input}, line ${item.line}: ${text}`,
      ),
    }),
    ways: advice.next,
    tables: tableOf(name, itemHeads, rows, notes, 2),
  };
}

const few = (texts: readonly string[]): string[] => [
  ...texts.slice(0, 50),
  ...more(texts.length - 50),
];

const more = (count: number, words = "more"): string[] =>
  count > 0 ? [`… and ${grouped(count)} ${words}`] : [];

/** Makes facts of texts by their labels, without those that say nothing. */
const factsOf = (all: Record<string, readonly (string | undefined)[]>): Fact[] =>
  Object.entries(all)
    .map(([label, texts]) => ({ label, texts: texts.flatMap((text) => text || []) }))
    .filter(({ texts }) => texts.length > 0);

/**
 * Makes a table, without columns that are empty; none without rows. What several rows share is a
 * note, behind the first columns, of which so many are `kept`.
 */
function tableOf(
  name: string,
  heads: readonly string[],
  rows: readonly Row[],
  notes: readonly string[] = [],
  kept = heads.length,
): Table[] {
  if (rows.length === 0) return [];
  const texts = heads.map((_, at) => new Set(rows.flatMap(({ cells }) => cells[at] || [])));
  const isShown = (_: string, at: number): boolean =>
    (texts[at]?.size ?? 0) > (at < kept || rows.length === 1 ? 0 : 1);
  const shared = heads.flatMap((head, at) =>
    isShown(head, at) ? [] : [...(texts[at] ?? [])].map((text) => `${head}: ${text}`),
  );
  const shown = rows.map((row) => ({ ...row, cells: row.cells.filter(isShown) }));
  const told = [...shared, ...notes];
  return [{ name, heads: heads.filter(isShown), rows: shown, wholeRows: rows, notes: told }];
}

const verdictWords = (verdict: Verdict): string => verdict.replace("-", " ");

/** Formats an ISO 8601 time as `2026-11-20 14:02:11`, with any milliseconds; leaves other text. */
export const timeText = (at: string): string =>
  /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(at) ? at.replace("T", " ").replace(/(?:\.0+)?Z$/, "") : at;

function countersText({ failedAttempts, unackedStarts }: VaultReport, { limits }: Rules): string {
  const counting = said({
    [`${failedAttempts} of ${limits.failedAttempts} failed attempts in a row`]: failedAttempts > 0,
    [`${unackedStarts} of ${limits.unackedStarts} unacknowledged starts`]: unackedStarts > 0,
  });
  return counting.length === 0 ? "" : `${counting.join(" and ")} count toward lockout.`;
}

function openText({ exchange }: VaultReport): string {
  if (exchange === undefined) return "";
  const { operation, expired, tokenExpiry, item } = exchange;
  return `The ${operation === "get" ? "read" : "update"} started at ${item.at} is not acknowledged; its token ${expired ? "expired" : "expires"} at ${tokenExpiry}.`;
}

const itemHeads = "Time (UTC),Event,Who,Description,Input,Line".split(",");

function itemRow(item: ItemReference, mark: Row["mark"]): Row {
  const { at, event, action, description = "", externalRef, address, application } = item;
  const isNamed = event === "other" || event === "application";
  const what = mark === "locks" ? " (locks)" : mark === "replaces" ? ": new credentials" : "";
  const words = `${eventWords(event)}${isNamed ? `: ${action}` : ""}${what}`;
  const who = [externalRef ?? [], address ?? []].flat().join(" from ") || (application ?? "");
  // The description of an accepted call repeats the event.
  const isAccepted = /^(?:create|read|update|ack-read|ack-update|delete)$/.test(event);
  const cells = [at, words, who, isAccepted ? "" : description, item.input, String(item.line)];
  return { cells, mark };
}
