import type { ErrorNote } from "../../exchange/records.ts";
import type { HoldReason } from "../../exchange/states.ts";
import { endExchange, exchangeIn, settleCounted } from "./exchange-rows.ts";
import { provedByEnd, setStanding } from "./generations.ts";
import { run } from "../sqlite/query.ts";
import type { ExchangeRow } from "./rows.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, noteError } from "./vault-transaction.ts";

/** Each function is a step of `VaultSession`, whose contract it carries; it runs in the one transaction of that step. */

export function hold(
  tx: VaultTransaction,
  exchangeId: string,
  reason: HoldReason,
  { delivered, saveOwed }: { delivered: boolean; saveOwed: boolean },
): void {
  const row = exchangeIn(tx, exchangeId, ["started", "held"]);
  run(
    tx.db,
    "UPDATE exchanges SET state = 'held', hold_reason = ?, delivered = max(delivered, ?), save_owed = ? WHERE seq = ?",
    reason,
    Number(delivered),
    Number(saveOwed),
    row.seq,
  );
  journal(tx, "held", exchangeId, { from: row.state, reason, delivered, saveOwed });
}

/** ③ */
export function ending(tx: VaultTransaction, exchangeId: string, delivered: boolean): void {
  const row = exchangeIn(tx, exchangeId, ["started", "held", "ending"]);
  run(
    tx.db,
    "UPDATE exchanges SET state = 'ending', ends_unanswered = ends_unanswered + 1, delivered = max(delivered, ?) WHERE seq = ?",
    Number(delivered),
    row.seq,
  );
  journal(tx, "ending", exchangeId, { from: row.state, delivered });
}

export function endAnswered(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["ending"]);
  run(tx.db, "UPDATE exchanges SET ends_unanswered = max(0, ends_unanswered - 1) WHERE seq = ?", row.seq);
  noteError(tx, row.vault, error);
  journal(tx, "end-answered", exchangeId, { error });
}

/** ④ */
export function acknowledge(tx: VaultTransaction, exchangeId: string): void {
  const row = exchangeIn(tx, exchangeId, ["ending"]);
  if (row.adopted === 1) {
    // The service may answer a repetition with SUCCESS: its pairs stay candidates, and nothing is known of the counters.
    const place = "UPDATE credentials SET placed = coalesce(placed, ?) WHERE vault = ? AND generation = ? AND standing = 'imported'";
    run(tx.db, place, "successor", row.vault, newGeneration(row));
    run(tx.db, place, "older", row.vault, row.base_generation);
    endExchange(tx, row, "acknowledged", { adopted: true });
    return;
  }
  provedByEnd(tx, row.vault, newGeneration(row), row.base_generation);
  run(tx.db, "UPDATE vaults SET unacked_starts = 0, last_error = NULL WHERE id = ?", row.vault);
  settleCounted(tx, row.vault);
  endExchange(tx, row, "acknowledged", { generation: row.new_generation });
}

export function expire(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["ending", "in-doubt"]);
  setStanding(tx, row.vault, newGeneration(row), "void");
  endExchange(tx, row, "expired", { error });
  noteError(tx, row.vault, error);
}

export function doubt(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["ending"]);
  run(tx.db, "UPDATE exchanges SET state = 'in-doubt' WHERE seq = ?", row.seq);
  noteError(tx, row.vault, error);
  journal(tx, "in-doubt", exchangeId, { endsUnanswered: row.ends_unanswered, error });
}

/** Set from ② on. */
function newGeneration(row: ExchangeRow): number {
  if (row.new_generation === null) throw new TypeError(`exchange ${row.id} is ${row.state} and has no new generation`);
  return row.new_generation;
}
