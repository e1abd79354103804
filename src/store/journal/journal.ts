import type { DatabaseSync } from "node:sqlite";
import { noteMeta, one, rowsIn } from "../sqlite/query.ts";
import type { Statement } from "../statement.ts";

/** How long journal entries and ended exchanges are kept. */
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

/** Appends to the journal, in the transaction that makes the change. */
export const appending = (
  prefix: string,
  { at, service, uuid, exchange, event, detail }: JournalEntry,
): Statement => ({
  sql: `INSERT INTO ${prefix}journal (at, service, uuid, exchange, event, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
  values: [at, service, uuid, exchange, event, JSON.stringify(detail)],
});

export function append(db: DatabaseSync, entry: JournalEntry): void {
  rowsIn(db, appending("", entry));
}

/** Before when entries are removed, ISO 8601; null as long as the oldest one, of that time, may stay. */
export function prunedBefore(oldest: string | null | undefined, now: number): string | null {
  const isOverdue = oldest && Date.parse(oldest) < now - (journalDays + slackDays) * day;
  return isOverdue ? new Date(now - journalDays * day).toISOString() : null;
}

/**
 * Removes entries from before that time, and ended exchanges that began before it and count nothing any more: what follows the last own
 * acknowledgement counts toward lockout, however old it is, and that acknowledgement ends what is older.
 */
export const pruning = (prefix: string, before: string): Statement[] => [
  { sql: `DELETE FROM ${prefix}journal WHERE at < $1`, values: [before] },
  {
    sql: `DELETE FROM ${prefix}exchanges WHERE "startedAt" < $1 AND state IN ('acknowledged', 'expired', 'discarded', 'rejected')
      AND seq < (SELECT max(seq) FROM ${prefix}exchanges AS newer WHERE newer.vault = exchanges.vault)
      AND seq < (SELECT max(seq) FROM ${prefix}exchanges AS ended
        WHERE ended.vault = exchanges.vault AND ended.state = 'acknowledged' AND ended.adopted = 0)
      AND NOT EXISTS (SELECT 1 FROM ${prefix}vaults AS named WHERE named.id = exchanges.vault AND named."carriedUpTo" = exchanges.id)`,
    values: [before],
  },
];

/** Removes what is older than `journalDays`, as `pruning`. */
export function prune(db: DatabaseSync, now: number): void {
  const from = prunedBefore(
    one<{ at: string }>(db, "SELECT at FROM journal ORDER BY seq LIMIT 1")?.at,
    now,
  );
  if (from === null) return;
  noteMeta(db, "journal-from", from);
  for (const statement of pruning("", from)) rowsIn(db, statement);
}
