import type { DatabaseSync } from "node:sqlite";
import { one, run } from "../sqlite/query.ts";

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
export function append(db: DatabaseSync, entry: JournalEntry): void {
  run(
    db,
    "INSERT INTO journal (at, service, uuid, exchange, event, detail) VALUES (?, ?, ?, ?, ?, ?)",
    entry.at,
    entry.service,
    entry.uuid,
    entry.exchange,
    entry.event,
    JSON.stringify(entry.detail),
  );
}

/** Before when entries are removed, ISO 8601; null as long as the oldest one, of that time, may stay. */
export function prunedBefore(oldest: string | null | undefined, now: number): string | null {
  const isOverdue = oldest && Date.parse(oldest) < now - (journalDays + slackDays) * day;
  return isOverdue ? new Date(now - journalDays * day).toISOString() : null;
}

/** Condition on an exchange that goes with its entries: it has ended, and is not the newest of its vault. */
export const isPruned = (table: string): string =>
  "state IN ('acknowledged', 'expired', 'discarded', 'rejected') " +
  `AND seq < (SELECT max(seq) FROM ${table} AS newer WHERE newer.vault = exchanges.vault)`;

/** Removes journal entries and ended exchanges older than `journalDays`; the newest exchange of a vault stays. */
export function prune(db: DatabaseSync, now: number): void {
  const from = prunedBefore(
    one<{ at: string }>(db, "SELECT at FROM journal ORDER BY seq LIMIT 1")?.at,
    now,
  );
  if (from === null) return;
  run(
    db,
    "INSERT INTO meta (name, value) VALUES ('journal-from', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    from,
  );
  run(db, "DELETE FROM journal WHERE at < ?", from);
  run(db, `DELETE FROM exchanges WHERE started_at < ? AND ${isPruned("exchanges")}`, from);
}
