import type { ItemReference, ReplaySummary, Rules, VaultReport } from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { Way } from "../../way.ts";
import { eventWords, type Verdict } from "../fold/events.ts";

// The parts of a report, and what it says of a vault. Any string may hold what somebody wrote into a log: a printer escapes all of them for its medium.

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
  /** All events of a vault, for printers with room for them. */
  timeline?: readonly Table[];
}

/** Returns what is said of a vault. */
export function sectionOf(vault: VaultReport, { rules, items }: ReplaySummary): Section {
  const { uuid, label, cause, certainty, reason, advice, verdict, counting } = vault;
  const isOther = cause !== undefined && (cause.certainty !== certainty || cause.reason !== reason);
  const led = (cause?.chain ?? counting).map((item, index, { length }): Entry => {
    const locks = cause?.item !== undefined && cause.rule !== "unseen" && index === length - 1;
    return { item, mark: locks ? "locks" : undefined };
  });
  const replaced = cause?.refused?.replacedBy?.acknowledgement;
  if (replaced !== undefined) led.unshift({ item: replaced, mark: "replaces" });
  const timeline = (vault.timeline ?? []).map(({ item, isCause, locks, ...counts }): Entry => {
    const mark = locks ? "locks" : isCause ? "cause" : undefined;
    return { item, mark, ...countersOf(counts, rules) };
  });
  const { items: own, firstAt, lastAt } = vault;
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
      ],
      Confidence: [
        `${certainty}: ${reason}`,
        isOther ? `cause ${cause.certainty}: ${cause.reason}` : "",
      ],
      Support: [advice.support],
      Developer: [advice.developer === advice.support ? "" : advice.developer],
      Who: [sharedBy(led, whoOf)],
      Description: [sharedBy(led, saidOf)],
      Contradictions: [
        ...vault.contradictions.map(
          ({ at, text, item }) => `${timeText(at)}, ${item.input}, line ${item.line}: ${text}`,
        ),
        ...more(vault.moreContradictions),
      ],
      Items: [
        own === items
          ? ""
          : `${counted(own, "item")} from ${timeText(firstAt)} to ${timeText(lastAt)}`,
      ],
    }),
    ways: advice.next,
    tables: itemTable(`Items that ${cause === undefined ? "count" : "led to the lock"}`, led),
    timeline: itemTable("Timeline", timeline, more(vault.timelineOmitted ?? 0, "earlier")),
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

/** Makes a table, without columns that are empty; none without rows. */
export function tableOf(
  name: string,
  heads: readonly string[],
  rows: readonly Row[],
  notes: readonly string[],
): Table[] {
  const isKept = (_: string, index: number) => rows.some(({ cells }) => cells[index] !== "");
  const kept = rows.map((row) => ({ ...row, cells: row.cells.filter(isKept) }));
  return rows.length === 0 ? [] : [{ name, heads: heads.filter(isKept), rows: kept, notes }];
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
  starts?: string;
  failed?: string;
  mark?: Row["mark"];
}

/** Returns the text that all of the items have which have one. */
function sharedBy(
  entries: readonly Entry[],
  textOf: (item: ItemReference) => string | undefined,
): string | undefined {
  const texts = new Set(entries.flatMap(({ item }) => textOf(item) ?? []));
  return texts.size === 1 ? [...texts].join("") : undefined;
}

/** Makes a table of items, without what they share. */
function itemTable(name: string, entries: readonly Entry[], notes: readonly string[] = []) {
  const own = (textOf: (item: ItemReference) => string | undefined) => {
    const shared = sharedBy(entries, textOf);
    return (item: ItemReference): string => (shared === undefined ? (textOf(item) ?? "") : "");
  };
  const [said, who, input] = [own(saidOf), own(whoOf), own((item) => item.input)];
  const rows = entries.map(({ item, mark, starts = "", failed = "" }): Row => {
    const event = eventOf(item, mark, said(item));
    const line = String(item.line);
    return {
      cells: [timeText(item.at), event, starts, failed, who(item), input(item), line],
      mark,
    };
  });
  return tableOf(name, itemHeads, rows, notes);
}

const itemHeads = ["Time (UTC)", "Event", "Unacked", "Failures", "Who", "Input", "Line"];

function eventOf({ event, action, own }: ItemReference, mark: Row["mark"], said: string): string {
  const isNamed = event === "other" || event === "application";
  return [
    eventWords(event),
    isNamed ? `: ${action}` : "",
    mark === "locks" ? " (locks)" : mark === "replaces" ? ": new credentials" : "",
    said === "" ? "" : `, “${said}”`,
    own === undefined
      ? ""
      : `; exchange ${own.id} (${own.operation}, ${own.state}; generation ${own.generation})`,
  ].join("");
}

/** Returns the description of an item, if it may say more than its event: that of an accepted call repeats it. */
const saidOf = ({ event, description }: ItemReference): string | undefined =>
  /^(?:create|read|update|ack-read|ack-update|delete)$/.test(event) ? undefined : description;

const whoOf = ({ externalRef, address, application }: ItemReference): string =>
  externalRef !== undefined && address !== undefined
    ? `${externalRef} from ${address}`
    : (externalRef ?? address ?? application ?? "");
