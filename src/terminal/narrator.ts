import { actorWords, isSameUser, type Actor, type Holder } from "../actor.ts";
import { formatDuration } from "../duration.ts";
import type { VaultError } from "../errors.ts";
import type { ExchangeEvent } from "../exchange/ports.ts";
import type { Settled } from "../exchange/records.ts";
import { printableLine } from "./redactor.ts";
import type { MessageStream } from "./streams.ts";
import type { Way } from "../way.ts";
import { since } from "./time.ts";

interface NarratorOptions {
  stderr: MessageStream;
  quiet: boolean;
  verbose: boolean;
  /** A program reads the output: facts that the JSON document has are not repeated. */
  json: boolean;
  reader: () => Reader;
}

/** Writes all messages on stderr except errors. */
export interface Narrator {
  tell: (event: ExchangeEvent) => void;
  /** Writes a warning, with or without a terminal, and the ways on below it. */
  warn: (message: string, next?: readonly Way[]) => void;
  /** Writes lines for a person, on a terminal only, and the ways on below them; without a text, those alone. */
  note: (text: string, next?: readonly Way[]) => void;
  /** Does the same, only with --verbose. */
  detail: (text: string, next?: readonly Way[]) => void;
  /** Says on a terminal what the program waits for, after two seconds. Settles as the promise does. */
  waitFor: <T>(what: string | ((reader: Reader) => string), promise: Promise<T>) => Promise<T>;
  /** Writes nothing for a person on the terminal until the promise settles, because it is another program's. */
  yieldTo: (promise: Promise<unknown>) => void;
}

/** Longest wait without an explanation, in milliseconds. */
const patienceMs = 2000;

export function createNarrator(options: NarratorOptions): Narrator {
  const { stderr, quiet, verbose, json, reader } = options;
  const write = (line: string, next?: readonly Way[]): void =>
    void stderr.write(line === "" ? "" : `${printableLine(line)}\n`, next);
  let isYielded = false;
  const isShown = (): boolean => stderr.isTTY && !quiet && !isYielded;
  const progress = (line: string): void => {
    if (isShown() || verbose) write(line);
  };
  const narrator: Narrator = {
    warn: (message, next) => write(`vault: warning: ${message}`, next),
    note: (line, next) => {
      if (isShown()) write(line, next);
    },
    detail: (line, next) => {
      if (verbose) write(line, next);
    },
    waitFor: async (what, promise) => {
      if (!isShown()) return await promise;
      const timer = setTimeout(
        () => narrator.note(`Waiting for ${typeof what === "string" ? what : what(reader())} …`),
        patienceMs,
      );
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
      }
    },
    yieldTo: (promise) => {
      isYielded = true;
      const end = (): void => void (isYielded = false);
      promise.then(end, end);
    },
    tell: (event) => {
      const time = "waitMs" in event ? formatDuration(event.waitMs) : "";
      const attempt =
        "attempt" in event && event.attempt > 0 ? `, attempt ${event.attempt + 1}` : "";
      switch (event.type) {
        case "warning":
          return narrator.warn(event.message);
        case "settled":
          return !json || isShown() ? write(describeSettled(event.settled, reader())) : undefined;
        case "retrying":
          return progress(`${event.cause}; retrying the ${event.step} call in ${time}`);
        case "waiting":
          return progress(`Waiting: ${event.cause}; the next trial start is due in ${time} …`);
        case "starting":
          return narrator.detail(
            `start (${event.operation}) with generation ${event.generation}${attempt}`,
          );
        case "acknowledging":
          return narrator.detail(`acknowledging${attempt}`);
        case "finishing":
          return narrator.note(
            `Finishing the acknowledgement (at most ${formatDuration(event.atMostMs)}). Press Ctrl-C again to stop now.`,
          );
      }
    },
  };
  return narrator;
}

function describeSettled({ exchange, operation, outcome }: Settled, reader: Reader): string {
  const { id, by, startedAt } = exchange;
  const whose = `${operation}${bySince(exchange, reader, " of")}`;
  const which = `the interrupted ${whose} (exchange ${id})`;
  if (outcome === "in-doubt")
    return `Could not finish ${which}: it is in doubt, and the old and the new credentials are kept.`;
  if (outcome !== "not-applied")
    return `Finished ${which}${outcome === "applied" ? "; the update took effect" : ""}.`;
  const isOwn = by !== null && isSameUser(by, reader.self);
  const dropped = isOwn ? `your ${whose}, open ${since(startedAt, reader.now)}` : `the ${whose}`;
  const left =
    operation === "update"
      ? "the update did not take effect"
      : "the old credentials are still valid";
  return `Dropped ${dropped} (exchange ${id}); ${left}.`;
}

/**
 * Formats an error for a person: message, facts, advice; the stream writes its ways on. Names whoever else did something.
 * The stream replaces secrets.
 */
export function errorLines(error: VaultError, reader: Reader): string {
  const { hint, exchange, spent, by, since: usedSince } = error.facts;
  const other = by === undefined || isSameUser(by, reader.self) ? "" : actorWords(by);
  const facts = [
    by && usedSince && inUse({ by, since: usedSince }, reader),
    exchange && `exchange ${exchange.id} (${exchange.operation}): ${stateOf(exchange, reader)}`,
    spent &&
      `counted ${error.code === "locked" ? "here " : ""}toward lockout: ${spent.unackedStarts} of ${spent.limits.unackedStarts} unacknowledged starts, ` +
        `${spent.failedAttempts} of ${spent.limits.failedAttempts} failed attempts` +
        (other === "" ? "" : `, the last start by ${other}`),
  ].filter((fact) => fact !== undefined);
  const lines = [`vault: ${error.message}`];
  if (facts.length > 0) lines.push(`  ${facts.join("; ")}`);
  if (hint !== undefined) lines.push(`  hint: ${hint}`);
  return lines.map((line) => `${printableLine(line)}\n`).join("");
}

/** Who reads a message, and when; null for a program, which is given times as they are. */
export interface Reader {
  self: Actor;
  now: number | null;
}

/** ` by ada@build-7 since 10:02`, of an exchange: empty for this user on this machine, or if it is not known. */
export const bySince = (
  { by, startedAt }: { by: Actor | null; startedAt: string },
  { self, now }: Reader,
  word: " by" | ", by" | " of" = " by",
): string =>
  by === null || isSameUser(by, self)
    ? ""
    : `${word} ${printableLine(actorWords(by))} ${since(startedAt, now)}`;

/** `by ada@build-7 (pid 4711) since 10:02`, of a vault in use; of this very user here, the process alone. */
export function usedBy({ by, since: at }: Holder, { self, now }: Reader): string {
  const who = isSameUser(by, self) ? `process ${by.pid}` : actorWords(by, "process");
  return `by ${printableLine(who)} ${since(at, now)}`;
}

export const inUse = (holder: Holder, reader: Reader): string => `in use ${usedBy(holder, reader)}`;

/** States of an exchange, in words for a person, if they differ. */
export const stateWords: Readonly<Record<string, string>> = {
  intent: "start sent, outcome unknown",
  started: "started, not acknowledged",
  ending: "acknowledging",
  "in-doubt": "in doubt",
};

/** The state of an exchange, and whose it is: `held by ada@build-7 since 10:02`. */
function stateOf(
  exchange: { state: string; by: Actor | null; startedAt: string },
  reader: Reader,
): string {
  const { state } = exchange;
  const who = bySince(exchange, reader, state === "held" ? " by" : ", by");
  return `${stateWords[state] ?? state}${who}`;
}
