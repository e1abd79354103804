import type { DatabaseSync } from "node:sqlite";
import { listed } from "../sqlite/query.ts";
import type { JournalEntry } from "./journal.ts";

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

/** The entries about calls, oldest first, read as they are asked for: a journal may be long. To be ended, or read to its end. */
export function* journalLines(db: DatabaseSync): Generator<JournalLine> {
  const fates = fatesIn(db);
  const rows = db
    .prepare(
      `SELECT seq, at, service, uuid, exchange, event, detail FROM journal WHERE uuid <> '' AND event IN (${listed(events)}) ORDER BY seq`,
    )
    .iterate() as Iterable<Omit<JournalLine, "detail" | "fate"> & { detail: string }>;
  for (const row of rows) {
    yield { ...row, detail: JSON.parse(row.detail) as Record<string, unknown>, fate: fates.get(row.seq) ?? null };
  }
}

interface Step {
  seq: number;
  uuid: string;
  exchange: string;
  event: string;
  /** The state before an entry that ends an exchange. */
  from: string | null;
  takenBack: number | null;
}

/** By entry. Only of exchanges that were left without an answer, which are few. */
function fatesIn(db: DatabaseSync): Map<number, NonNullable<JournalLine["fate"]>> {
  const fates = new Map<number, NonNullable<JournalLine["fate"]>>();
  /** Starts and end calls that nothing was heard of so far. */
  const silent = new Map<string, number>();
  const rows = db
    .prepare(
      "SELECT seq, uuid, exchange, event, CASE WHEN event IN ('acknowledged', 'discarded') THEN detail ->> 'from' END AS \"from\", " +
        "CASE event WHEN 'discarded' THEN detail ->> 'takenBack' END AS takenBack " +
        `FROM journal WHERE exchange IS NOT NULL AND uuid <> '' AND event IN (${listed(events)}) ORDER BY seq`,
    )
    .iterate() as Iterable<Step>;
  for (const { seq, uuid, exchange, event, from, takenBack } of rows) {
    const key = `${uuid} ${exchange}`;
    if (event === "intent" || event === "ending") {
      silent.set(key, seq);
      continue;
    }
    const call = silent.get(key);
    silent.delete(key);
    if (call === undefined) continue;
    // Dropped for a later start, which learnt nothing of it.
    if (event === "discarded" && from === "intent" && takenBack === null) fates.set(call, "unknown");
    if (event !== "acknowledged" || from !== "in-doubt") continue;
    fates.set(call, "arrived");
    fates.set(seq, "told");
  }
  for (const call of silent.values()) fates.set(call, "unknown");
  return fates;
}
