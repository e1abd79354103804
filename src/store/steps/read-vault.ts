import type { DatabaseSync } from "node:sqlite";
import type { ExchangeRecord, Generation, OpenExchange, VaultRecord } from "../../exchange/records.ts";
import { openStates } from "../../exchange/states.ts";
import type { Device } from "../../protocol/fields.ts";
import { all, one } from "../sqlite/query.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "./rows.ts";

export function findVault(db: DatabaseSync, service: string, uuid: string): VaultRow | undefined {
  return one<VaultRow>(db, "SELECT * FROM vaults WHERE service = ? AND uuid = ?", service, uuid.toLowerCase());
}

/** The vaults that `Store.list` speaks of, as a condition on their rows. */
export const isListed = "(forgotten = 0 OR unacked_starts > 0 OR failed_attempts > 0)";

export function listVaults(db: DatabaseSync): VaultRecord[] {
  const rows = all<VaultRow>(db, `SELECT * FROM vaults WHERE ${isListed} ORDER BY service, uuid`);
  return rows.map((row) => vaultRecord(db, row));
}

export function findVaults(db: DatabaseSync, uuid: string): VaultRecord[] {
  const rows = all<VaultRow>(db, "SELECT * FROM vaults WHERE uuid = ? AND forgotten = 0 ORDER BY service", uuid.toLowerCase());
  return rows.map((row) => vaultRecord(db, row));
}

export function listExchanges(db: DatabaseSync, service: string, uuid: string, limit: number): ExchangeRecord[] {
  const vault = findVault(db, service, uuid);
  if (vault === undefined) return [];
  const rows = all<ExchangeRow>(db, "SELECT * FROM exchanges WHERE vault = ? ORDER BY seq DESC LIMIT ?", vault.id, limit);
  return rows.map(exchangeRecord);
}

/** One vault with its kept generations and its open and newest exchange; to be called on one snapshot. */
export function vaultRecord(db: DatabaseSync, row: VaultRow): VaultRecord {
  const generations = all<CredentialsRow>(
    db,
    "SELECT * FROM credentials WHERE vault = ? AND sealed IS NOT NULL ORDER BY generation DESC",
    row.id,
  );
  const open = one<ExchangeRow>(
    db,
    `SELECT * FROM exchanges WHERE vault = ? AND state IN (${openStates.map((state) => `'${state}'`).join(", ")})`,
    row.id,
  );
  const last = one<ExchangeRow>(db, "SELECT * FROM exchanges WHERE vault = ? ORDER BY seq DESC LIMIT 1", row.id);
  return {
    service: row.service,
    uuid: row.uuid,
    kind: row.kind,
    label: row.label,
    generations: generations.map(generationRecord),
    unackedStarts: row.unacked_starts,
    failedAttempts: row.failed_attempts,
    possiblyFailed: row.possibly_failed,
    provenAt: row.proven_at,
    usesRemaining: row.uses_remaining,
    limited: row.limited === 1,
    expiryDate: row.expiry_date,
    autoLockDate: row.auto_lock_date,
    dateCreated: row.date_created,
    lastModified: row.last_modified,
    lastError: row.last_error === null ? null : (JSON.parse(row.last_error) as VaultRecord["lastError"]),
    open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
    last: last === undefined ? null : exchangeRecord(last),
  };
}

const generationRecord = (row: CredentialsRow): Generation => ({
  generation: row.generation,
  standing: row.standing,
  proven: row.proven === 1,
  fingerprint: row.fingerprint,
  device: row.device === null ? null : (JSON.parse(row.device) as Device),
  createdAt: row.created_at,
  elsewhere: row.elsewhere === 1,
  refused: row.refused === 1,
  placed: row.placed,
});

const exchangeRecord = (row: ExchangeRow): ExchangeRecord => ({
  id: row.id,
  operation: row.operation,
  kind: row.kind,
  state: row.state,
  externalRef: row.external_ref,
  baseGeneration: row.base_generation,
  newGeneration: row.new_generation,
  startedAt: row.started_at,
  tokenExpiry: row.token_expiry,
  usesRemaining: row.uses_remaining,
  limited: row.limited === 1,
  holdReason: row.hold_reason,
  delivered: row.delivered === 1,
  saveOwed: row.save_owed === 1,
  endsUnanswered: row.ends_unanswered,
  acknowledgedAt: row.acknowledged_at,
  adopted: row.adopted === 1,
});
