import type { MakeView } from "../cli/output.ts";
import type { GetDocument, ManyEvent, SkipReason, UpdateDocument } from "../documents/exchange.ts";
import { formatDuration } from "../duration.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { Named } from "../exchange/records.ts";
import type { Basics } from "../parts/basics.ts";
import { count, grouped } from "../terminal/count.ts";
import { createPalette, type Palette } from "../terminal/palette.ts";
import { jsonText, printableLine } from "../terminal/redactor.ts";
import { wrapMessage } from "../terminal/streams.ts";
import { durationInWords } from "../terminal/time.ts";
import type { Way } from "../way.ts";

/** What became of a vault. `earlier`: before this command, in the same run. The error says what helps, also one that is skipped. */
export type Outcome =
  { ok: true; earlier?: true } | { ok: false; error: VaultError; skipped?: SkipReason | undefined };

const wordOf = (outcome: Outcome): "done" | "earlier" | "failed" | "skipped" => {
  if (outcome.ok) return outcome.earlier === true ? "earlier" : "done";
  return outcome.skipped === undefined ? "failed" : "skipped";
};

/** Why no more vaults were begun; null if all were. What is no VaultError is a failure of the output. */
export type Stop = Error | "too many failures" | null;

/** Numbers of vaults. What was stopped is in none but the total. */
export interface Tally {
  total: number;
  /** Includes `earlier`: done by an earlier command of the run. */
  done: number;
  earlier: number;
  failed: number;
  skipped: number;
}

/** Vaults that are not done for the same cause, such as `failed (rejected)`. */
interface Cause {
  count: number;
  /** Of the first one. */
  next: readonly Way[];
  /** The same command line would skip them, or fail again: until a person does something. */
  stays: boolean;
}

export interface ReportOptions {
  operation: "get" | "update" | "ack";
  total: number;
  /** Lines for a program, rows for a person, or one document that is printed elsewhere. */
  form: "ndjson" | "rows" | "document";
  name: string;
  /** The command line that continues the run. */
  rest: Way;
}

const verbs = { get: "read", update: "updated", ack: "acknowledged" } as const;

/**
 * What a command with many vaults prints while it runs, and at its end; shows progress until it is closed. It holds no more for many
 * vaults than for a few.
 */
export class Report {
  readonly tally: Tally;
  calls = 0;
  /** Erases the progress line; `end` does so too. Call it also if the command fails. */
  readonly close: () => void;
  readonly #causes = new Map<string, Cause>();
  readonly #io: Basics["io"];
  readonly #options: ReportOptions;
  readonly #began: number;

  constructor(basics: Basics, options: ReportOptions) {
    this.tally = { total: options.total, done: 0, earlier: 0, failed: 0, skipped: 0 };
    this.close = showProgress(basics, this.tally);
    this.#io = basics.io;
    this.#options = options;
    this.#began = basics.io.host.elapsed();
  }

  /**
   * Prints the contents of a vault whole, or what an update did, after its acknowledgement. A person gets the table of a single get, and of
   * an update the row of the outcome alone. Resolves when it is delivered, rejects as `stdout.write`.
   */
  async exchange(
    event: "contents" | "receipt",
    { settled, ...document }: GetDocument | UpdateDocument,
    view?: MakeView,
  ): Promise<void> {
    const line = { event, ...document, ...(settled.length > 0 && { settled }) };
    if (this.#options.form === "ndjson")
      await this.#io.host.stdout.write(lineOf(line as ManyEvent));
    else if (view !== undefined) await this.#io.output.print(document, view);
  }

  /** Prints what became of an entry: once for each. */
  async outcome(entry: Named, outcome: Outcome): Promise<void> {
    await this.outcomes([[entry, outcome]]);
  }

  /** Prints what became of many in one write, for which a file is synced once. */
  async outcomes(of: readonly (readonly [Named, Outcome])[]): Promise<void> {
    const { form } = this.#options;
    const { stdout } = this.#io.host;
    const palette = await createPalette(stdout.color);
    let text = "";
    for (const [entry, outcome] of of) {
      this.#count(outcome);
      if (form === "ndjson") text += this.#outcomeLine(entry, outcome);
      else if (form === "rows") text += this.#row(entry, outcome, palette);
    }
    if (text !== "") await stdout.write(text);
  }

  /** Tells a program of the entries whose turn did not come: they are in no number but the total. */
  async notBegun(entries: readonly Named[]): Promise<void> {
    if (this.#options.form !== "ndjson" || entries.length === 0) return;
    const stopped = { ok: false, skipped: "stopped" } as const;
    const lines = entries.map((entry) => this.#outcomeLine(entry, stopped));
    await this.#io.host.stdout.write(lines.join(""));
  }

  /** Prints the summary, and what helps those that are not done. */
  async end(next: readonly Way[]): Promise<void> {
    this.close();
    const { calls } = this;
    const { host, narrator, redactor } = this.#io;
    const { form, name: run, operation } = this.#options;
    const { total, done, earlier, failed, skipped } = this.tally;
    const seconds = Math.round(host.elapsed() - this.#began) / 1000;
    const left = total - done - failed - skipped;
    const counts = { run, done, earlier, failed, skipped: skipped + left, seconds, calls };
    const summary = { event: "summary", ...counts, next: redactor.redactValue([...next]) } as const;
    if (form === "ndjson") await host.stdout.write(lineOf(summary));
    const others = { "of them earlier": earlier, failed, skipped, "not started": left };
    const parts = Object.entries(others)
      .filter(([, vaults]) => vaults > 0)
      .map(([what, vaults]) => `${grouped(vaults)} ${what}`);
    const vaults = `${done === total ? "" : `${grouped(done)} of `}${count(total, "vault")}`;
    const say = host.stderr.isTTY ? narrator.note : narrator.detail;
    say(
      `${vaults} ${verbs[operation]} in ${formatDuration(seconds * 1000)}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}. Run ${run}.`,
    );
  }

  /** What the command ends with, if not all are done. The summary has the counts and the causes. */
  failureOf(stop: Stop): VaultError | undefined {
    const { total, done, failed } = this.tally;
    if (done === total) return undefined;
    const { name, rest } = this.#options;
    const next = this.#next();
    const retry = next.includes(rest) ? "safe" : "after-fix";
    if (this.#io.host.interrupted.aborted)
      return new VaultError("interrupted", `run ${name} was interrupted`, { retry, next });
    if (stop instanceof VaultError) {
      const { next: ways = [], ...facts } = stop.facts;
      // If the same line may be run again, it is the harmless way.
      const both = stop.retry === "safe" ? [rest, ...ways] : [...ways, rest];
      return new VaultError(stop.code, stop.message, { ...facts, next: both });
    }
    if (stop instanceof Error) return this.outputFailed(stop);
    const why = stop === null ? "" : ` (stopped after ${count(failed, "failure")})`;
    const causes = [...this.#causes].map(([what, cause]) => `${grouped(cause.count)} ${what}`);
    const left = `run ${name} left ${grouped(total - done)} of ${count(total, "vault")} undone${why}: ${causes.join(", ")}`;
    if (retry === "safe") return new VaultError("partial", left, { next });
    const stays = `${left}; the same command line would not change that`;
    return new VaultError("partial", stays, { retry, next });
  }

  /** The output has failed: nobody gets what else would be read. */
  outputFailed(cause: unknown): VaultError {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof VaultError || code === undefined) return asVaultError(cause);
    const why = code === "EPIPE" ? "it was closed" : code === "ENOSPC" ? "the disk is full" : code;
    return new VaultError(
      "partial",
      `run ${this.#options.name} was stopped, because the output could not be written: ${why}`,
      {
        hint: "contents that were not delivered are held, and were not acknowledged",
        next: this.#next(),
        cause,
      },
    );
  }

  /** The same command line, unless nothing is left but what it would skip again; then what helps that. */
  #next(): Way[] {
    const staying = [...this.#causes.values()].filter(({ stays }) => stays);
    const over = staying.reduce((sum, { count }) => sum + count, this.tally.done);
    const ways = staying.flatMap(({ next }) => next);
    const others = [...new Map(ways.map((way) => [way.argv.join("\0"), way])).values()];
    const isOver = over === this.tally.total && this.tally.done < over;
    return isOver ? others : [this.#options.rest, ...others];
  }

  #count(outcome: Outcome): void {
    const word = wordOf(outcome);
    this.tally[word] += 1;
    if (word === "earlier") this.tally.done += 1;
    if (outcome.ok) return;
    const { skipped } = outcome;
    const { code, facts } = outcome.error;
    const { operation, rest } = this.#options;
    const what = `${word} (${skipped ?? code})`;
    const isHeld = code === "pending" && facts.exchange?.state === "held";
    const stays =
      skipped !== undefined ||
      ["locked", "guard", "rejected"].includes(code) ||
      (isHeld && !rest.argv.includes("--discard-pending")) ||
      // Only a read finds out, or begins anew.
      (operation === "ack" && (code === "in-doubt" || facts.exchange?.state === "expired"));
    const same = this.#causes.get(what) ?? { count: 0, next: facts.next ?? [], stays };
    this.#causes.set(what, { ...same, count: same.count + 1, stays: same.stays && stays });
  }

  #outcomeLine(
    { uuid, label }: Named,
    outcome: Outcome | { ok: false; skipped: "stopped" },
  ): string {
    const shown = outcome.ok
      ? outcome
      : outcome.skipped === undefined
        ? { ok: outcome.ok, error: outcome.error.with({ uuid, label }).toJSON() }
        : { ok: outcome.ok, skipped: outcome.skipped };
    const redacted = this.#io.redactor.redactValue(shown);
    return lineOf({ event: "outcome", uuid, label, ...redacted });
  }

  /** On a terminal `UUID  failed   LABEL: what failed`, else fields. */
  #row({ uuid, label }: Named, outcome: Outcome, { good, warn, bad, dim }: Palette): string {
    const { stdout } = this.#io.host;
    const { redact } = this.#io.redactor;
    const word = wordOf(outcome);
    const paint = { done: good, earlier: dim, failed: bad, skipped: warn }[word];
    const why = outcome.ok ? null : outcome.error.message;
    if (!stdout.isTTY)
      return `${[uuid, word, label ?? "", redact(why ?? "")].map(printableLine).join("\t")}\n`;
    const facts = [label, why].filter((fact) => fact !== null).join(": ");
    const text = printableLine(redact(`${uuid}  ${word.padEnd(7)}  ${facts}`.trimEnd()));
    return `${wrapMessage(text, stdout.columns).replace(word, paint(word))}\n`;
  }
}

const lineOf = (event: ManyEvent): string => `${jsonText(event)}\n`;

const barWidth = 12;

/** Formats progress: `███████░░░░░  58 %  4 seconds left  1,204 of 2,000 done  3 failed`. Leaves out what does not fit, the last first. */
export function progressText(tally: Tally, elapsedMs: number, columns: number): string {
  const { total, done, earlier, failed, skipped } = tally;
  const finished = done + failed + skipped;
  const share = total === 0 ? 1 : finished / total;
  // Only these took time.
  const worked = finished - earlier - skipped;
  // Before, it would be a guess.
  const isKnown = elapsedMs >= 500 && worked > 0 && finished < total;
  const left = Math.ceil(((total - finished) * elapsedMs) / worked / 1000);
  const facts = [
    `${String(Math.floor(share * 100)).padStart(3)} %`,
    ...(isKnown ? [`${durationInWords(left * 1000)} left`] : []),
    `${grouped(done)} of ${grouped(total)} done`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
    ...(skipped === 0 ? [] : [`${grouped(skipped)} skipped`]),
  ];
  const bar = "█".repeat(Math.round(barWidth * share)).padEnd(barWidth, "░");
  const text = (): string => [bar, ...facts].join("  ");
  // The last column stays empty: a terminal may wrap there.
  while (facts.length > 1 && text().length >= columns) facts.pop();
  return text().slice(0, Math.max(0, columns - 1));
}

/**
 * Shows how far a run is by a line on a terminal, redrawn in place every second and after whatever else is written there, for which it
 * is erased. Without a terminal, or with --quiet, nothing is written. `tally` may change all the time. Returns what erases it for good.
 */
function showProgress(
  { io: { host }, settings: { flags } }: Basics,
  tally: Readonly<Tally>,
): () => void {
  const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
  if (!host.stderr.isTTY || isQuiet) return () => {};
  const terminal = host.terminal().output;
  const began = host.elapsed();
  // What is writing elsewhere; at the end, something for ever.
  let writers = 0;
  const draw = (): void => {
    if (writers > 0) return;
    const text = progressText(tally, host.elapsed() - began, terminal.columns || 80);
    terminal.write(`\r${text}\u001B[K`);
  };
  const eraseLine = (): void => {
    if (writers === 0) terminal.write("\r\u001B[K");
  };
  const around = async (write: () => Promise<void>): Promise<void> => {
    eraseLine();
    writers += 1;
    try {
      await write();
    } finally {
      writers -= 1;
      draw();
    }
  };
  host.stderr.surroundWrites(around);
  if (host.stdout.isTTY) host.stdout.surroundWrites(around);
  const timer = setInterval(draw, 1000).unref();
  return () => {
    clearInterval(timer);
    eraseLine();
    writers = Infinity;
  };
}
