import type {
  ItemReference,
  ReplaySummary,
  Rules,
  Tally,
  VaultReport,
} from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { Way } from "../../way.ts";
import type { Verdict } from "../explain/severity.ts";
import type { EventKind } from "../fold/events.ts";

// What a report says of a vault. Any string may hold what somebody wrote into a log: a printer escapes all of them for its medium.

export interface Fact {
  label: string;
  texts: readonly string[];
}

export interface Row {
  cells: readonly string[];
  verdict?: Verdict;
  /** Part of the cause of a lock, or the item that locked. */
  mark?: "cause" | "locks" | undefined;
  /** Number of the section about it. */
  section?: number | undefined;
}

export interface Table {
  name: string;
  heads: readonly string[];
  rows: readonly Row[];
  /** What is not listed. */
  notes: readonly string[];
}

/** What is said of a vault: why, what to do, then the evidence. */
export interface Section {
  vault: VaultReport;
  /** `locked`, or `locked, likely`. */
  verdict: string;
  name: string;
  facts: readonly Fact[];
  ways: readonly Way[];
  evidence: readonly Fact[];
  tables: readonly Table[];
  /** Without events, it has no rows. */
  timeline: Table;
}

export function sectionOf(vault: VaultReport, { rules, items }: ReplaySummary): Section {
  const { uuid, label, cause, certainty, reason, advice, who, verdict } = vault;
  const chain = chainOf(vault);
  const isSure = certainty === "certain";
  const isOther = cause !== undefined && (cause.certainty !== certainty || cause.reason !== reason);
  const confidence = [
    `${isSure ? "certain" : "Not certain"}: ${reason}`,
    isOther ? `cause ${cause.certainty}: ${cause.reason}` : "",
  ];
  const contradictions = vault.contradictions.map(({ text, item }) => ({ item, words: text }));
  const timeline = (vault.timeline ?? []).map(({ item, isCause, locks, ...counts }): Entry => {
    const mark = locks ? "locks" : isCause ? "cause" : undefined;
    return { item, mark, ...countersOf(counts, rules) };
  });
  const tables = [
    chain.table,
    itemTable("Contradictions in the log", contradictions, more(vault.moreContradictions)).table,
  ];
  return {
    vault,
    verdict: `${verdictWords(verdict)}${certainty === "likely" ? ", likely" : ""}`,
    name: label === null ? uuid : `${uuid} (${label})`,
    facts: factsOf({
      Why: [
        cause?.text,
        cause?.refused?.text,
        verdict === "locked" ? "" : countersText(vault, rules),
        openText(vault),
        ...vault.explanation,
        ...(isSure ? [] : confidence),
      ],
      Support: [advice.support],
      Developer: [advice.developer === advice.support ? "" : advice.developer],
    }),
    ways: advice.next,
    evidence: factsOf({
      Confidence: isSure ? confidence : [],
      ...chain.facts,
      Endpoint: tallyWords(who.endpoints),
      // The only application is everybody's.
      Application: who.applications.length > 1 ? tallyWords(who.applications) : [],
      Items: [
        vault.items === items
          ? ""
          : `${counted(vault.items, "item")} from ${timeText(vault.firstAt)} to ${timeText(vault.lastAt)}`,
      ],
    }),
    tables: tables.filter(({ rows }) => rows.length > 0),
    timeline: itemTable("Timeline", timeline, more(vault.timelineOmitted ?? 0, "earlier")).table,
  };
}

/** Takes the first texts, and counts the others. */
export const few = (texts: readonly string[], most = 50): string[] => [
  ...texts.slice(0, most),
  ...more(texts.length - most),
];

/** Says how many are not listed: nothing for none. */
export const more = (count: number, words = "more"): string[] =>
  count > 0 ? [`… and ${grouped(count)} ${words}`] : [];

/** Makes facts of texts by their labels, without those that say nothing. */
export const factsOf = (all: Record<string, readonly (string | undefined)[]>): Fact[] =>
  Object.entries(all)
    .map(([label, texts]) => ({ label, texts: texts.flatMap((text) => text || []) }))
    .filter(({ texts }) => texts.length > 0);

/** A row whose cells have their heads. */
export type TableRow = Omit<Row, "cells"> & { cells: Readonly<Record<string, string>> };

/** Makes a table, without columns that are empty. */
export function tableOf(name: string, rows: readonly TableRow[], notes: readonly string[]): Table {
  const heads = Object.keys(rows[0]?.cells ?? {}).filter((head) =>
    rows.some(({ cells }) => cells[head] !== ""),
  );
  const list = rows.map((row) => ({ ...row, cells: heads.map((head) => row.cells[head] ?? "") }));
  return { name, heads, rows: list, notes };
}

/** A verdict for people: `at risk`. */
export const verdictWords = (verdict: Verdict): string => verdict.replace("-", " ");

/** Formats an ISO 8601 time as `2026-11-20 14:02:11`, in UTC, with its milliseconds if there are any; leaves other text. */
export const timeText = (at: string): string =>
  /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(at) ? at.replace("T", " ").replace(/(?:\.0+)?Z$/, "") : at;

/** Formats both counters with their limits. */
export const countersOf = (
  { unackedStarts, failedAttempts }: Pick<VaultReport, "unackedStarts" | "failedAttempts">,
  { limits }: Rules,
) => ({
  starts: `${unackedStarts} of ${limits.unackedStarts}`,
  failed: `${failedAttempts} of ${limits.failedAttempts}`,
});

const tallyWords = (values: readonly Tally[]): string[] =>
  few(
    values.map(({ value, count }) => (count > 1 ? `${value} ×${count}` : value)),
    3,
  );

function countersText(vault: VaultReport, rules: Rules): string {
  const { starts, failed } = countersOf(vault, rules);
  const all = [`${failed} failed attempts in a row`, `${starts} unacknowledged starts`];
  const counting = all.filter((words) => !words.startsWith("0 "));
  return counting.length === 0 ? "" : `${counting.join(" and ")} count toward lockout.`;
}

function openText({ exchange }: VaultReport): string {
  if (exchange === undefined) return "";
  const { operation, startedAt, expired, tokenExpiry } = exchange;
  return `The ${operation === "get" ? "read" : "update"} started at ${startedAt} is not acknowledged; its token ${expired ? "expired" : "expires"} at ${tokenExpiry}.`;
}

/** A row of a table of items. */
interface Entry {
  item: ItemReference;
  /** In place of those of the event. */
  words?: string;
  starts?: string;
  failed?: string;
  mark?: Row["mark"];
}

/** Lists the items that led to the lock, or that count toward one. */
function chainOf({ cause, counting }: VaultReport) {
  const replaced = cause?.refused?.replacedBy?.acknowledgement;
  const entries = (cause?.chain ?? counting).map((item, index, { length }): Entry => {
    const locks = cause?.item !== undefined && cause.rule !== "unseen" && index === length - 1;
    return { item, mark: locks ? "locks" : undefined };
  });
  if (replaced !== undefined)
    entries.unshift({ item: replaced, words: `${eventWords[replaced.event]}: new credentials` });
  return itemTable(`Items that ${cause === undefined ? "count" : "led to the lock"}`, entries);
}

/** Makes a table of items. Who and a description that all of them share are facts. */
function itemTable(name: string, entries: readonly Entry[], notes: readonly string[] = []) {
  const said = new Set(entries.flatMap(({ item }) => saidOf(item) ?? []));
  const who = new Set(entries.map(({ item }) => whoOf(item)));
  const inputs = new Set(entries.map(({ item }) => item.input));
  const rows = entries.map((entry) => {
    const { item, mark, starts = "", failed = "" } = entry;
    const cells = {
      "Time (UTC)": timeText(item.at),
      Event: eventOf(entry, said.size === 1),
      Unacked: starts,
      Failures: failed,
      Who: who.size > 1 ? whoOf(item) : "",
      Input: inputs.size > 1 ? item.input : "",
      Line: String(item.line),
    };
    return { cells, mark };
  });
  const facts = {
    Who: who.size === 1 ? [...who] : [],
    Description: said.size === 1 ? [...said] : [],
  };
  return { table: tableOf(name, rows, notes), facts };
}

function eventOf({ item, words, mark }: Entry, isShared: boolean): string {
  if (words !== undefined) return words;
  const isNamed = item.event === "other" || item.event === "application";
  const said = isShared ? undefined : saidOf(item);
  return [
    eventWords[item.event],
    isNamed ? `: ${item.action}` : "",
    mark === "locks" ? " (locks)" : "",
    said === undefined ? "" : `, “${said}”`,
    ownWords(item),
  ].join("");
}

/** Describes this machine's exchange that an item belongs to. */
function ownWords({ own }: ItemReference): string {
  if (own === undefined) return "";
  const superseded =
    own.supersededAt === undefined ? "" : `, superseded ${timeText(own.supersededAt)}`;
  return `; exchange ${own.id} (${own.operation}, ${own.state}; generation ${own.generation}${superseded})`;
}

/** Returns the description of an item, if it may say more than its event: that of an accepted call repeats it. */
const saidOf = ({ event, description }: ItemReference): string | undefined =>
  /^(?:create|read|update|ack-read|ack-update|delete)$/.test(event) ? undefined : description;

const whoOf = ({ externalRef, address, application }: ItemReference): string =>
  externalRef !== undefined && address !== undefined
    ? `${externalRef} from ${address}`
    : (externalRef ?? address ?? application ?? "");

/** Kinds of events for people. */
export const eventWords: Record<EventKind, string> = {
  create: "created",
  read: "read started",
  update: "update started",
  "ack-read": "read acknowledged",
  "ack-update": "update acknowledged",
  delete: "deleted",
  "failed-read": "read refused: credentials",
  "failed-update": "update refused: credentials",
  "failed-delete": "delete refused: credentials",
  "failed-attempt": "access refused: credentials",
  "failed-device": "refused: device",
  "failed-pin": "refused: PIN",
  refused: "refused, reason not known",
  "locking-failure": "refused: credentials",
  "locking-start": "start refused: limit reached",
  "refused-locked": "call refused: locked",
  gone: "refused: no such vault",
  "failed-ack": "acknowledgement refused",
  lock: "locked by administrator",
  unlock: "unlocked by administrator",
  "lock-noted": "locked, as recorded",
  "not-performed": "not performed",
  unauthorized: "refused with status 401",
  application: "about the application",
  "unanswered-start": "start: no response",
  "unanswered-ack": "acknowledgement: no response",
  "unclear-start": "start: outcome unclear",
  "unclear-ack": "acknowledgement: unclear",
  other: "unknown action",
};
