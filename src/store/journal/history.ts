import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { defined } from "../../defined.ts";
import type { Clock } from "../../exchange/ports.ts";
import { findPrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import { isListed } from "../document.ts";
import { openSnapshot, retryBusyDatabase } from "../sqlite/open-database.ts";
import { all } from "../sqlite/query.ts";
import { listed } from "../statement.ts";
import type { JournalEntry } from "./journal.ts";

/** A snapshot of what this machine has done. */
export interface StateHistory {
  /** Oldest first. */
  journal(): Iterable<JournalLine>;
  /** The exchange with this reference, of that vault, that began nearest to that time; without a time, the last one. */
  own(externalRef: string, near?: Near): OwnExchange | undefined;
  /** Labels by UUID, in lower case, of the vaults that have one. */
  labels(): ReadonlyMap<string, string>;
  close(): void;
}

/**
 * Opens the journal read-only; null if there is no state. Creates nothing and needs no key.
 * @throws `state`
 */
export async function openHistory(directory: string, clock: Clock): Promise<StateHistory | null> {
  const db = await openForReading(directory, clock);
  return db === null ? null : historyIn(db);
}

/** What the journal of a database tells; it is closed with the snapshot. */
export const historyIn = (db: DatabaseSync): StateHistory => ({
  journal: () => journalLines(db),
  own: ownExchanges(db),
  labels: () => {
    const sql = `SELECT uuid, label FROM vaults WHERE ${isListed} AND label IS NOT NULL`;
    const labelled = all<{ uuid: string; label: string }>(db, sql);
    return new Map(labelled.map(({ uuid, label }) => [uuid.toLowerCase(), label]));
  },
  close: () => db.close(),
});

/**
 * Opens a snapshot of a state's database read-only; null if there is no state. Changes nothing and needs no key. The caller
 * closes it.
 * @throws `state` if the state cannot be read
 */
export async function openForReading(
  directory: string,
  clock: Clock,
): Promise<DatabaseSync | null> {
  if (findPrivateDirectory(directory) === null) return null;
  const path = join(directory, "vault.db");
  if (onState(path, () => statIfThere(path)) === null) return null;
  return await retryBusyDatabase(clock, path, () => openSnapshot(path));
}

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

/** An exchange as the journal records it, even if its vault was forgotten since. */
export interface OwnExchange {
  id: string;
  operation: string;
  /** Generation of the credentials that it sent. */
  generation: number;
  state: string;
  /** ISO 8601. */
  startedAt: string;
  /** When these credentials were superseded, before the exchange began or else after; ISO 8601. */
  supersededAt?: string;
}

/** What distinguishes exchanges with the same reference. */
interface Near {
  /** In lower case. */
  vault?: string;
  /** Milliseconds since the epoch. */
  at?: number;
}

/** A journal entry, with the generations that it names. */
interface Step extends Record<"current" | "used" | "made", number | null> {
  seq: number;
  at: string;
  vault: string;
  exchange: string;
  event: string;
  operation: string;
}

/**
 * Finds exchanges by their external reference. The journal has no index for it and must not change, so the first search copies what it
 * needs into a temporary table.
 */
export function ownExchanges(db: DatabaseSync): StateHistory["own"] {
  let isDrawn = false;
  return (externalRef, { vault, at } = {}) => {
    if (externalRef === "") return undefined;
    if (!isDrawn) db.exec(ownSteps);
    isDrawn = true;
    const found = all<Step>(
      db,
      "SELECT * FROM own_steps WHERE ref = ? ORDER BY seq DESC",
      externalRef,
    ).filter((each) => vault === undefined || each.vault.endsWith(` ${vault}`));
    const distance = (each: Step): number => Math.abs(Date.parse(each.at) - (at ?? 0));
    const chosen =
      at === undefined ? found[0] : found.toSorted((a, b) => distance(a) - distance(b))[0];
    if (chosen === undefined) return undefined;
    const steps = all<Step>(
      db,
      "SELECT * FROM own_steps WHERE vault = ? ORDER BY seq",
      chosen.vault,
    );
    const state = steps.findLast(({ exchange }) => exchange === chosen.exchange)?.event;
    const generation = chosen.used ?? 0;
    const supersededAt = supersededIn(steps, generation, chosen.seq);
    return {
      id: chosen.exchange,
      operation: chosen.operation,
      generation,
      // An adopted exchange waits for its end call.
      state: state === undefined || state === "adopted" ? "ending" : state,
      startedAt: chosen.at,
      ...defined({ supersededAt }),
    };
  };
}

/** When a generation was superseded: the success of a rival does that, and its own success reverts it. */
function supersededIn(
  steps: readonly Step[],
  generation: number,
  start: number,
): string | undefined {
  let isKnown = false;
  let superseded: string | undefined;
  for (const { seq, at, current, used, made } of steps) {
    if (seq > start && superseded !== undefined) break;
    isKnown ||= [current, used, made].includes(generation);
    if (current === generation) superseded = undefined;
    else if (current !== null && isKnown) superseded ??= at;
  }
  return superseded;
}

/** `ref` is set where an exchange begins, `current` where a pair proved valid, `made` where one was added. */
const ownSteps = `
  CREATE TEMP TABLE own_steps AS SELECT
        seq, at, service || ' ' || uuid AS vault, exchange, event, detail ->> 'operation' AS operation,
        CASE event WHEN 'intent' THEN detail ->> 'externalRef' WHEN 'adopted' THEN 'vault-' || exchange END AS ref,
        CASE event WHEN 'intent' THEN detail ->> 'generation' WHEN 'adopted' THEN detail ->> 'base' END AS used,
        CASE event WHEN 'started' THEN detail ->> 'base' WHEN 'acknowledged' THEN detail ->> 'generation' END AS current,
        CASE WHEN event IN ('imported', 'created', 'started', 'adopted') THEN detail ->> 'generation' END AS made
      FROM journal WHERE uuid <> '' AND event IN ('intent', 'started', 'held', 'ending', 'acknowledged', 'in-doubt', 'expired',
        'discarded', 'rejected', 'adopted', 'deleted', 'imported', 'created');
      CREATE INDEX temp.own_steps_by_ref ON own_steps (ref, seq) WHERE ref IS NOT NULL;
      CREATE INDEX temp.own_steps_by_vault ON own_steps (vault, seq);
`;
