import type { DatabaseSync } from "node:sqlite";
import { isListed } from "../document.ts";
import type { JournalEntry } from "../tables.ts";
import type { Clock } from "../../exchange/ports.ts";
import { all, snapshotIn } from "./database.ts";

/** A snapshot of what this machine has done. */
export class StateHistory {
  readonly #db: DatabaseSync;

  /** The database is closed with it. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Yields entries about calls lazily, oldest first. Return the generator or read it out. */
  *journal(): Generator<JournalLine> {
    type Line = Omit<JournalLine, "detail"> & { detail: string };
    for (const row of this.#db.prepare(lines).iterate() as Iterable<Line>)
      yield { ...row, detail: JSON.parse(row.detail) as JournalLine["detail"] };
  }

  /** Labels by UUID, in lower case, of the vaults that have one. */
  labels(): ReadonlyMap<string, string> {
    const sql = `SELECT uuid, label FROM vaults WHERE ${isListed} AND label IS NOT NULL`;
    const labelled = all<{ uuid: string; label: string }>(this.#db, sql);
    return new Map(labelled.map(({ uuid, label }) => [uuid, label]));
  }

  close(): void {
    this.#db.close();
  }
}

/**
 * Opens the journal read-only; null if there is no state. Changes nothing and needs no key.
 * @throws `state` if the state cannot be read
 */
export async function openHistory(directory: string, clock: Clock): Promise<StateHistory | null> {
  const db = await snapshotIn(directory, clock);
  return db && new StateHistory(db);
}

/** An entry of the journal, with what only later entries reveal about it. */
export interface JournalLine extends JournalEntry {
  /** Position in the journal, from 1, in the order of events. */
  seq: number;
  /**
   * Outcome of an unanswered start (`intent`) or end call (`ending`). `unknown`: never learned.
   * `arrived`: a later start showed its effect. `told`: this entry does, for an earlier end call.
   */
  fate: "unknown" | "arrived" | "told" | null;
}

/** Events that the service saw, or that tell what it saw. */
const events = `('intent', 'unanswered', 'rejected', 'discarded', 'started', 'ending', 'end-answered',
  'acknowledged', 'expired', 'adopted', 'created', 'deleted', 'counters-reset')`;

const isCall = "IN ('intent', 'ending')";

/** A call got no answer if nothing follows, or a later start's effect, or a discard. */
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
    FROM journal WHERE uuid <> '' AND event IN ${events} WINDOW own AS (PARTITION BY uuid, exchange ORDER BY seq)
  ) USING (seq) ORDER BY seq`;
