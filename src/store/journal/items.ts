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
  const rows = db.prepare(lines).iterate() as Iterable<
    Omit<JournalLine, "detail"> & { detail: string }
  >;
  for (const row of rows) yield { ...row, detail: JSON.parse(row.detail) as JournalLine["detail"] };
}

const isCall = "IN ('intent', 'ending')";

/** A call got no answer where nothing follows it, or only what a later start did: one that discards it has learned nothing about it. */
const lines = `
  SELECT seq, at, service, uuid, exchange, event, detail, CASE
    WHEN exchange IS NULL THEN NULL
    WHEN event = 'acknowledged' AND former ${isCall} AND detail ->> 'from' = 'in-doubt' THEN 'told'
    WHEN NOT event ${isCall} THEN NULL
    WHEN next IS NULL THEN 'unknown'
    WHEN next IN ('discarded', 'acknowledged') THEN (
      SELECT CASE
        WHEN event = 'discarded' AND detail ->> 'from' = 'intent' AND detail ->> 'takenBack' IS NULL THEN 'unknown'
        WHEN event = 'acknowledged' AND detail ->> 'from' = 'in-doubt' THEN 'arrived'
      END FROM journal WHERE seq = nextSeq)
  END AS fate
  FROM journal JOIN (
    SELECT seq, lag(event) OVER own AS former, lead(event) OVER own AS next, lead(seq) OVER own AS nextSeq
    FROM journal WHERE uuid <> '' AND event IN (${listed(events)}) WINDOW own AS (PARTITION BY uuid, exchange ORDER BY seq)
  ) USING (seq) ORDER BY seq`;
