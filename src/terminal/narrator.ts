import type { VaultError } from "../errors.ts";
import type { ExchangeEvent } from "../exchange/events.ts";
import type { Settled } from "../exchange/states.ts";
import { printableLine } from "./redactor.ts";
import type { MessageStream } from "./streams.ts";

interface NarratorOptions {
  stderr: MessageStream;
  /** --quiet, --verbose. */
  quiet: boolean;
  verbose: boolean;
  /** A program reads the output: facts that the JSON document has are not repeated. */
  json: boolean;
}

/** Writes all messages on stderr except errors. */
export interface Narrator {
  tell: (event: ExchangeEvent) => void;
  /** Writes a warning, with or without a terminal. */
  warn: (message: string) => void;
  /** Writes the last line of a successful command, on a terminal only. */
  close: (line: string) => void;
  /** Writes a line for a person, on a terminal only. */
  note: (line: string) => void;
  /** Writes a line only with --verbose. */
  detail: (line: string) => void;
  /** Says on a terminal what is waited for, once that has taken two seconds. Settles as the promise does. */
  waitFor: <T>(what: string, promise: Promise<T>) => Promise<T>;
}

/** What takes longer needs an explanation, in milliseconds. */
const patienceMs = 2000;

export function createNarrator({ stderr, quiet, verbose, json }: NarratorOptions): Narrator {
  const write = (line: string): void => void stderr.write(`${printableLine(line)}\n`);
  const isShown = stderr.isTTY && !quiet;
  const narrator: Narrator = {
    warn: (message) => write(`vault: warning: ${message}`),
    close: (line) => {
      if (isShown) write(line);
    },
    note: (line) => narrator.close(line),
    detail: (line) => {
      if (verbose) write(line);
    },
    waitFor: async (what, promise) => {
      if (!isShown) return await promise;
      const timer = setTimeout(() => write(`Waiting for ${what} …`), patienceMs);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
      }
    },
    tell: (event) => {
      switch (event.type) {
        case "warning":
          narrator.warn(event.message);
          break;
        case "settled":
          if (!json || isShown) write(describeSettled(event.settled));
          break;
        case "retrying":
          if (isShown || verbose) write(`${event.cause}: trying the ${event.step} call again in ${seconds(event.waitMs)}`);
          break;
        case "starting":
          narrator.detail(
            `start (${event.operation}) with generation ${event.generation}${event.attempt > 0 ? `, attempt ${event.attempt + 1}` : ""}`,
          );
          break;
        case "stored":
          narrator.detail(`new credentials stored as generation ${event.generation}`);
          break;
        case "acknowledging":
          narrator.detail(`acknowledging${event.attempt > 0 ? `, attempt ${event.attempt + 1}` : ""}`);
          break;
        case "finishing":
          narrator.note(`Finishing the acknowledgement, ${seconds(event.atMostMs)} at most. Ctrl-C again leaves at once.`);
          break;
        case "acknowledged":
          narrator.detail(`acknowledged: generation ${event.generation} is current`);
          break;
      }
    },
  };
  return narrator;
}

const outcomes: Record<Settled["outcome"], string> = {
  acknowledged: "is acknowledged now",
  applied: "is acknowledged now: the update took effect",
  "not-applied": "was not acknowledged: the old credentials are the current ones",
  "in-doubt": "is in doubt: both pairs are kept",
};

function describeSettled({ exchange, operation, outcome }: Settled): string {
  const what =
    operation === "update" && outcome === "not-applied" ? "was not acknowledged: the update did not take effect" : outcomes[outcome];
  return `the ${operation} that an earlier run left (exchange ${exchange}) ${what}`;
}

const seconds = (milliseconds: number): string =>
  milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${Math.round(milliseconds / 100) / 10} s`;

/** Formats an error for a person. The stream replaces secrets. */
export function errorLines(error: VaultError): string {
  const { hint, exchange, spent } = error.facts;
  const lines = [`vault: ${error.message}`];
  const pending = exchange === undefined ? "" : `exchange ${exchange.id} (${exchange.operation}) is ${exchange.state}`;
  const counted =
    spent === undefined
      ? ""
      : `counted towards a lock: ${spent.unackedStarts} of ${spent.limits.unacked} unacknowledged starts, ${spent.failedAttempts} of ${spent.limits.failed} failed accesses`;
  const facts = [pending, counted].filter((part) => part !== "").join("; ");
  if (facts !== "") lines.push(`  ${facts}`);
  // A hint lists alternatives, separated by `; `: a line for each.
  if (hint !== undefined) lines.push(...hint.split("; ").map((way, index) => `${index === 0 ? "  next: " : "        "}${way}`));
  return lines.map(printableLine).join("\n");
}
