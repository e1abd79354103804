import type { ErrorNote, Intent, Started } from "../exchange/records.ts";
import { openStates } from "../exchange/states.ts";
import { endExchange, exchangeIn, findExchange, sealToken } from "./exchange-rows.ts";
import { addGeneration, bringUpToDate, keptGeneration, makeCurrent, openCredentials, revive, withPin } from "./generations.ts";
import { all, run } from "./query.ts";
import type { ExchangeRow } from "./rows.ts";
import type { SealingKey } from "./sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, noteError, takenOver, vaultOf } from "./vault-transaction.ts";

/** Each function is a step of `VaultSession`, whose contract it carries; it runs in the one transaction of that step. */

/** ① */
export function intend(tx: VaultTransaction, intent: Intent): void {
  const vault = vaultOf(tx);
  keptGeneration(tx, vault.id, intent.generation);
  if (findExchange(tx, vault.id, intent.exchangeId) !== undefined) throw takenOver(tx.uuid, `exchange ${intent.exchangeId} exists already`);
  const failed = Number(intent.countsAsFailed);
  run(
    tx.db,
    "INSERT INTO exchanges (vault, id, operation, kind, state, external_ref, base_generation, started_at, counted_start, counted_failed) " +
      "VALUES (?, ?, ?, ?, 'intent', ?, ?, ?, 1, ?)",
    vault.id,
    intent.exchangeId,
    intent.operation,
    intent.kind,
    intent.externalRef,
    intent.generation,
    tx.at,
    failed,
  );
  count(tx, vault.id, 1, failed);
  const { operation, kind, externalRef, generation, countsAsFailed } = intent;
  journal(tx, "intent", intent.exchangeId, { operation, kind, externalRef, generation, countsAsFailed });
}

export function takeBack(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  count(tx, row.vault, -row.counted_start, -row.counted_failed);
  endExchange(tx, row, "discarded", { takenBack: true, error });
  noteError(tx, row.vault, error);
}

export function unanswered(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  noteError(tx, row.vault, error);
  journal(tx, "unanswered", exchangeId, { error });
}

export function reject(tx: VaultTransaction, exchangeId: string, combination: string | null, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  if (combination !== null) {
    count(tx, row.vault, 0, 1 - row.counted_failed);
    run(tx.db, "INSERT OR IGNORE INTO refusals (vault, combination) VALUES (?, ?)", row.vault, combination);
  }
  endExchange(tx, row, "rejected", { generation: row.base_generation, counted: combination !== null, error });
  noteError(tx, row.vault, error);
}

/** ② */
export function start(tx: VaultTransaction, key: SealingKey, exchangeId: string, started: Started): number {
  const exchange = exchangeIn(tx, exchangeId, ["intent"]);
  const base = keptGeneration(tx, exchange.vault, exchange.base_generation);
  endLeft(tx, exchange);
  makeCurrent(tx, exchange.vault, base.generation);
  bringUpToDate(tx, key, base, { hashedPin: started.hashedPin, device: started.device });
  const hashedPin = started.hashedPin ?? openCredentials(key, tx, base).hashedPin;
  const generation = addGeneration(tx, key, exchange.vault, {
    standing: "offered",
    credentials: withPin(started.pair, hashedPin),
    device: started.device ?? base.device,
  });
  revive(tx, exchange.vault, generation);
  run(
    tx.db,
    "UPDATE exchanges SET state = 'started', new_generation = ?, token = ?, token_expiry = ?, uses_remaining = ?, limited = ? WHERE seq = ?",
    generation,
    sealToken(key, tx, exchangeId, started.token),
    started.tokenExpiry,
    started.usesRemaining,
    Number(started.limited),
    exchange.seq,
  );
  acceptedFacts(tx, exchange, started);
  const { tokenExpiry, usesRemaining, limited } = started;
  journal(tx, "started", exchangeId, { base: base.generation, generation, tokenExpiry, usesRemaining, limited });
  return generation;
}

/** A success settles whatever was left: with the pair that it was started with, the service has dropped the rest. */
function endLeft(tx: VaultTransaction, exchange: ExchangeRow): void {
  const states = ["intent", ...openStates].map((state) => `'${state}'`).join(", ");
  const left = all<ExchangeRow>(
    tx.db,
    `SELECT * FROM exchanges WHERE vault = ? AND seq <> ? AND state IN (${states})`,
    exchange.vault,
    exchange.seq,
  );
  for (const row of left) {
    if (row.state !== "in-doubt") endExchange(tx, row, "discarded", { by: exchange.id });
    else endExchange(tx, row, row.new_generation === exchange.base_generation ? "acknowledged" : "expired", { by: exchange.id });
  }
}

function acceptedFacts(tx: VaultTransaction, exchange: ExchangeRow, started: Started): void {
  run(
    tx.db,
    "UPDATE vaults SET kind = ?, failed_attempts = 0, uses_remaining = ?, limited = ?, expiry_date = ?, auto_lock_date = ?, " +
      "date_created = coalesce(?, date_created), last_modified = ?, last_error = NULL WHERE id = ?",
    exchange.kind,
    started.usesRemaining,
    Number(started.limited),
    started.expiryDate,
    started.autoLockDate,
    started.dateCreated,
    started.lastModified,
    exchange.vault,
  );
  run(tx.db, "DELETE FROM refusals WHERE vault = ? AND combination = ?", exchange.vault, started.combination);
}

function count(tx: VaultTransaction, vault: number, starts: number, failed: number): void {
  run(
    tx.db,
    "UPDATE vaults SET unacked_starts = max(0, unacked_starts + ?), failed_attempts = max(0, failed_attempts + ?) WHERE id = ?",
    starts,
    failed,
    vault,
  );
}
