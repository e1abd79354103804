import type { ErrorNote, Intent, Started } from "../../exchange/records.ts";
import { openStates } from "../../exchange/states.ts";
import { endExchange, exchangeIn, findExchange, openExchangeOf, sealToken } from "./exchange-rows.ts";
import {
  addGeneration,
  bringUpToDate,
  forgetRefusal,
  keptGeneration,
  openCredentials,
  provedByStart,
  revive,
  withPin,
} from "./generations.ts";
import { all, one, run } from "../sqlite/query.ts";
import type { ExchangeRow } from "./rows.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, noteError, takenOver, vaultOf } from "./vault-transaction.ts";

/** Each function is a step of `VaultSession`, whose contract it carries; it runs in the one transaction of that step. */

/** ① */
export function intend(tx: VaultTransaction, intent: Intent): void {
  const vault = vaultOf(tx);
  keptGeneration(tx, vault.id, intent.generation);
  if (findExchange(tx, vault.id, intent.exchangeId) !== undefined) throw takenOver(tx.uuid, `exchange ${intent.exchangeId} exists already`);
  run(
    tx.db,
    "INSERT INTO exchanges (vault, id, operation, kind, state, external_ref, base_generation, started_at, counted_start, counted_failed) " +
      "VALUES (?, ?, ?, ?, 'intent', ?, ?, ?, 1, 1)",
    vault.id,
    intent.exchangeId,
    intent.operation,
    intent.kind,
    intent.externalRef,
    intent.generation,
    tx.at,
  );
  // Until its outcome is known it may have failed, whatever the pair: a proven one can be stale all the same.
  count(tx, vault.id, { starts: 1, failed: 1, possibly: 1 });
  const { operation, kind, externalRef, generation } = intent;
  journal(tx, "intent", intent.exchangeId, { operation, kind, externalRef, generation });
}

export function takeBack(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  count(tx, row.vault, { starts: -row.counted_start, failed: -row.counted_failed, possibly: -row.counted_failed });
  endExchange(tx, row, "discarded", { takenBack: true, error });
  noteError(tx, row.vault, error);
}

export function unanswered(tx: VaultTransaction, exchangeId: string, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  noteError(tx, row.vault, error);
  run(tx.db, "INSERT OR IGNORE INTO outages (service, since) VALUES (?, ?)", tx.service, tx.at);
  journal(tx, "unanswered", exchangeId, { error });
}

export function reject(tx: VaultTransaction, exchangeId: string, combination: string | null, error: ErrorNote): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  if (combination !== null) {
    count(tx, row.vault, { starts: 0, failed: 1 - row.counted_failed, possibly: -row.counted_failed });
    const print = "(SELECT fingerprint FROM credentials WHERE vault = ? AND generation = ?)";
    const sql = `INSERT OR REPLACE INTO refusals (vault, combination, fingerprint) VALUES (?, ?, ${print})`;
    run(tx.db, sql, row.vault, combination, row.vault, row.base_generation);
    run(tx.db, "UPDATE credentials SET refused = 1 WHERE vault = ? AND generation = ?", row.vault, row.base_generation);
  } else {
    count(tx, row.vault, { starts: 0, failed: -row.counted_failed, possibly: -row.counted_failed });
  }
  endExchange(tx, row, "rejected", { generation: row.base_generation, counted: combination !== null, error });
  noteError(tx, row.vault, error);
  if (combination !== null) doubtOfferedBy(tx, row.vault, row.base_generation);
}

/**
 * A pair was refused: the exchange that it had begun, and that is believed to be open or not to have taken place, may have
 * been acknowledged by somebody else. Its new pair is a candidate again, also one that was refused while the old was valid.
 */
function doubtOfferedBy(tx: VaultTransaction, vault: number, base: number): void {
  const expired =
    "SELECT exchanges.* FROM exchanges JOIN credentials ON credentials.vault = exchanges.vault AND generation = new_generation " +
    "WHERE exchanges.vault = ? AND base_generation = ? AND state = 'expired' AND standing = 'void' ORDER BY seq DESC LIMIT 1";
  const left = openExchangeOf(tx, vault) ?? one<ExchangeRow>(tx.db, expired, vault, base);
  if (left?.base_generation !== base || left.state === "ending") return;
  const offered = left.new_generation ?? 0;
  run(tx.db, "UPDATE exchanges SET state = 'in-doubt' WHERE seq = ?", left.seq);
  run(tx.db, "UPDATE credentials SET standing = 'offered' WHERE vault = ? AND generation = ? AND standing = 'void'", vault, offered);
  forgetRefusal(tx, vault, offered);
  journal(tx, "in-doubt", left.id, { from: left.state, refused: base });
}

/** ② */
export function start(tx: VaultTransaction, key: SealingKey, exchangeId: string, started: Started): number {
  const exchange = exchangeIn(tx, exchangeId, ["intent"]);
  const base = keptGeneration(tx, exchange.vault, exchange.base_generation);
  endLeft(tx, exchange);
  provedByStart(tx, exchange.vault, base.generation);
  bringUpToDate(tx, key, base, { hashedPin: started.hashedPin, device: started.device });
  const hashedPin = started.hashedPin ?? openCredentials(key, tx, base).hashedPin;
  const generation = addGeneration(tx, key, exchange.vault, {
    standing: "offered",
    credentials: withPin(started.pair, hashedPin),
    device: started.device ?? base.device,
    elsewhere: started.elsewhere,
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
    endExchange(tx, row, outcomeFor(row, exchange.base_generation), { by: exchange.id });
  }
}

/** What the success of a start with this generation says of an exchange that was left. */
function outcomeFor(left: ExchangeRow, generation: number): "acknowledged" | "expired" | "discarded" {
  if (left.state !== "in-doubt") return "discarded";
  if (left.new_generation === generation) return "acknowledged";
  return left.base_generation === generation ? "expired" : "discarded";
}

function acceptedFacts(tx: VaultTransaction, exchange: ExchangeRow, started: Started): void {
  run(
    tx.db,
    "UPDATE vaults SET kind = ?, failed_attempts = 0, possibly_failed = 0, proven_at = ?, proof_expiry = ?, uses_remaining = ?, limited = ?, expiry_date = ?, auto_lock_date = ?, " +
      "date_created = coalesce(?, date_created), last_modified = ?, last_error = NULL WHERE id = ?",
    exchange.kind,
    tx.at,
    started.tokenExpiry,
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

interface Counts {
  starts: number;
  failed: number;
  /** The part of `failed` that is only possible. */
  possibly: number;
}

function count(tx: VaultTransaction, vault: number, { starts, failed, possibly }: Counts): void {
  run(
    tx.db,
    "UPDATE vaults SET unacked_starts = max(0, unacked_starts + ?), failed_attempts = max(0, failed_attempts + ?), " +
      "possibly_failed = max(0, possibly_failed + ?) WHERE id = ?",
    starts,
    failed,
    possibly,
    vault,
  );
}
