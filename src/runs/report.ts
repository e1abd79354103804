import type { Io } from "../parts/io.ts";
import type { Basics } from "../parts/settings.ts";
import type { Redactor } from "../terminal/redactor.ts";
import type { MakeView } from "../cli/output.ts";
import { counted, grouped } from "../terminal/count.ts";
import type { Palette } from "../terminal/palette.ts";
import { createPalette } from "../terminal/palette.ts";
import { jsonText, printableLine } from "../terminal/redactor.ts";
import { wrapMessage } from "../terminal/streams.ts";
import type { GetDocument, ManyEvent, UpdateDocument } from "../documents/exchange.ts";
import type { Causes, Outcome } from "./outcome.ts";
import { createCauses, skipWords } from "./outcome.ts";
import type { Reader } from "../terminal/who.ts";
import { bySince, inUse } from "../terminal/who.ts";
import type { Named } from "../cli/vault-name.ts";
import type { Way } from "../way.ts";
import type { Progress } from "../terminal/progress.ts";
import { createProgressBar, measuredSeconds, progressParts } from "../terminal/progress.ts";

/** What a command with many vaults prints while it runs, and at its end. */
export interface Report {
  /** Of the outcomes so far; what was stopped is in none. */
  readonly tally: Readonly<Tally>;
  /** Prints the contents of a vault whole; `view` is the table of a single get. Resolves when they are delivered, rejects as `stdout.write`. */
  contents(document: GetDocument, view: MakeView): Promise<void>;
  /** Prints what an update did, after its acknowledgement. A person has the row of the outcome instead. */
  receipt(document: UpdateDocument): Promise<void>;
  /** What has kept entries from being done. */
  readonly causes: Pick<Causes, "inShort" | "staying">;
  /** Once for each entry. */
  outcome(entry: Named, outcome: Outcome): Promise<void>;
  end(summary: Summary): Promise<void>;
  /** Erases the progress line; `end` does so too. Call it also where the command fails. */
  close(): void;
}

export interface Summary {
  run: string;
  seconds: number;
  /** Requests sent to the service. */
  calls: number;
  /** What helps those that are not done. */
  next: Way[];
}

export interface ReportOptions {
  operation: "get" | "update" | "ack";
  /** Number of entries. */
  total: number;
  /** Lines for a program, or rows for a person. */
  form: "ndjson" | "rows";
  /** The command line that continues the run. */
  rest: Way;
}

/** Creates the report of one command, and shows progress until it is closed. It holds no more for many vaults than for a few. */
export function createReport(
  { io, settings }: Basics,
  { operation, total, form, rest }: ReportOptions,
): Report {
  const { host, narrator, redactor } = io;
  const tally: Tally = { total, done: 0, earlier: 0, failed: 0, skipped: 0 };
  const causes = createCauses(redactor.redact, operation, rest);
  const progress = showProgress({ io, settings }, tally);
  let palette: Promise<Palette> | undefined;
  const printLine = async (event: ManyEvent): Promise<void> =>
    await host.stdout.write(`${jsonText(event)}\n`);
  const count = ({ uuid }: Pick<Named, "uuid">, outcome: Outcome): void => {
    if (outcome.ok) tally.done += 1;
    if (outcome.ok && outcome.earlier === true) tally.earlier += 1;
    if ("error" in outcome) {
      tally.failed += 1;
      causes.fail(uuid, outcome.error);
    }
    if ("skipped" in outcome && outcome.skipped !== "stopped") {
      tally.skipped += 1;
      causes.skip(uuid, outcome.skipped);
    }
  };
  return {
    tally,
    causes,
    contents: async (document, view) => {
      const { settled, ...rest } = document;
      if (form === "ndjson")
        await printLine({
          event: "contents",
          ...rest,
          ...(settled.length === 0 ? {} : { settled }),
        });
      else await io.output.print(document, view);
    },
    receipt: async ({ settled, ...rest }) => {
      if (form === "ndjson")
        await printLine({
          event: "receipt",
          ...rest,
          ...(settled.length === 0 ? {} : { settled }),
        });
    },
    outcome: async (entry, outcome) => {
      count(entry, outcome);
      if (form === "ndjson") await printLine(outcomeLine(io.redactor, entry, outcome));
      else if (!isStopped(outcome))
        await host.stdout.write(
          row(io, entry, outcome, await (palette ??= createPalette(host.stdout.color))),
        );
      progress.update();
    },
    end: async (summary) => {
      progress.close();
      const { run, seconds, calls, next } = summary;
      const { done, earlier, failed, skipped } = tally;
      const left = total - done - failed - skipped;
      if (form === "ndjson")
        await printLine({
          event: "summary",
          run,
          done,
          earlier,
          failed,
          skipped: skipped + left,
          seconds,
          calls,
          next: redactor.redactValue(next),
        });
      const say = host.stderr.isTTY ? narrator.note : narrator.detail;
      say(summaryLine(operation, left, summary, tally));
      for (const { lines, next } of causes.told()) {
        for (const line of lines.slice(0, -1)) say(line);
        say(lines.at(-1) ?? "", next);
      }
    },
    close: progress.close,
  };
}

function outcomeLine(redactor: Redactor, { uuid, label }: Named, outcome: Outcome): ManyEvent {
  const shown =
    "error" in outcome
      ? {
          ok: false as const,
          error: redactor.redactValue(outcome.error.with({ uuid, label }).toJSON()),
        }
      : outcome;
  return { event: "outcome", uuid, label, ...shown };
}

const isStopped = (outcome: Outcome): boolean =>
  "skipped" in outcome && outcome.skipped === "stopped";

/** A row on a terminal: `UUID  failed   LABEL: what failed`. */
function row(
  { host, redactor }: Io,
  { uuid, label }: Named,
  outcome: Outcome,
  palette: Palette,
): string {
  const { word, paint, why } = describe(outcome, palette, { self: host.actor, now: host.now() });
  if (!host.stdout.isTTY)
    return `${[uuid, word, label ?? "", redactor.redact(why ?? "")].map(printableLine).join("\t")}\n`;
  const facts = [label, why].filter((fact) => fact !== null).join(": ");
  const text = printableLine(redactor.redact(`${uuid}  ${word.padEnd(7)}  ${facts}`.trimEnd()));
  return `${wrapMessage(text, host.stdout.columns).replace(word, paint(word))}\n`;
}

function describe(
  outcome: Outcome,
  { good, warn, bad, dim }: Palette,
  reader: Reader,
): { word: string; paint: (text: string) => string; why: string | null } {
  if ("error" in outcome) {
    const { message, facts } = outcome.error;
    const { by, since, exchange } = facts;
    const who =
      by !== undefined && since !== undefined
        ? `; ${inUse({ by, since }, reader)}`
        : exchange === undefined
          ? ""
          : bySince(exchange, reader, ", by");
    return { word: "failed", paint: bad, why: `${message}${who}` };
  }
  if ("skipped" in outcome) {
    const { skipped, exchange } = outcome;
    const why = skipped === "stopped" ? "the command was stopped" : skipWords[skipped].why;
    const who = exchange === undefined ? "" : bySince(exchange, reader);
    return { word: "skipped", paint: warn, why: `${why}${who}` };
  }
  return outcome.earlier === true
    ? { word: "earlier", paint: dim, why: null }
    : { word: "done", paint: good, why: null };
}

const verbs = { get: "read", update: "updated", ack: "acknowledged" } as const;

/** `1,990 of 2,000 vaults read in 171.2 s (23.4 calls a second): 3 failed, 7 skipped. Run NAME.` */
function summaryLine(
  operation: keyof typeof verbs,
  left: number,
  { run, seconds, calls }: Summary,
  tally: Tally,
): string {
  const { total, done, earlier, failed, skipped } = tally;
  const rate = seconds < 0.05 || calls === 0 ? "" : ` (${number(calls / seconds)} calls a second)`;
  const counts = [
    ...(earlier === 0 ? [] : [`${number(earlier)} of them earlier`]),
    ...(failed === 0 ? [] : [`${number(failed)} failed`]),
    ...(skipped === 0 ? [] : [`${number(skipped)} skipped`]),
    ...(left === 0 ? [] : [`${number(left)} not started`]),
  ];
  const vaults = `${done === total ? "" : `${number(done)} of `}${counted(total, "vault")}`;
  return `${vaults} ${verbs[operation]} in ${number(seconds)} s${rate}${counts.length === 0 ? "" : `: ${counts.join(", ")}`}. Run ${run}.`;
}

const number = (n: number): string => n.toLocaleString("en-US", { maximumFractionDigits: 1 });

/** Numbers of vaults. */
export interface Tally {
  total: number;
  /** Includes `earlier`: done by an earlier command of the run. */
  done: number;
  earlier: number;
  failed: number;
  skipped: number;
}

const tickMs = 1000;

/**
 * Shows how far a run is, until `close`: a bar on a terminal, redrawn every second and at `update`; elsewhere with --verbose a line every
 * second. `tally` may change all the time.
 */
function showProgress(
  { io: { host, narrator }, settings: { flags } }: Basics,
  tally: Readonly<Tally>,
): { update: () => void; close: () => void } {
  const began = host.elapsed();
  const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
  const terminal = host.stderr.isTTY && !isQuiet ? host.terminal().output : undefined;
  const bar = createProgressBar(terminal, () => host.elapsed(), runProgress);
  if (terminal !== undefined) {
    host.stderr.surroundWrites(bar.around);
    if (host.stdout.isTTY) host.stdout.surroundWrites(bar.around);
  }
  const update = (): void => bar.update(tally);
  const tellLine = (): void =>
    narrator.detail(
      progressParts(runProgress(tally, measuredSeconds(host.elapsed() - began)))
        .join(", ")
        .trimStart(),
    );
  const timer = setInterval(host.stderr.isTTY ? update : tellLine, tickMs).unref();
  return {
    update,
    close: () => {
      clearInterval(timer);
      bar.clear();
    },
  };
}

function runProgress(
  { total, done, earlier, failed, skipped }: Tally,
  seconds: number | undefined,
): Progress {
  const finished = done + failed + skipped;
  // Only these took time.
  const worked = finished - earlier - skipped;
  const rate = seconds === undefined || worked === 0 ? undefined : worked / seconds;
  const left = total - finished;
  return {
    share: total === 0 ? undefined : finished / total,
    secondsLeft: rate === undefined || left === 0 ? undefined : Math.ceil(left / rate),
    facts: [
      `${grouped(done)} of ${grouped(total)} done`,
      ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
      ...(rate === undefined
        ? []
        : [`${rate < 99.5 ? rate.toFixed(1) : grouped(Math.round(rate))} vaults/s`]),
      ...(skipped === 0 ? [] : [`${grouped(skipped)} skipped`]),
    ],
  };
}
