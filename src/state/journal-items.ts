import type { DatabaseSync } from "node:sqlite";
import type { JournalEntry } from "./journal.ts";
import { all } from "./query.ts";

/** An entry of the journal, with what only later entries say of it. */
export interface JournalLine extends JournalEntry {
  /** Counted from 1, in the order in which things happened. */
  seq: number;
  /**
   * Of a start (`intent`) or an end call (`ending`). `unknown`: nothing was ever learnt of its outcome. `arrived`: an end call
   * without an answer that a later start has shown to have taken effect. `told`: an entry that says this of an end call before it.
   */
  fate: "unknown" | "arrived" | "told" | null;
}

/** What the service got to see, or what says so. */
const events = [
  "intent",
  "unanswered",
  "rejected",
  "discarded",
  "started",
  "ending",
  "end-answered",
  "acknowledged",
  "expired",
  "adopted",
  "created",
  "deleted",
  "counters-reset",
];

const listed = events.map((event) => `'${event}'`).join(", ");

/** The entries about calls, oldest first, read as they are asked for: a journal may be long. To be ended, or read to its end. */
export function* journalLines(db: DatabaseSync): Generator<JournalLine> {
  const fates = fatesIn(db);
  const rows = db
    .prepare(`SELECT seq, at, service, uuid, exchange, event, detail FROM journal WHERE uuid <> '' AND event IN (${listed}) ORDER BY seq`)
    .iterate() as Iterable<Omit<JournalLine, "detail" | "fate"> & { detail: string }>;
  for (const row of rows) {
    yield { ...row, detail: JSON.parse(row.detail) as Record<string, unknown>, fate: fates.get(row.seq) ?? null };
  }
}

interface ExchangeFacts {
  intent: number | null;
  /** The last end call, unless it was answered. */
  ending: number | null;
  /** The entry by which a start has settled an exchange in doubt: its end call had arrived. */
  arrival: number | null;
  answered: number;
  settled: number;
}

/** By entry. Only of exchanges that were left without an answer, which are few. */
function fatesIn(db: DatabaseSync): Map<number, NonNullable<JournalLine["fate"]>> {
  const of = (event: string): string => `max(CASE WHEN event = '${event}' THEN seq END)`;
  const left = all<ExchangeFacts>(
    db,
    `SELECT ${of("intent")} AS intent, ` +
      `CASE WHEN ${of("ending")} > coalesce(${of("end-answered")}, 0) THEN ${of("ending")} END AS ending, ` +
      "max(CASE WHEN event = 'acknowledged' AND detail ->> 'from' = 'in-doubt' THEN seq END) AS arrival, " +
      "max(event IN ('unanswered', 'rejected', 'started', 'deleted') OR (event = 'discarded' AND detail ->> 'takenBack' IS NOT NULL)) AS answered, " +
      "max(event IN ('acknowledged', 'expired', 'discarded')) AS settled " +
      `FROM journal WHERE exchange IS NOT NULL AND uuid <> '' AND event IN (${listed}) GROUP BY service, uuid, exchange ` +
      "HAVING (intent IS NOT NULL AND answered = 0) OR (ending IS NOT NULL AND (settled = 0 OR arrival IS NOT NULL))",
  );
  const fates = new Map<number, NonNullable<JournalLine["fate"]>>();
  for (const { intent, ending, arrival, answered, settled } of left) {
    if (intent !== null && answered === 0) fates.set(intent, "unknown");
    if (ending === null) continue;
    if (settled === 0) fates.set(ending, "unknown");
    if (arrival === null) continue;
    fates.set(ending, "arrived");
    fates.set(arrival, "told");
  }
  return fates;
}
