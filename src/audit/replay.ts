import { Classifier } from "./meaning/classifier.ts";
import type { Item, ItemLocation } from "./read/item.ts";
import { beforeRelease, type ColumnMap, type Condition } from "./flags.ts";
import { timesHint } from "./columns/times.ts";
import type { Skips, Source } from "./read/source.ts";
import { answerOf, cutWords, distinguishesFailures, notesOf } from "./explain/summary.ts";
import { type Known, type Log, Pseudonyms } from "./explain/log.ts";
import { type InputOptions, Inputs, Intake, type IntakeOptions, Selection } from "./intake.ts";
import { rankVaults, reportOf, whatIfReport } from "./explain/report.ts";
import { VaultTable } from "./fold/vault-table.ts";
import { VaultError } from "../errors.ts";
import { orAborted } from "../terminal/signals.ts";
import type { ReplaySummary, VaultReport } from "../documents/audit.ts";
import { isProblem } from "./fold/events.ts";
import { count, grouped } from "../terminal/count.ts";
import { said } from "./read/clip.ts";

/** Maximum number of inputs, which are open at the same time. */
const maxInputs = 500;

/** Maximum number of vaults, each of which takes about 1 KB. */
const maxVaults = 2_000_000;

export interface ReplayOptions extends InputOptions, IntakeOptions, Known {
  map: ColumnMap;
  /** Zone of times without one (UTC). */
  zone?: string | undefined;
  /** Reports only vaults that have an item which meets all of these. */
  where?: readonly Condition[] | undefined;
  /** Replaces addresses, references, applications and labels by pseudonyms. */
  redact?: boolean | undefined;
  signal: AbortSignal;
}

/** Result of a replay. It must be closed: reports read items of files again. */
export interface Replay {
  summary: ReplaySummary;
  /** Yields reports, which are created lazily. */
  vaults(filter: { problems: boolean }): Iterable<VaultReport>;
  close(): void;
}

/**
 * Replays audit items in one pass. Memory grows with the vaults, not with the items.
 *
 * @throws `invalid-input` for inputs that cannot be read or have too many vaults, `usage` for missing columns or too many inputs, the
 * reason of an aborted signal.
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  if (options.inputs.length > maxInputs)
    throw new VaultError("usage", `at most ${maxInputs} files at once`, {
      hint: "combine them into one",
    });
  const { signal, rules, where } = options;
  const vaults = new VaultTable(maxVaults, options.vault);
  const pseudonyms = new Pseudonyms(options.redact === true);
  const classifier = new Classifier(rules, (text) => pseudonyms.word(text));
  const inputs = new Inputs();
  const { sources, skips } = inputs;
  const itemOf = (location: ItemLocation): Item =>
    (sources[location.input] as Source).itemOf(location);
  const selection = where && new Selection(where);
  const intake = new Intake(options, vaults, selection, itemOf);
  try {
    const { map, zone, now } = options;
    const shared = { map, zone, now, vaults, classifier };
    await orAborted(inputs.read(options, shared, intake.order), signal);
    intake.order.release(true);
    if (sources.every(({ report }) => report.items === 0) && options.journal === undefined)
      throw noItems(sources, skips);
    const log = { ...options, pseudonyms, selection, itemOf, skips };
    return {
      ...conclude(log, sources, intake, classifier),
      close: () => inputs.close(),
    };
  } catch (error) {
    inputs.close();
    // A read may be pending, and the abort surface as another error of it.
    throw signal.aborted ? (signal.reason as Error) : error;
  }
}

/** Returns the error for inputs without a single item. */
function noItems(sources: readonly Source[], { count, first: [line] }: Skips): VaultError {
  const names = sources.map(({ report }) => report.name).join(", ");
  const reasons = new Set(sources.map((source) => source.emptiness()));
  const lines = count === 1 ? "its only line" : `all ${grouped(count)} lines`;
  const [problem, hint] =
    line === undefined
      ? [
          `no audit items: ${[...reasons].join("; ")}`,
          "export the items again, for a time in which the vault was used",
        ]
      : [
          `${lines} could not be read as an audit item; line ${line.line}: ${line.reason}`,
          line.reason.startsWith("invalid time")
            ? timesHint
            : "have the items exported as NDJSON, JSON or CSV with a header line; save a spreadsheet as CSV",
        ];
  return new VaultError("invalid-input", `${names}: ${problem}`, { hint });
}

/** Creates the summary, and the reports as they are asked for. */
function conclude(
  known: Omit<ReplayOptions, "inputs"> & Pick<Log, "pseudonyms" | "selection" | "itemOf" | "skips">,
  sources: readonly Source[],
  intake: Intake,
  classifier: Classifier,
): Omit<Replay, "close"> {
  const { rules, until, journal, pseudonyms, skips } = known;
  const { fold, changed } = intake;
  const inputs = sources.map(({ report }) => report);
  const asOf = until ?? intake.newest;
  const cut = cutWords(inputs);
  const log: Log = {
    ...known,
    fold,
    inputs,
    doubts: said(
      [!distinguishesFailures(inputs, intake), "the items do not show which calls failed"],
      [
        beforeRelease(rules.release, "1.2.18"),
        `release ${rules.release} records no failed attempts`,
      ],
      [cut !== undefined, "the log is cut off or damaged: items are missing"],
      [skips.count > 0, `${count(skips.count, "line")} could not be read`],
    ),
    asOf,
    isWhole: until === undefined && journal === undefined,
  };
  const every = rankVaults(log);
  const { unknownItems, ...counts } = intake.counts;
  const { found, ...answer } = answerOf(log, every);
  const summary: ReplaySummary = {
    found,
    warnings: [
      ...new Set(sources.flatMap((source) => source.warnings)),
      ...(cut === undefined
        ? []
        : [`${cut}: what comes after is missing. Export or copy it again.`]),
      ...classifier.say(unknownItems > 0 ? ["action"] : []),
      ...classifier.say(["outcome", "description", "reason"]),
    ],
    ...answer,
    items: intake.items,
    asOf: Number.isFinite(asOf) ? new Date(asOf).toISOString() : null,
    inputs,
    rules,
    columns: inputs[0]?.columns ?? {},
    ...(changed && { whatIf: whatIfReport(changed.whatIf, log, changed.fold, every) }),
    skippedLines: skips.count,
    skipped: skips.first.map(({ input, line, reason }) => ({
      input: inputs[input]?.name ?? "",
      line,
      reason: pseudonyms.reason(reason),
    })),
    ...counts,
    duplicates: intake.duplicates,
    reordered: intake.order.reordered,
    late: fold.late,
    notes: notesOf(log, intake, classifier),
  };
  return {
    summary,
    *vaults({ problems }) {
      for (const { vault, verdict } of every)
        if (!problems || isProblem(verdict)) yield reportOf(log, vault);
    },
  };
}
