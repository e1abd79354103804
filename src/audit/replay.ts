import { setFlagsFromString } from "node:v8";
import type { ReplaySummary, Rules, VaultReport } from "../documents/audit.ts";
import { VaultError } from "../errors.ts";
import { count, grouped } from "../terminal/count.ts";
import { orAborted } from "../terminal/signals.ts";
import { timesHint } from "./columns/times.ts";
import { type Log, Pseudonyms } from "./explain/log.ts";
import { answerOf, cutWords, rankVaults, reportOf, whatIfReport } from "./explain/report.ts";
import { beforeRelease, Selection, type ColumnMap, type Condition, type WhatIf } from "./flags.ts";
import { Fold } from "./fold/fold.ts";
import { TimeOrder } from "./fold/order.ts";
import { Overlap } from "./fold/overlap.ts";
import { textOf, VaultTable } from "./read/bytes.ts";
import { Classifier } from "./meaning/classifier.ts";
import { said } from "./read/clip.ts";
import { isProblem, type Entry, type Item, type ItemLocation, type Role } from "./read/item.ts";
import { type InputOptions, Inputs, type Source } from "./read/source.ts";

export interface ReplayOptions extends InputOptions, Pick<Log, "labels" | "timeline"> {
  rules: Rules;
  map: ColumnMap;
  zone?: string | undefined;
  /** UUID of the only vault to replay, or its first digits, in lower case. */
  vault?: string;
  /** First and last time of items to replay, in milliseconds since the epoch. */
  since?: number;
  until?: number;
  /** Reports only vaults that have an item which meets all of these. */
  where?: readonly Condition[] | undefined;
  whatIf?: WhatIf;
  /** Replaces addresses, references, applications and labels by pseudonyms. */
  redact?: boolean | undefined;
  /** Current time, on which advice depends, too, in milliseconds since the epoch. */
  now: number;
  signal: AbortSignal;
}

/** Result of a replay. It must be closed: reports read items of files again. */
export interface Replay {
  summary: ReplaySummary;
  /** What could not be read names a vault, whose verdict is unknown. */
  isUnread: boolean;
  /** Yields reports, which are created lazily. */
  vaults(filter: { problems: boolean }): IteratorObject<VaultReport>;
  close(): void;
}

/**
 * Replays audit items in one pass. Memory grows with the vaults, with items only to sort them.
 *
 * @throws `invalid-input` for inputs that cannot be read or have too many vaults, `usage` for
 * missing columns, the reason of an aborted signal.
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  const { signal, where } = options;
  // More room for new objects takes 20 MB, and saves no time while items are read. Reports use it.
  setFlagsFromString("--semi-space-growth-factor=1");
  const pseudonyms = new Pseudonyms(options.redact === true);
  const inputs = new Inputs();
  const source = ({ input }: ItemLocation): Source => inputs.sources[input] as Source;
  const itemOf = (location: ItemLocation): Item => source(location).itemOf(location);
  const selection = where && new Selection(where);
  const vaults = new VaultTable();
  const given = { ...options, vaults, selection, source, itemOf, pseudonyms };
  try {
    let intake = await takeItems(given, inputs, false);
    // Like a file that was appended to itself: the copy of an item is known only beside it.
    if (intake.fold.isLate) intake = await takeItems(given, inputs, true);
    setFlagsFromString("--semi-space-growth-factor=2");
    const isEmpty = inputs.sources.every(({ report }) => report.items === 0);
    if (isEmpty && options.journal === undefined) throw noItems(inputs);
    return { ...conclude(given, inputs, intake), close: () => inputs.close() };
  } catch (error) {
    inputs.close();
    // A read may be pending, and the abort surface as another error of it.
    throw signal.aborted ? (signal.reason as Error) : error;
  }
}

/** Number of events kept of a vault to explain a lock, and for a timeline. */
const [kept, mostListed] = [24, 5000];

/** Maximum difference between clocks, a day: later items are in the future. */
const clockSkew = 86_400_000;

interface Given extends ReplayOptions, Pick<Log, "selection" | "itemOf" | "pseudonyms"> {
  vaults: VaultTable;
  source: (location: ItemLocation) => Source;
}

type Intake = Awaited<ReturnType<typeof takeItems>>;

/** Passes the wanted items of all inputs to the fold in order of time, and counts the others. */
async function takeItems(given: Given, inputs: Inputs, holdsAll: boolean) {
  const { rules, whatIf, vaults: table, source, itemOf, pseudonyms, selection } = given;
  const { since = -Infinity, until = Infinity, now } = given;
  const classifier = new Classifier(rules, (text) => pseudonyms.word(text));
  const overlap = new Overlap(source);
  const shared = { table, overlap, itemOf, events: given.timeline ? mostListed : kept };
  const fold = new Fold({ ...shared, rules });
  const limits = { ...rules.limits, ...whatIf?.limits };
  /** The fold with the change of --what-if. */
  const changed =
    whatIf && new Fold({ ...shared, rules: { ...rules, limits }, isHypothetical: true });
  /** Numbers of items: also of those without a vault, and of unknown actions of wanted vaults. */
  const counts = { items: 0, applicationItems: 0, withoutVault: 0, unknown: 0, future: 0 };
  /** In an object: a variable that a function changes would be a new number for each item. */
  const latest = { time: Number.NEGATIVE_INFINITY };
  const take = (entry: Entry): void => {
    const { time, vault, event } = entry;
    if (time < since || time > until) return;
    counts.items += 1;
    if (event === "application") return void (counts.applicationItems += 1);
    if (time > now + clockSkew) counts.future += 1;
    else if (time > latest.time) latest.time = time;
    if (vault < 0) return void (counts.withoutVault += 1);
    if (given.vault !== undefined && !table.uuid(vault).startsWith(given.vault)) return;
    selection?.take(entry, itemOf);
    if (event === "other") counts.unknown += 1;
    if (fold.take(entry)) changed?.take(entry);
  };
  const order = new TimeOrder(overlap.learn.bind(overlap), take, holdsAll);
  const reading = inputs.read(given, { ...given, classifier }, { order, fold });
  await orAborted(reading, given.signal);
  order.release(true);
  return { ...counts, newest: latest.time, classifier, fold, changed, duplicates: overlap.count };
}

function noItems({ sources, skips }: Inputs): VaultError {
  const { count, first } = skips;
  const [line] = first;
  const names = sources.map(({ report }) => report.name).join(", ");
  const isBlank = sources.every(({ input }) => /^[\0\s]*$/.test(textOf(input.head)));
  const lines = count === 1 ? "its only line" : `all ${grouped(count)} lines`;
  const problem = line
    ? `${lines} could not be read as an audit item; line ${line.line}: ${line.reason}`
    : `no audit items: ${isBlank ? "it is empty" : "it holds no items"}`;
  const hint = line?.reason.startsWith("invalid time")
    ? timesHint
    : "export the items again, as NDJSON, JSON or CSV with a header line, with the UUIDs of vaults; save a spreadsheet as CSV";
  return new VaultError("invalid-input", `${names}: ${problem}`, { hint });
}

/** Creates the summary, and the reports as they are asked for. */
function conclude(
  given: Given,
  { sources, skips }: Inputs,
  { fold, changed, classifier, newest, unknown, future, ...counts }: Intake,
): Omit<Replay, "close"> {
  const { rules, until, journal, pseudonyms, whatIf, where = [] } = given;
  const { release } = rules;
  const inputs = sources.map(({ report }) => report);
  const exports = inputs.filter(({ format }) => format !== "journal");
  const hasColumn = (role: Role) => exports.some(({ columns }) => columns[role] !== undefined);
  const lacksColumn = (role: Role) => exports.some(({ columns }) => columns[role] === undefined);
  // What tells of failures in another export tells nothing of one without outcomes and reasons.
  const isBare = exports.some(({ columns: { outcome, reason } }) => !outcome && !reason);
  const isTold = fold.hasFailures && !(isBare && hasColumn("outcome"));
  const tellsFailures = counts.items === 0 || isTold || !lacksColumn("outcome");
  const asOf = until ?? newest;
  const cut = cutWords(inputs);
  const log: Log = {
    ...given,
    fold,
    inputs,
    skips,
    doubts: said({
      "the items do not show which calls failed (--map outcome=COLUMN or --failure PATTERN tells)":
        !tellsFailures,
      "which calls failed is told by a column without a known name (--map outcome=COLUMN confirms it)":
        exports.some(({ columns: { outcome, reason } }) => outcome?.by === "value" && !reason),
      "texts tell failed attempts of calls that a column calls accepted (--map outcome=COLUMN takes it)":
        sources.some(({ layout }) => layout.isContradicted),
      "rows stand for several items, which a column counts: export each item": sources.some(
        ({ layout }) => layout.isCounted,
      ),
      [`release ${release} records no failed attempts`]: beforeRelease(release, "1.2.18"),
      "times come twice, when clocks go back": sources.some(({ layout }) => layout.times.isTwice),
      "the log is cut off or damaged: items are missing": cut !== undefined,
      [`${count(skips.count, "line")} could not be read`]: skips.count > 0,
    }),
    asOf,
    isWhole: until === undefined && journal === undefined,
  };
  const every = rankVaults(log);
  const { found, ...answer } = answerOf(log, every);
  const summary: ReplaySummary = {
    found,
    warnings: [
      ...new Set(sources.flatMap(({ layout }) => layout.warnings)),
      ...(cut ? [`${cut}: what comes after is missing. Export or copy it again.`] : []),
      ...classifier.say(unknown > 0 ? ["action"] : []),
      ...classifier.say(["outcome", "description", "reason", "endpoint"]),
      ...exports.filter((input) => input.items === 0).map(({ name }) => `${name} has no items.`),
      ...said({
        [`${count(future, "item")} dated in the future: verdicts are as of the latest other item.`]:
          future > 0,
      }),
      ...where
        .filter((one) => journal === undefined && !hasColumn(one.key))
        .map(({ key }) => `No column is known for --where ${key}=…; name it (--map ${key}=…).`),
    ],
    ...answer,
    ...counts,
    asOf: Number.isFinite(asOf) ? new Date(asOf).toISOString() : null,
    inputs,
    rules: pseudonyms.rules(rules),
    columns: inputs[0]?.columns ?? {},
    ...(whatIf && changed && { whatIf: whatIfReport(whatIf, log, changed, every) }),
    skippedLines: skips.count,
    skipped: skips.first.map(({ input, line, reason }) => ({
      input: inputs[input]?.name ?? "",
      line,
      reason: pseudonyms.reason(reason),
    })),
  };
  return {
    summary,
    isUnread: every.some((one) => one.verdict === "unknown" && skips.namedAt(one.vault.uuid) > 0),
    *vaults({ problems }) {
      for (const { vault, verdict } of every)
        if (!problems || isProblem(verdict)) yield reportOf(log, vault);
    },
  };
}
