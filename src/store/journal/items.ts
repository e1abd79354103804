import type { DatabaseSync } from "node:sqlite";
import { listed } from "../statement.ts";
import type { JournalEntry } from "./journal.ts";

/** An entry of the journal, with what only later entries reveal about it. */
export interface JournalLine extends JournalEntry {
  /** Position in the journal, from 1, in the order of events. */
  seq: number;
  /**
   * Outcome of a start (`intent`) or an end call (`ending`) that got no answer. `unknown`: it was never learned. `arrived`: a
   * later start has shown that the end call took effect. `told`: this entry shows it, for an earlier end call.
   */
  fate: "unknown" | "arrived" | "told" | null;
}

/** Events that the service saw, or that tell what it saw. */
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

/** Yields the entries about calls, oldest first, without loading a long journal whole. Return the generator or read it to its end. */
export function* journalLines(db: DatabaseSync): Generator<JournalLine> {
  const fates = fatesIn(db);
  const rows = db
    .prepare(
      `SELECT seq, at, service, uuid, exchange, event, detail FROM journal WHERE uuid <> '' AND event IN (${listed(events)}) ORDER BY seq`,
    )
    .iterate() as Iterable<Omit<JournalLine, "detail" | "fate"> & { detail: string }>;
  for (const row of rows) {
    yield {
      ...row,
      detail: JSON.parse(row.detail) as Record<string, unknown>,
      fate: fates.get(row.seq) ?? null,
    };
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

/** The fates by `seq` of the entry; only of calls that got no answer, which are few. */
function fatesIn(db: DatabaseSync): Map<number, NonNullable<JournalLine["fate"]>> {
  const fates = new Map<number, NonNullable<JournalLine["fate"]>>();
  /** Starts and end calls without an answer so far. */
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
    // Discarded by a later start, which learned nothing about it.
    if (event === "discarded" && from === "intent" && takenBack === null)
      fates.set(call, "unknown");
    if (event !== "acknowledged" || from !== "in-doubt") continue;
    fates.set(call, "arrived");
    fates.set(seq, "told");
  }
  for (const call of silent.values()) fates.set(call, "unknown");
  return fates;
}
