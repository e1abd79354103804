import type { Actor } from "../actor.ts";
import type { JournalledOperation, PastExchange } from "../exchange/records.ts";
import { exchangeStates, type ExchangeState } from "../exchange/states.ts";
import { firstIdAt } from "../exchange/ulid.ts";
import { inserting, marking, written, type Dialect, type Put, type Statement } from "./tables.ts";

/** How long journal entries are kept, and what runs have begun. */
const journalDays = 400;

/** How overdue the oldest entry must be before anything is removed, so that pruning is rare. */
const slackDays = 30;

const day = 86_400_000;

export interface JournalEntry {
  at: string;
  service: string;
  uuid: string;
  exchange: string | null;
  event: string;
  /** Never holds a secret. */
  detail: Record<string, unknown>;
}

/** An entry about the state itself; `now` is in milliseconds since the epoch. */
export const ofState = (
  event: string,
  now: number,
  detail: JournalEntry["detail"],
): JournalEntry => ({
  at: new Date(now).toISOString(),
  service: "",
  uuid: "",
  exchange: null,
  event,
  detail,
});

/** SQL that appends journal entries in order, if `from` has a row; returns a row for each. */
export function appending(
  dialect: Dialect,
  entries: readonly JournalEntry[],
  from: string,
  put: Put,
): string {
  const list = entries.map((entry) => ({ ...entry, detail: JSON.stringify(entry.detail) }));
  const columns = ["at", "service", "uuid", "exchange", "event", "detail"];
  return `${inserting(dialect, "journal", columns, put(JSON.stringify(list)), from)} RETURNING 1 AS done`;
}

/** Appends entries of a writer without the lock of a vault. */
export const appendingAlone = (dialect: Dialect, ...entries: JournalEntry[]): Statement =>
  written((put) => appending(dialect, entries, dialect.open, put));

/** Time (ISO 8601) before which entries are removed; null while the oldest may stay. */
export function prunedBefore(oldest: string | null | undefined, now: number): string | null {
  const isOverdue = oldest && Date.parse(oldest) < now - (journalDays + slackDays) * day;
  return isOverdue ? new Date(now - journalDays * day).toISOString() : null;
}

/** Removes entries and runs' exchanges from before that time: exchange ids sort by time. */
export const pruning = (prefix: string, before: string): Statement[] => [
  marking(prefix, "journal-from", before),
  { sql: `DELETE FROM ${prefix}journal WHERE at < $1`, values: [before] },
  {
    sql: `DELETE FROM ${prefix}runs WHERE exchange < $1`,
    values: [firstIdAt(Date.parse(before))],
  },
];

/** The entries about the exchanges of a vault, or about one of them, newest first. */
export const entriesOf = (
  prefix: string,
  service: string,
  uuid: string,
  exchange: string | undefined,
): Statement => ({
  sql: `SELECT at, exchange, event, detail FROM ${prefix}journal
    WHERE service = $1 AND uuid = $2 AND exchange = coalesce($3, exchange) ORDER BY seq DESC LIMIT 1000`,
  values: [service, uuid.toLowerCase(), exchange ?? null],
});

/** A row of `entriesOf`. */
export type Entry = Record<"at" | "exchange" | "event" | "detail", string>;

/** The exchanges that entries tell of, newest first, without those whose start was never sent. */
export function pastExchanges(entries: readonly Entry[]): PastExchange[] {
  const byId = [...Map.groupBy(entries, ({ exchange }) => exchange).values()];
  return byId.flatMap((own): PastExchange[] => {
    const last = own.find(({ event }) => (exchangeStates as readonly string[]).includes(event));
    const first = own.findLast(({ event }) => event === "intent" || event === "adopted");
    if (last === undefined || first === undefined) return [];
    const [ended, begun] = [last, first].map(({ detail }) => JSON.parse(detail) as Detail);
    if (ended?.takenBack === true || begun === undefined) return [];
    return [
      {
        exchange: {
          id: first.exchange,
          operation: begun.operation,
          state: last.event as ExchangeState,
          externalRef: begun.externalRef ?? "",
          startedAt: first.at,
          tokenExpiry: null,
          generation: null,
          by: begun.by ?? null,
        },
        changedAt: last.at,
        changedBy: ended?.by ?? null,
      },
    ];
  });
}

interface Detail {
  operation: JournalledOperation;
  externalRef?: string;
  by?: Actor;
  takenBack?: boolean;
}
