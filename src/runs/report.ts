import type { Named } from "../exchange/records.ts";
import type { MakeView } from "../cli/output.ts";
import type { GetDocument, ManyEvent, UpdateDocument } from "../documents/exchange.ts";
import { formatDuration } from "../duration.ts";
import type { ExchangeSummary, VaultError } from "../errors.ts";
import { unlockedOf } from "../exchange/ways.ts";
import type { Basics } from "../parts/settings.ts";
import { count, grouped } from "../terminal/count.ts";
import type { Palette } from "../terminal/palette.ts";
import { createPalette } from "../terminal/palette.ts";
import type { Progress } from "../terminal/progress.ts";
import { createProgressBar } from "../terminal/progress.ts";
import { jsonText, printableLine } from "../terminal/redactor.ts";
import { wrapMessage } from "../terminal/streams.ts";
import type { Reader } from "../terminal/who.ts";
import { bySince, inUse } from "../terminal/who.ts";
import type { Way } from "../way.ts";
import { command, withWords } from "../way.ts";

/** Why nothing is sent for a vault. */
export type SkipReason = "held" | "locked" | "guard" | "limited";

/** What became of a vault. `earlier`: before this command, in the same run; `stopped`: the command ended before its turn. */
export type Outcome =
  | { ok: true; earlier?: true }
  | { ok: false; error: VaultError }
  | { ok: false; skipped: SkipReason | "stopped"; exchange?: ExchangeSummary };

interface Skip {
  why: string;
  help: string;
  next: (uuid: string, rest: Way) => Way[];
}

/** Why a vault is skipped, in words, and what helps: a command for it, or the line that continues the run. */
const skips: Readonly<Record<SkipReason, Skip>> = {
  held: {
    why: "an exchange is held",
    help: "--discard-pending starts again with the old credentials",
    // It may be what nobody has received: it is read again first.
    next: (uuid, rest) => [
      { argv: withWords(rest, "--discard-pending").argv },
      { ...command`vault ack ${uuid}`, note: "finishes what is held" },
    ],
  },
  locked: {
    why: "the vault is locked, or gone",
    help: "an administrator can unlock it in the console",
    next: (uuid) => [
      unlockedOf(uuid),
      { ...command`vault get ${uuid}`, note: "asks the service again if it is gone" },
    ],
  },
  guard: {
    why: "the lockout guard would refuse the start",
    help: "the counters toward lockout say why",
    next: (uuid) => [{ ...command`vault guard ${uuid}`, note: "shows the counters" }],
  },
  limited: {
    why: "the number of its reads is limited",
    help: "another run with --out-dir or --exec keeps what they deliver",
    next: () => [],
  },
};

/** Vaults that are not done for the same cause. */
interface Cause {
  /** `failed (rejected)`, `skipped (guard)`. */
  what: string;
  count: number;
  /** Of the first one. */
  uuid: string;
  next: Way[];
  hint?: string | undefined;
  /** The same command would skip them, or fail again: until a person does something. */
  stays: boolean;
}

/** Stands for any vault of several. */
const anyVault = "VAULT";

/** The way for any vault. */
const forAny = ({ argv, fill = [], ...way }: Way, uuid: string): Way =>
  argv.includes(uuid)
    ? {
        argv: argv.map((word) => (word === uuid ? anyVault : word)),
        ...way,
        fill: [anyVault, ...fill],
      }
    : { argv, ...way, ...(fill.length > 0 ? { fill } : {}) };

/** What has kept vaults from being done. Its size does not grow with the number of vaults. */
class Causes {
  readonly #causes = new Map<string, Cause>();
  readonly #options: Pick<ReportOptions, "operation" | "rest">;

  constructor(options: Pick<ReportOptions, "operation" | "rest">) {
    this.#options = options;
  }

  skip(uuid: string, reason: SkipReason): void {
    const { help: hint, next } = skips[reason];
    const ways = next(uuid, this.#options.rest);
    this.#add({ what: `skipped (${reason})`, uuid, next: ways, hint, stays: true });
  }

  fail(uuid: string, { code, facts: { next = [], exchange } }: VaultError): void {
    const stays =
      ["locked", "guard", "rejected"].includes(code) ||
      (code === "pending" && exchange?.state === "held") ||
      // Only a read finds out.
      (code === "in-doubt" && this.#options.operation === "ack");
    this.#add({ what: `failed (${code})`, uuid, next, stays });
  }

  #add(cause: Omit<Cause, "count">): void {
    const key = `${cause.what} ${cause.stays}`;
    const same = this.#causes.get(key) ?? { ...cause, count: 0 };
    this.#causes.set(key, same);
    same.count += 1;
  }

  /** Those of failures first, then those with most vaults: `2 failed (rejected), 1 skipped (guard)`. */
  inShort(): string {
    return [...Map.groupBy(this.#causes.values(), ({ what }) => what)]
      .map(([what, causes]) => ({ what, sum: countOf(causes) }))
      .sort((a, b) => (a.what[0] ?? "").localeCompare(b.what[0] ?? "") || b.sum - a.sum)
      .map(({ what, sum }) => `${grouped(sum)} ${what}`)
      .join(", ");
  }

  /** The number of vaults that the same command would skip, and what helps them: one has its own ways, several those of any. */
  staying(): { count: number; hint: string | undefined; next: Way[] } {
    const staying = [...this.#causes.values()].filter(({ stays }) => stays);
    const next = staying.flatMap(({ count, uuid, next }) =>
      count === 1 ? next : next.map((way) => forAny(way, uuid)),
    );
    return {
      count: countOf(staying),
      hint: staying.find(({ hint }) => hint !== undefined)?.hint,
      next: [...new Map(next.map((way) => [JSON.stringify(way), way])).values()],
    };
  }
}

const countOf = (causes: readonly Cause[]): number =>
  causes.reduce((sum, { count }) => sum + count, 0);

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
  /** Erases the progress line; `end` does so too. Call it also if the command fails. */
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
  /** Lines for a program, rows for a person, or one document that is printed elsewhere. */
  form: "ndjson" | "rows" | "document";
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
  const causes = new Causes({ operation, rest });
  const progress = showProgress({ io, settings }, tally);
  let palette: Promise<Palette> | undefined;
  const printLine = async (event: ManyEvent): Promise<void> =>
    await host.stdout.write(`${jsonText(event)}\n`);
  const count = (uuid: string, outcome: Outcome): void => {
    if (outcome.ok) {
      tally.done += 1;
      if (outcome.earlier === true) tally.earlier += 1;
    } else if ("error" in outcome) {
      tally.failed += 1;
      causes.fail(uuid, outcome.error);
    } else if (outcome.skipped !== "stopped") {
      tally.skipped += 1;
      causes.skip(uuid, outcome.skipped);
    }
  };
  /** Of an exchange, whose settled ones are left out if there are none. */
  const printExchange = async (
    event: "contents" | "receipt",
    { settled, ...document }: GetDocument | UpdateDocument,
  ): Promise<void> =>
    await printLine({ event, ...document, ...(settled.length > 0 && { settled }) } as ManyEvent);
  /** On a terminal `UUID  failed   LABEL: what failed`, else fields. */
  const row = ({ uuid, label }: Named, { word, paint, why }: Described): string => {
    const { stdout } = host;
    if (!stdout.isTTY)
      return `${[uuid, word, label ?? "", redactor.redact(why ?? "")].map(printableLine).join("\t")}\n`;
    const facts = [label, why].filter((fact) => fact !== null).join(": ");
    const text = printableLine(redactor.redact(`${uuid}  ${word.padEnd(7)}  ${facts}`.trimEnd()));
    return `${wrapMessage(text, stdout.columns).replace(word, paint(word))}\n`;
  };
  return {
    tally,
    causes,
    contents: async (document, view) =>
      await (form === "ndjson"
        ? printExchange("contents", document)
        : io.output.print(document, view)),
    receipt: async (document) => {
      if (form === "ndjson") await printExchange("receipt", document);
    },
    outcome: async ({ uuid, label }, outcome) => {
      count(uuid, outcome);
      if (form === "ndjson") {
        const shown =
          "error" in outcome
            ? { ok: false as const, error: outcome.error.with({ uuid, label }).toJSON() }
            : outcome;
        await printLine({ event: "outcome", uuid, label, ...redactor.redactValue(shown) });
      } else if (form === "rows" && (!("skipped" in outcome) || outcome.skipped !== "stopped")) {
        palette ??= createPalette(host.stdout.color);
        const reader = { self: host.actor, now: host.now() };
        await host.stdout.write(row({ uuid, label }, describe(outcome, await palette, reader)));
      }
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
    },
    close: progress.close,
  };
}

interface Described {
  word: string;
  paint: (text: string) => string;
  why: string | null;
}

function describe(outcome: Outcome, { good, warn, bad, dim }: Palette, reader: Reader): Described {
  if ("error" in outcome) {
    const { message, facts } = outcome.error;
    const { by, since, exchange } = facts;
    const who = exchange === undefined ? "" : bySince(exchange, reader, ", by");
    const used =
      by !== undefined && since !== undefined ? `; ${inUse({ by, since }, reader)}` : who;
    return { word: "failed", paint: bad, why: `${message}${used}` };
  }
  if ("skipped" in outcome) {
    const { skipped, exchange } = outcome;
    const why = skipped === "stopped" ? "the command was stopped" : skips[skipped].why;
    const who = exchange === undefined ? "" : bySince(exchange, reader);
    return { word: "skipped", paint: warn, why: `${why}${who}` };
  }
  return outcome.earlier === true
    ? { word: "earlier", paint: dim, why: null }
    : { word: "done", paint: good, why: null };
}

const verbs = { get: "read", update: "updated", ack: "acknowledged" } as const;

/** `1,990 of 2,000 vaults read in 171.2s (23.4 calls a second): 3 failed, 7 skipped. Run NAME.` */
function summaryLine(
  operation: keyof typeof verbs,
  left: number,
  { run, seconds, calls }: Summary,
  { total, done, earlier, failed, skipped }: Tally,
): string {
  const rate = seconds < 0.05 || calls === 0 ? "" : ` (${number(calls / seconds)} calls a second)`;
  const counts = [
    [earlier, "of them earlier"] as const,
    [failed, "failed"] as const,
    [skipped, "skipped"] as const,
    [left, "not started"] as const,
  ].flatMap(([n, what]) => (n === 0 ? [] : [`${number(n)} ${what}`]));
  const vaults = `${done === total ? "" : `${number(done)} of `}${count(total, "vault")}`;
  return `${vaults} ${verbs[operation]} in ${formatDuration(seconds * 1000)}${rate}${counts.length === 0 ? "" : `: ${counts.join(", ")}`}. Run ${run}.`;
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

/** Shows how far a run is by a bar on a terminal, redrawn every second and at `update`, until `close`. `tally` may change all the time. */
function showProgress(
  { io: { host }, settings: { flags } }: Basics,
  tally: Readonly<Tally>,
): { update: () => void; close: () => void } {
  const isQuiet = (flags as Readonly<Record<string, unknown>>)["quiet"] === true;
  const terminal = host.stderr.isTTY && !isQuiet ? host.terminal().output : undefined;
  const bar = createProgressBar(terminal, () => host.elapsed(), runProgress);
  if (terminal !== undefined) {
    host.stderr.surroundWrites(bar.around);
    if (host.stdout.isTTY) host.stdout.surroundWrites(bar.around);
  }
  const update = (): void => bar.update(tally);
  const timer = setInterval(update, tickMs).unref();
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
