import type { DatabaseSync } from "node:sqlite";
import { firstIdAt } from "../../exchange/ulid.ts";
import { noteMeta, one, rowsIn } from "../sqlite/query.ts";
import type { Dialect, Put, Statement } from "../statement.ts";
import { inserting, written } from "../statement.ts";

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

/** The SQL that appends entries to the journal, in their order, if `from` has a row; returns a row for each. */
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

/** Before when entries are removed, ISO 8601; null as long as the oldest one, of that time, may stay. */
export function prunedBefore(oldest: string | null | undefined, now: number): string | null {
  const isOverdue = oldest && Date.parse(oldest) < now - (journalDays + slackDays) * day;
  return isOverdue ? new Date(now - journalDays * day).toISOString() : null;
}

/** Removes entries from before that time, and what was begun in runs before it: the id of an exchange sorts by its time. */
export const pruning = (prefix: string, before: string): Statement[] => [
  { sql: `DELETE FROM ${prefix}journal WHERE at < $1`, values: [before] },
  {
    sql: `DELETE FROM ${prefix}runs WHERE exchange < $1`,
    values: [firstIdAt(Date.parse(before))],
  },
];

/** Whether `prune` would remove anything. */
export const isPruningDue = (db: DatabaseSync, now: number): boolean =>
  prunedBefore(oldestIn(db), now) !== null;

/** Removes what is older than `journalDays`, as `pruning`. */
export function prune(db: DatabaseSync, now: number): void {
  const from = prunedBefore(oldestIn(db), now);
  if (from === null) return;
  noteMeta(db, "journal-from", from);
  for (const statement of pruning("", from)) rowsIn(db, statement);
}

const oldestIn = (db: DatabaseSync): string | undefined =>
  one<{ at: string }>(db, "SELECT at FROM journal ORDER BY seq LIMIT 1")?.at;
