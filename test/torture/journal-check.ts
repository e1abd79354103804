import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Machine } from "../support/machine.ts";

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

/**
 * What does not fit in the journal of a state: an entry that comes from another state of its exchange than the one before
 * had left, and an exchange in another state than its last entry says.
 */
export function journalProblems(machine: Machine): string[] {
  const db = new DatabaseSync(join(machine.stateDir, "vault.db"), { readOnly: true });
  try {
    const problems: string[] = [];
    const states = new Map<string, string>();
    const entries = db.prepare("SELECT uuid, exchange, event, detail FROM journal WHERE exchange IS NOT NULL ORDER BY seq").iterate();
    for (const { uuid, exchange, event, detail } of entries as Iterable<Entry>) {
      const key = `${uuid} ${exchange}`;
      const before = states.get(key);
      const { from } = JSON.parse(detail) as { from?: string };
      if (from !== undefined && before !== undefined && from !== before) problems.push(`${key}: ${event} from ${from}, after ${before}`);
      if (before === undefined && !["intent", "adopted"].includes(event)) problems.push(`${key}: begins with ${event}`);
      const after = stateAfter[event];
      if (after !== undefined) states.set(key, after);
    }
    const rows = db.prepare("SELECT uuid, exchanges.id AS id, state FROM exchanges JOIN vaults ON vaults.id = exchanges.vault").all();
    for (const { uuid, id, state } of rows as { uuid: string; id: string; state: string }[]) {
      const told = states.get(`${uuid} ${id}`);
      if (told !== state) problems.push(`${uuid} ${id}: is ${state}, the journal says ${told ?? "nothing"}`);
    }
    return problems;
  } finally {
    db.close();
  }
}
