import { Classifier } from "./read/columns/classify-item.ts";
import type { Columns, Item } from "./read/item.ts";
import type { InputSpec } from "./read/open-source.ts";
import { journalSource, openSource } from "./read/open-source.ts";
import type { ColumnMap } from "./read/columns/parse-map.ts";
import { inputOf, maxInputs } from "./read/item.ts";
import { readMerged, Skips } from "./read/source.ts";
import { foundOf } from "./report/found.ts";
import { References } from "./report/references.ts";
import type { FindOwn } from "./report/references.ts";
import { Replayer } from "./replayer.ts";
import type { Reenacted } from "./replayer.ts";
import { isProblem } from "./report/report.ts";
import type { ReenactmentReport, ReplaySummary, VaultReport, Verdict, WhatIfReport } from "./report/report.ts";
import type { Rules } from "./fold/rules.ts";
import type { Source } from "./read/source.ts";
import { summaryOf, distinguishesFailures } from "./report/summary.ts";
import { rankVaults, reportOf, statusOf } from "./report/vault-reports.ts";
import type { ReportContext, Ranked } from "./report/vault-reports.ts";
import { VaultTable } from "./fold/vault-table.ts";
import type { WhatIf } from "./fold/what-if.ts";
import { whatIfReport } from "./report/what-if-report.ts";
import { VaultError } from "../errors.ts";
import { defined } from "../defined.ts";

/** Maximum number of vaults, each of which takes about 350 bytes. */
const maxVaults = 4_000_000;

export interface ReplayOptions {
  inputs: readonly InputSpec[];
  /** Items of this machine's journal, oldest first, instead of inputs. */
  journal?: Iterable<Item> | undefined;
  rules: Rules;
  map: ColumnMap;
  /** UUID of the only vault to replay, in either case. */
  vault?: string;
  /** First and last time of items to replay, in milliseconds since the epoch. */
  since?: number;
  until?: number;
  /** Events to keep for timelines: those of the one vault, or the newest of every vault. */
  timeline: "none" | "vault" | "problems";
  whatIf?: WhatIf;
  reenact?: Reenacted | undefined;
  own?: FindOwn;
  /** Labels of vaults by UUID, in lower case. */
  labels?: ReadonlyMap<string, string> | undefined;
  progress?: (bytesRead: number, totalBytes: number | null, items: number) => void;
  signal: AbortSignal;
  /** Current time, on which advice depends, in milliseconds since the epoch. */
  now: number;
}

/** Result of a replay. It must be closed: reports read items from the inputs again. */
export interface Replay {
  summary: ReplaySummary;
  /** Yields reports, which are created lazily. */
  vaults(filter: { problems: boolean }): Iterable<VaultReport>;
  whatIf?: WhatIfReport;
  reenactment?: ReenactmentReport;
  close(): Promise<void>;
}

/**
 * Replays audit items in one pass. Memory grows with the vaults, not with the items.
 *
 * @throws `invalid-input` for inputs that cannot be read or have too many vaults, `usage` for missing columns or too many inputs, the
 * reason of an aborted signal.
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  if (options.inputs.length > maxInputs)
    throw new VaultError("usage", `at most ${maxInputs} files at once`, { hint: "combine them into one" });
  const vaults = new VaultTable(maxVaults, options.vault);
  const classifier = new Classifier(options.rules.failure === null ? null : new RegExp(options.rules.failure, "i"));
  const skips = new Skips();
  const sources: Source[] = [];
  const close = async (): Promise<void> => {
    for (const source of sources) await source.close();
  };
  const closeLater = (): void => void close().catch(() => undefined);
  try {
    const shared = { map: options.map, vaults, classifier, skips };
    if (options.journal !== undefined) sources.push(journalSource(options.journal, { ...shared, index: 0 }));
    const { signal } = options;
    for (const [index, spec] of options.inputs.entries()) sources.push(await unlessAborted(signal, openSource(spec, { ...shared, index })));
    const replayer = new Replayer(options, vaults);
    await unlessAborted(signal, readMerged(sources, replayer.take, pauseBetween(options, sources, replayer)));
    replayer.end();
    if (skips.count > 0 && sources.every(({ report }) => report.items === 0)) throw noItems(sources, skips);
    return { ...conclude(options, { sources, replayer, vaults, classifier, skips }), close };
  } catch (error) {
    // Closing may have to wait for a pending read.
    if (options.signal.aborted) closeLater();
    else await close();
    throw error;
  }
}

/**
 * Waits for work, but not after the signal is aborted: a read may wait for its input forever.
 *
 * @throws what the work throws, or the reason of an aborted signal.
 */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } catch (error) {
    // An abort may surface as another error of the reader.
    throw signal.aborted ? (signal.reason as Error) : error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Returns the error for inputs without a single item. */
function noItems(sources: readonly Source[], { count, first: [line] }: Skips): VaultError {
  const names = sources.map(({ report }) => report.name).join(", ");
  const lines = count === 1 ? "its only line" : `all ${count.toLocaleString("en")} lines`;
  return new VaultError("invalid-input", `${names}: ${lines} could not be read as an audit item; line ${line?.line}: ${line?.reason}`, {
    hint: "export the items as NDJSON, JSON or CSV with a header line; save a spreadsheet as CSV",
  });
}

interface Parts {
  sources: readonly Source[];
  replayer: Replayer;
  vaults: VaultTable;
  classifier: Classifier;
  skips: Skips;
}

function conclude(options: ReplayOptions, { sources, replayer, vaults, classifier, skips }: Parts): Omit<Replay, "close"> {
  const inputs = sources.map(({ report }) => report);
  const find = (location: number, line: number): Item | undefined =>
    replayer.keptItem(location) ?? sources[inputOf(location)]?.find?.(location, line);
  const references = new References(
    find,
    inputs.map(({ name }) => name),
    classifier,
    options.own,
  );
  const asOf = options.until ?? replayer.newest;
  const facts = {
    skippedLines: skips.count,
    distinguishesFailures: distinguishesFailures(inputs, replayer),
    unclearOutcomes: [...classifier.unclear],
    beginsLater: options.since !== undefined,
  };
  const { now, labels = new Map<string, string>() } = options;
  const context: ReportContext = { fold: replayer.fold, vaults, labels, references, timelines: replayer.timelines, facts, asOf, now };
  const every = rankVaults(context);
  const counts = countVerdicts(every);
  const { changed } = replayer;
  const whatIf =
    changed === undefined ? undefined : whatIfReport(changed.whatIf, context, { ...context, fold: changed.fold }, every, replayer);
  const reenactment = options.reenact?.finish(asOf, statesOf(context, every));
  return {
    summary: summaryOf({
      found: foundOf(context, every, counts),
      options,
      inputs,
      replayer,
      classifier,
      skips,
      vaults: every.length,
      verdicts: counts,
      asOf,
      columns: columnsOf(inputs),
    }),
    *vaults({ problems }) {
      for (const { vault, verdict } of every) if (!problems || isProblem(verdict)) yield reportOf(context, vault);
    },
    ...defined({ whatIf, reenactment }),
  };
}

const columnsOf = (inputs: readonly { columns: Columns }[]): Columns => inputs[0]?.columns ?? {};

function countVerdicts(vaults: readonly Ranked[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { locked: 0, "at-risk": 0, "open-exchange": 0, deleted: 0, ok: 0 };
  for (const { verdict } of vaults) counts[verdict] += 1;
  return counts;
}

function* statesOf(context: ReportContext, vaults: readonly Ranked[]) {
  for (const { vault } of vaults) yield { uuid: context.vaults.uuid(vault), state: statusOf(context, vault).state };
}

/** Bytes after which progress is shown and signals are handled. */
const bytesAtATime = 4 * 1024 * 1024;

function pauseBetween({ signal, progress }: ReplayOptions, sources: readonly Source[], replayer: Replayer) {
  let next = bytesAtATime;
  const isSized = sources.every(({ totalBytes }) => totalBytes !== null);
  const total = isSized ? sources.reduce((sum, { totalBytes }) => sum + (totalBytes ?? 0), 0) : null;
  return (): Promise<void> | undefined => {
    const read = sources.reduce((sum, source) => sum + source.bytesRead(), 0);
    if (read < next) return undefined;
    next = read + bytesAtATime;
    progress?.(read, total, replayer.items);
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      });
    });
  };
}
