import { VaultError } from "../errors.ts";
import type { AdoptedExchange, Credentials, NewPair } from "../exchange/records.ts";
import type { Kind } from "../interface/endpoints.ts";
import type { VaultDates } from "../interface/extended-answers.ts";
import type { Device } from "../interface/fields.ts";
import { exchangeIn, findExchange, openExchangeOf, sealToken, settleCounted } from "./exchange-rows.ts";
import { fingerprint } from "./fingerprints.ts";
import {
  addGeneration,
  bringUpToDate,
  differs,
  isSuperseded,
  liveGeneration,
  openCredentials,
  setStanding,
  withPin,
} from "./generations.ts";
import { one, run } from "./query.ts";
import { findVault } from "./read-vault.ts";
import type { CredentialsRow } from "./rows.ts";
import type { SealingKey } from "./sealing.ts";
import type { VaultTransaction } from "./vault-transaction.ts";
import { journal, vaultOf } from "./vault-transaction.ts";

/** Each function is a step of `VaultSession`, whose contract it carries; it runs in the one transaction of that step. */

export function record(tx: VaultTransaction, key: SealingKey, pair: NewPair): number {
  const vault = knownVault(tx, pair.kind);
  run(tx.db, "UPDATE vaults SET kind = ?, label = coalesce(?, label) WHERE id = ?", pair.kind, pair.label ?? null, vault);
  const { generation, added } = ensureGeneration(tx, key, vault, "imported", pair.credentials, pair.device);
  journal(tx, added ? "imported" : "imported-again", null, { generation, kind: pair.kind });
  return generation;
}

export function adopt(tx: VaultTransaction, key: SealingKey, document: AdoptedExchange): string {
  const vault = knownVault(tx, document.kind);
  if (findExchange(tx, vault, document.exchangeId) !== undefined) return document.exchangeId;
  const open = openExchangeOf(tx, vault);
  if (open !== undefined) {
    throw new VaultError("pending", `exchange ${open.id} of vault ${tx.uuid} is open: another one cannot be taken over`, {
      vault: tx.uuid,
      hint: `finish it first: vault ack ${tx.uuid}`,
    });
  }
  const base = ensureGeneration(tx, key, vault, "imported", document.old, document.device).generation;
  // The machine that wrote the document had its start accepted: what was current here before is at best an older pair.
  run(tx.db, "UPDATE credentials SET standing = 'imported' WHERE vault = ? AND standing = 'current' AND generation <> ?", vault, base);
  setStanding(tx, vault, base, "current");
  const offered = withPin(document.new, document.old.hashedPin);
  const { generation } = ensureGeneration(tx, key, vault, "offered", offered, document.device);
  setStanding(tx, vault, generation, "offered");
  run(
    tx.db,
    "INSERT INTO exchanges (vault, id, operation, kind, state, external_ref, base_generation, new_generation, started_at, token, " +
      "token_expiry, ends_unanswered, limited, hold_reason, counted_start, counted_failed) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, 1, 0)",
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
  journal(tx, "adopted", document.exchangeId, { operation: document.operation, base, generation });
  return document.exchangeId;
}

export function resetCounters(tx: VaultTransaction): void {
  const vault = vaultOf(tx);
  run(tx.db, "UPDATE vaults SET unacked_starts = 0, failed_attempts = 0, last_error = NULL WHERE id = ?", vault.id);
  settleCounted(tx, vault.id);
  journal(tx, "counters-reset", null, { unackedStarts: vault.unacked_starts, failedAttempts: vault.failed_attempts });
}

export function deleted(tx: VaultTransaction, exchangeId: string): void {
  const row = exchangeIn(tx, exchangeId, ["intent"]);
  const { operation, external_ref: externalRef, base_generation: generation } = row;
  journal(tx, "deleted", exchangeId, { operation, externalRef, generation });
  run(tx.db, "UPDATE vaults SET unacked_starts = 0, failed_attempts = 0 WHERE id = ?", row.vault);
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
 * The generation of a pair: the live one that it is recorded as, or a new one, with the hashedPin and the device that
 * the vault had last, where none are given. What goes beside a pair that the service knows is changed by a success
 * only: another hashedPin or device makes it a new, unproven generation. Raises `no-credentials` for a superseded pair,
 * and `pending` where an exchange is open and that would be one.
 */
function ensureGeneration(
  tx: VaultTransaction,
  key: SealingKey,
  vault: number,
  standing: "imported" | "offered",
  credentials: Credentials,
  device: Device | undefined,
): { generation: number; added: boolean } {
  const print = fingerprint(tx.uuid, credentials);
  const live = liveGeneration(tx, vault, print);
  const beside = { hashedPin: credentials.hashedPin, device };
  if (live !== undefined && ((live.standing === "imported" && live.proven === 0) || !differs(tx, key, live, beside))) {
    bringUpToDate(tx, key, live, beside);
    return { generation: live.generation, added: false };
  }
  if (live !== undefined && openExchangeOf(tx, vault) !== undefined) {
    throw new VaultError("pending", `an exchange of vault ${tx.uuid} is open: the hashedPin and the device of its pairs stay as they are`, {
      vault: tx.uuid,
      hint: `finish it first: vault ack ${tx.uuid}`,
    });
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
    standing,
    credentials: withPin(credentials, hashedPin),
    device: device ?? last?.device ?? null,
  });
  return { generation, added: true };
}
