import type {
  ItemReference,
  ReplaySummary,
  Rules,
  Tally,
  VaultReport,
} from "../../documents/audit.ts";
import type { Verdict } from "../explain/severity.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { Way } from "../../way.ts";
import { eventWords, ownWords, timeText, verdictWords } from "./words.ts";

// Shapes of an outline. Any of its strings may hold what somebody wrote into a log: a printer escapes all of them for its medium.

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
  /** Words by which it can be found. */
  find?: string;
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
  find: string;
  facts: readonly Fact[];
  ways: readonly Way[];
  evidence: readonly Fact[];
  tables: readonly Table[];
  /** Absent without events. */
  timeline: Table | undefined;
}

/** Characters of a sentence, of which a report shows no more: a warning must not lose the flag at its end. */
export const longest = 1200;
const maxItems = 8;
const maxContradictions = 10;

export function sectionOf(vault: VaultReport, { rules, items }: ReplaySummary): Section {
  const { uuid, label, cause, certainty, reason, advice, who, verdict } = vault;
  const chain = itemsOf(vault);
  const isUnsure = certainty !== "certain";
  const confidence = [
    isUnsure ? `Not certain: ${reason}` : `certain: ${reason}`,
    cause === undefined || (cause.certainty === certainty && cause.reason === reason)
      ? undefined
      : `cause ${cause.certainty}: ${cause.reason}`,
  ];
  return {
    vault,
    verdict: `${verdictWords(verdict)}${certainty === "likely" ? ", likely" : ""}`,
    name: label === null ? uuid : `${uuid} (${label})`,
    find: findOf(vault),
    facts: [
      ...fact("Why", [
        cause?.text,
        cause?.refused?.text,
        verdict === "locked" ? undefined : countersText(vault, rules),
        openText(vault),
        ...vault.explanation,
        ...(isUnsure ? confidence : []),
      ]),
      ...fact("Support", [advice.support]),
      ...fact("Developer", advice.developer === advice.support ? [] : [advice.developer]),
    ],
    ways: advice.next,
    evidence: [
      ...fact("Confidence", isUnsure ? [] : confidence),
      ...chain.facts,
      ...fact("Endpoint", tallyWords(who.endpoints)),
      // The only application is everybody's.
      ...fact("Application", who.applications.length < 2 ? [] : tallyWords(who.applications)),
      ...fact("Items", [
        vault.items === items
          ? undefined
          : `${counted(vault.items, "item")} from ${timeText(vault.firstAt)} to ${timeText(vault.lastAt)}`,
      ]),
    ],
    tables: [chain.table, contradictionsOf(vault)].filter(({ rows }) => rows.length > 0),
    timeline: timelineOf(vault, rules),
  };
}

/** Takes the first texts, and counts the others. */
export function few(texts: readonly string[], most: number, unlisted = 0): string[] {
  const more = Math.max(0, texts.length - most) + unlisted;
  return [...texts.slice(0, most), ...(more > 0 ? [`… and ${grouped(more)} more`] : [])];
}

export const fact = (label: string, texts: readonly (string | undefined)[]): Fact[] => {
  const said = texts.filter((text) => text !== undefined && text !== "") as string[];
  return said.length === 0 ? [] : [{ label, texts: said }];
};

/** Formats both counters with their limits. */
export const countersOf = (
  { unackedStarts, failedAttempts }: Pick<VaultReport, "unackedStarts" | "failedAttempts">,
  { limits }: Rules,
) => ({
  starts: `${unackedStarts} of ${limits.unackedStarts}`,
  failed: `${failedAttempts} of ${limits.failedAttempts}`,
});

/** Returns words by which a vault can be found: its name, its verdict, and who used it; of one that is fine its newest items tell. */
export function findOf({ uuid, label, who, timeline = [], verdict }: VaultReport): string {
  const tallied = [...who.addresses, ...who.externalRefs].slice(0, 20).map(({ value }) => value);
  const newest = timeline.slice(-20).flatMap(({ item }) => [item.address, item.externalRef]);
  const words = new Set([uuid, label, verdictWords(verdict), ...tallied, ...newest]);
  return [...words]
    .map((text) => text?.slice(0, 100))
    .join(" ")
    .toLowerCase();
}

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

function openText({ exchange }: VaultReport): string | undefined {
  if (exchange === undefined) return undefined;
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

/** Makes a table of items. Columns and a description that all of them share become facts. */
function itemTable(name: string, entries: readonly Entry[], notes: readonly string[]) {
  const descriptions = new Set(entries.flatMap(({ item }) => saidOf(item) ?? []));
  const isShared = descriptions.size === 1;
  const who = new Set(entries.map(({ item }) => whoOf(item)));
  const isMany = (texts: (entry: Entry) => string | undefined): boolean =>
    new Set(entries.map(texts)).size > 1;
  const columns: [head: string, isKept: boolean, text: (entry: Entry) => string][] = [
    ["Time (UTC)", true, ({ item }) => timeText(item.at)],
    ["Event", true, (entry) => eventOf(entry, isShared)],
    ["Unacked", isMany(({ starts }) => starts), ({ starts = "" }) => starts],
    ["Failures", isMany(({ failed }) => failed), ({ failed = "" }) => failed],
    ["Who", who.size > 1, ({ item }) => whoOf(item)],
    ["Input", isMany(({ item }) => item.input), ({ item }) => item.input],
    ["Line", true, ({ item }) => String(item.line)],
  ];
  const kept = columns.filter(([, isKept]) => isKept);
  const rows = entries.map((entry) => ({
    cells: kept.map(([, , text]) => text(entry)),
    mark: entry.mark,
  }));
  const table: Table = { name, heads: kept.map(([head]) => head), rows, notes };
  const facts = [
    ...fact("Who", who.size === 1 ? [...who] : []),
    ...fact("Description", isShared ? [...descriptions] : []),
  ];
  return { table, facts };
}

function eventOf({ item, words, mark }: Entry, isShared: boolean): string {
  const isNamed = item.event === "other" || item.event === "application";
  const event = `${words ?? eventWords[item.event]}${isNamed ? `: ${item.action}` : ""}`;
  const [said, own] = [saidOf(item), ownWords(item)];
  return [
    mark === "locks" ? `${event} (locks)` : event,
    words !== undefined || isShared || said === undefined ? "" : `, “${said}”`,
    words !== undefined || own === undefined ? "" : `; ${own}`,
  ].join("");
}

/** Returns the description of an item, if it may say more than its event: that of an accepted call repeats it. */
const saidOf = ({ event, description }: ItemReference): string | undefined =>
  /^(?:create|read|update|ack-read|ack-update|delete)$/.test(event) ? undefined : description;

const whoOf = ({ externalRef, address, application }: ItemReference): string =>
  externalRef !== undefined && address !== undefined
    ? `${externalRef} from ${address}`
    : (externalRef ?? address ?? application ?? "");

/** Lists the items that led to the lock, or that count toward one; of many the first and the last ones. */
function itemsOf({ cause, counting }: VaultReport) {
  const chain = cause?.chain ?? counting;
  const entries = chain.map((item): Entry => {
    const locks = cause?.item !== undefined && cause.rule !== "unseen" && isSame(item, cause.item);
    return { item, mark: locks ? "locks" : undefined };
  });
  const replaced = cause?.refused?.replacedBy?.acknowledgement;
  const cut = entries.length - maxItems;
  return itemTable(
    cause === undefined ? "Items that count" : "Items that led to the lock",
    [
      ...(replaced
        ? [{ item: replaced, words: `${eventWords[replaced.event]}: new credentials` }]
        : []),
      ...(cut > 0 ? [...entries.slice(0, 2), ...entries.slice(2 + cut)] : entries),
    ],
    cut > 0 ? [`… and ${grouped(cut)} between the second and the third of them`] : [],
  );
}

/** Whether both are the same line of the same input. */
const isSame = (one: ItemReference, other: ItemReference): boolean =>
  one.line === other.line && one.input === other.input;

function contradictionsOf({ contradictions, moreContradictions }: VaultReport): Table {
  const entries = contradictions
    .slice(0, maxContradictions)
    .map(({ text, item }): Entry => ({ item, words: text }));
  const more = contradictions.length - entries.length + moreContradictions;
  const notes = more > 0 ? [`… and ${counted(more, "more contradiction")}`] : [];
  return itemTable("Contradictions in the log", entries, notes).table;
}

function timelineOf(vault: VaultReport, rules: Rules): Table | undefined {
  const { timeline = [], timelineOmitted = 0 } = vault;
  const entries = timeline.map(({ item, isCause, locks, ...counts }): Entry => {
    const mark = locks ? "locks" : isCause ? "cause" : undefined;
    return { item, ...countersOf(counts, rules), mark };
  });
  const omitted = `${counted(timelineOmitted, "earlier event")} not shown`;
  const { table } = itemTable("Timeline", entries, timelineOmitted > 0 ? [omitted] : []);
  return timeline.length === 0 ? undefined : table;
}
