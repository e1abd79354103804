import { VaultError } from "../../errors.ts";
import { openStates } from "../../exchange/states.ts";
import type { AdoptedExchange, AdoptionOutcome, Attempts, Credentials, NewPair, Placed } from "../../exchange/records.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { VaultDates } from "../../protocol/extended-answers.ts";
import { exchangeIn, findExchange, openExchangeOf, sealToken, settleCounted } from "./exchange-rows.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import {
  addGeneration,
  bringUpToDate,
  forgetRefusal,
  differs,
  isSuperseded,
  liveGeneration,
  openCredentials,
  withPin,
} from "./generations.ts";
import { one, run } from "../sqlite/query.ts";
import { findVault } from "./read-vault.ts";
import type { CredentialsRow } from "./rows.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, vaultOf } from "./vault-transaction.ts";

/** Each function is a step of `VaultSession`, whose contract it carries; it runs in the one transaction of that step. */

export function record(tx: VaultTransaction, key: SealingKey, pair: NewPair): number {
  const vault = knownVault(tx, pair.kind);
  run(tx.db, "UPDATE vaults SET kind = ?, label = coalesce(?, label) WHERE id = ?", pair.kind, pair.label ?? null, vault);
  const { generation, added } = ensureGeneration(tx, key, vault, pair);
  // Who gives a refused pair once more says that it is the right one: the guard counts it like any other.
  if (!added) forgetRefusal(tx, vault, generation);
  journal(tx, added ? "imported" : "imported-again", null, { generation, kind: pair.kind });
  return generation;
}

export function adopt(tx: VaultTransaction, key: SealingKey, document: AdoptedExchange): AdoptionOutcome {
  const vault = knownVault(tx, document.kind);
  const known = findExchange(tx, vault, document.exchangeId);
  if (known !== undefined && openStates.includes(known.state)) return "open";
  const placed = placeOf(tx, vault, document);
  if (placed === "known") return placed;
  if (known !== undefined) {
    // Dropped here; who imports it says that it may have been acknowledged elsewhere.
    const sql = "UPDATE credentials SET standing = 'imported' WHERE vault = ? AND generation = ? AND standing = 'void'";
    run(tx.db, sql, vault, known.new_generation);
    return "known";
  }
  const { kind, device } = document;
  const dead = (pair: Pair): boolean => isSuperseded(tx, vault, fingerprint(tx.uuid, pair));
  const add = (credentials: Credentials, as: Placed | null): number | null =>
    dead(credentials) ? null : ensureGeneration(tx, key, vault, { credentials, kind, device }, as).generation;
  const base = add(document.old, placed === "older" ? placed : null);
  const generation = add(withPin(document.new, document.old.hashedPin), placed);
  journal(tx, "adopted", document.exchangeId, { operation: document.operation, base, generation, placed });
  // Where one of its pairs is superseded, the end call was answered to somebody, or never will be.
  if (base === null || generation === null || openExchangeOf(tx, vault) !== undefined) return "candidates";
  run(
    tx.db,
    "INSERT INTO exchanges (vault, id, operation, kind, state, external_ref, base_generation, new_generation, started_at, token, " +
      "token_expiry, ends_unanswered, limited, hold_reason, counted_start, counted_failed, adopted) " +
      "VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 1)",
    vault,
    document.exchangeId,
    document.operation,
    document.kind,
    document.unread ? "held" : "ending",
    base,
    generation,
    tx.at,
    sealToken(key, tx, document.exchangeId, document.token),
    document.tokenExpiry,
    document.unread ? 0 : 1,
    Number(document.unread),
    document.unread ? "delivery" : null,
  );
  run(tx.db, "UPDATE vaults SET unacked_starts = unacked_starts + 1 WHERE id = ?", vault);
  return "open";
}

/**
 * Where the new pair of a document stands among the candidates; `known` where it is live here and more than an import.
 * Throws `no-credentials` for a document that is older than what a start has proved here.
 */
function placeOf(tx: VaultTransaction, vault: number, document: AdoptedExchange): Placed | "known" | null {
  const [oldPrint, newPrint] = [fingerprint(tx.uuid, document.old), fingerprint(tx.uuid, document.new)];
  const live = liveGeneration(tx, vault, newPrint);
  if (live !== undefined && (live.proven === 1 || live.standing !== "imported")) return "known";
  const proven = "SELECT 1 FROM credentials WHERE vault = ? AND proven = 1 AND standing = 'current'";
  const [isOldDead, isNewDead] = [oldPrint, newPrint].map((print) => isSuperseded(tx, vault, print));
  const isFollowed = one(tx.db, proven, vault) !== undefined && (isNewDead || (isOldDead && live === undefined));
  if (isFollowed || (isOldDead && isNewDead)) {
    throw new VaultError("no-credentials", "this recovery document is older than the credentials that this state has used since", {
      vault: tx.uuid,
      hint: `nothing was changed; vault get ${tx.uuid} uses the stored credentials`,
    });
  }
  const proof = one<{ proof_expiry: string | null }>(tx.db, "SELECT proof_expiry FROM vaults WHERE id = ?", vault)?.proof_expiry;
  // The service's own times: tokens that it handed out earlier expire earlier.
  if (proof && document.tokenExpiry !== null && Date.parse(document.tokenExpiry) < Date.parse(proof)) return "older";
  return liveGeneration(tx, vault, oldPrint)?.standing === "current" ? "successor" : null;
}

export function takeOver(tx: VaultTransaction, { unackedStarts, failedAttempts, possiblyFailed, refused }: Attempts): void {
  const vault = vaultOf(tx);
  const failed = Math.max(vault.failed_attempts, failedAttempts);
  const certainly = Math.max(vault.failed_attempts - vault.possibly_failed, failedAttempts - possiblyFailed);
  run(
    tx.db,
    "UPDATE vaults SET unacked_starts = max(unacked_starts, ?), failed_attempts = ?, possibly_failed = ? WHERE id = ?",
    unackedStarts,
    failed,
    failed - certainly,
    vault.id,
  );
  for (const combination of refused) {
    run(tx.db, "INSERT OR IGNORE INTO refusals (vault, combination) VALUES (?, ?)", vault.id, combination);
  }
  journal(tx, "attempts-taken-over", null, { unackedStarts, failedAttempts, possiblyFailed, refused: refused.length });
}

export function markElsewhere(tx: VaultTransaction, generations: readonly number[]): void {
  const vault = vaultOf(tx);
  for (const generation of generations) {
    run(tx.db, "UPDATE credentials SET elsewhere = 1 WHERE vault = ? AND generation = ?", vault.id, generation);
  }
  journal(tx, "handed-out", null, { generations });
}

export function resetCounters(tx: VaultTransaction, only: "all" | "unanswered"): void {
  const vault = vaultOf(tx);
  const { unacked_starts: unackedStarts, failed_attempts: failedAttempts, possibly_failed: possiblyFailed } = vault;
  const kept = only === "all" ? [0, 0] : [unackedStarts, failedAttempts - possiblyFailed];
  run(tx.db, "UPDATE vaults SET unacked_starts = ?, failed_attempts = ?, possibly_failed = 0 WHERE id = ?", ...kept, vault.id);
  if (only === "all") run(tx.db, "UPDATE vaults SET last_error = NULL WHERE id = ?", vault.id);
  settleCounted(tx, vault.id);
  journal(tx, "counters-reset", null, { only, unackedStarts, failedAttempts, possiblyFailed });
}

export function deleted(tx: VaultTransaction, exchangeId: string): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  const { operation, external_ref: externalRef, base_generation: generation } = row;
  journal(tx, "deleted", exchangeId, { operation, externalRef, generation });
  run(tx.db, "UPDATE vaults SET unacked_starts = 0, failed_attempts = 0, possibly_failed = 0 WHERE id = ?", row.vault);
  removeKept(tx, row.vault);
}

export function noteDates(tx: VaultTransaction, dates: VaultDates): void {
  const vault = findVault(tx.db, tx.service, tx.uuid);
  if (vault === undefined || vault.forgotten === 1) return;
  const isNews = (value: string | null, noted: string | null): boolean => value !== null && value !== noted;
  const news = [
    isNews(dates.expiryDate, vault.expiry_date),
    isNews(dates.autoLockDate, vault.auto_lock_date),
    isNews(dates.dateCreated, vault.date_created),
    isNews(dates.lastModified, vault.last_modified),
  ];
  // A monitor that asks every minute is not to fill the journal.
  if (!news.includes(true)) return;
  run(
    tx.db,
    "UPDATE vaults SET expiry_date = coalesce(?, expiry_date), auto_lock_date = coalesce(?, auto_lock_date), " +
      "date_created = coalesce(?, date_created), last_modified = coalesce(?, last_modified) WHERE id = ?",
    dates.expiryDate,
    dates.autoLockDate,
    dates.dateCreated,
    dates.lastModified,
    vault.id,
  );
  journal(tx, "info", null, { ...dates });
}

export function forget(tx: VaultTransaction): void {
  removeKept(tx, vaultOf(tx).id);
  journal(tx, "forgotten", null);
}

function removeKept(tx: VaultTransaction, vault: number): void {
  run(tx.db, "DELETE FROM credentials WHERE vault = ?", vault);
  run(tx.db, "DELETE FROM exchanges WHERE vault = ?", vault);
  run(
    tx.db,
    "UPDATE vaults SET forgotten = 1, label = NULL, uses_remaining = NULL, limited = 0, expiry_date = NULL, auto_lock_date = NULL, " +
      "date_created = NULL, last_modified = NULL, last_error = NULL WHERE id = ?",
    vault,
  );
}

export function setLabel(tx: VaultTransaction, label: string): void {
  run(tx.db, "UPDATE vaults SET label = ? WHERE id = ?", label, vaultOf(tx).id);
  journal(tx, "labelled", null, { label });
}

/** The row of the vault, made if need be. */
function knownVault(tx: VaultTransaction, kind: Kind): number {
  run(tx.db, "INSERT OR IGNORE INTO vaults (service, uuid, kind, forgotten) VALUES (?, ?, ?, 1)", tx.service, tx.uuid, kind);
  return findVault(tx.db, tx.service, tx.uuid)?.id ?? 0;
}

/**
 * The generation of a given pair: the live one that it is recorded as, or a new one (`imported`), with the hashedPin and
 * the device that the vault had last, where none are given. What goes beside a pair that the service knows is changed by a
 * success only: another hashedPin or device makes it a new, unproven generation. Throws `no-credentials` for a superseded
 * pair.
 */
function ensureGeneration(
  tx: VaultTransaction,
  key: SealingKey,
  vault: number,
  { credentials, device }: NewPair,
  placed: Placed | null = null,
): { generation: number; added: boolean } {
  const print = fingerprint(tx.uuid, credentials);
  const live = liveGeneration(tx, vault, print);
  const beside = { hashedPin: credentials.hashedPin, device };
  if (live !== undefined && ((live.standing === "imported" && live.proven === 0) || !differs(tx, key, live, beside))) {
    bringUpToDate(tx, key, live, beside);
    run(tx.db, "UPDATE credentials SET elsewhere = 1 WHERE vault = ? AND generation = ?", vault, live.generation);
    return { generation: live.generation, added: false };
  }
  if (live === undefined && isSuperseded(tx, vault, print)) {
    throw new VaultError("no-credentials", `the credentials given for vault ${tx.uuid} were superseded: they are never sent`, {
      vault: tx.uuid,
      hint: `see what is stored: vault status ${tx.uuid} --history`,
    });
  }
  const last = one<CredentialsRow>(
    tx.db,
    "SELECT * FROM credentials WHERE vault = ? AND sealed IS NOT NULL ORDER BY standing = 'current' DESC, generation DESC LIMIT 1",
    vault,
  );
  const hashedPin = credentials.hashedPin ?? (last === undefined ? undefined : openCredentials(key, tx, last).hashedPin);
  const generation = addGeneration(tx, key, vault, {
    standing: "imported",
    credentials: withPin(credentials, hashedPin),
    device: device ?? last?.device ?? null,
    elsewhere: true,
    placed,
  });
  return { generation, added: true };
}
