import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Machine } from "../support/machine.ts";
import type { Postgres } from "../support/postgres.ts";

interface Entry {
  uuid: string;
  exchange: string;
  event: string;
  detail: string;
}

/** The state that an event leaves an exchange in; the others leave it as it is. */
const stateAfter: Readonly<Record<string, string>> = {
  intent: "intent",
  started: "started",
  held: "held",
  ending: "ending",
  acknowledged: "acknowledged",
  expired: "expired",
  discarded: "discarded",
  rejected: "rejected",
  "in-doubt": "in-doubt",
};

/** The state of an exchange, as its row says. */
interface Row {
  uuid: string;
  id: string;
  state: string;
}

/** Entries in their order, and rows. */
type Journal = [entries: Iterable<Entry>, rows: Iterable<Row>];

const entries = (schema = ""): string =>
  `SELECT uuid, exchange, event, detail FROM ${schema}journal WHERE exchange IS NOT NULL ORDER BY seq`;
const rows = (schema = ""): string =>
  `SELECT uuid, exchanges.id AS id, state FROM ${schema}exchanges JOIN ${schema}vaults ON vaults.id = exchanges.vault`;

/** Of the state on a machine. */
export function localJournal(machine: Machine): Journal {
  const db = new DatabaseSync(join(machine.stateDir, "vault.db"), { readOnly: true });
  try {
    return [entries(), rows()].map((sql) => db.prepare(sql).all()) as unknown as Journal;
  } finally {
    db.close();
  }
}

export async function sharedJournal(sql: Postgres["sql"], schema: string): Promise<Journal> {
  return [await sql(entries(`${schema}.`)), await sql(rows(`${schema}.`))] as unknown as Journal;
}

/**
 * What does not fit in the journal of a state: an entry that comes from another state of its exchange than the one before
 * had left, and an exchange in another state than its last entry says.
 */
export function journalProblems(entries: Iterable<Entry>, rows: Iterable<Row>): string[] {
  const problems: string[] = [];
  const states = new Map<string, string>();
  for (const { uuid, exchange, event, detail } of entries) {
    const key = `${uuid} ${exchange}`;
    const before = states.get(key);
    const { from } = JSON.parse(detail) as { from?: string };
    if (from !== undefined && before !== undefined && from !== before)
      problems.push(`${key}: ${event} from ${from}, after ${before}`);
    if (before === undefined && !["intent", "adopted"].includes(event))
      problems.push(`${key}: begins with ${event}`);
    const after = stateAfter[event];
    if (after !== undefined) states.set(key, after);
  }
  for (const { uuid, id, state } of rows) {
    const told = states.get(`${uuid} ${id}`);
    if (told !== state)
      problems.push(`${uuid} ${id}: is ${state}, the journal says ${told ?? "nothing"}`);
  }
  return problems;
}
