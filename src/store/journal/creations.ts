import type { DatabaseSync } from "node:sqlite";
import type { CreatedVault, Creation, ErrorNote, LeftCreation } from "../../exchange/records.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import { addGeneration, revive, withPin } from "../steps/generations.ts";
import { append } from "./journal.ts";
import { all, one, run } from "../sqlite/query.ts";
import { findVault } from "../steps/read-vault.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { VaultTransaction } from "../steps/vault-transaction.ts";
import { journal } from "../steps/vault-transaction.ts";

/**
 * Vaults that are being created have no uuid yet, and so neither a row nor a lock: they live in the journal, an entry
 * before the call and one for its outcome. Each function is a step of `Store`, whose contract it carries.
 */

/** What ends a creation: one of these is in the journal behind its first entry. */
const outcomes = ["created", "create-refused", "create-unanswered", "create-told"] as const;

export function creating(db: DatabaseSync, { id, service, kind, externalRef }: Creation, at: string): void {
  append(db, { at, service, uuid: "", exchange: id, event: "creating", detail: { kind, externalRef } });
}

export function created(
  tx: VaultTransaction,
  key: SealingKey,
  { id, kind, externalRef }: Creation,
  vault: CreatedVault,
): CreatedGeneration {
  run(tx.db, "INSERT OR IGNORE INTO vaults (service, uuid, kind, forgotten) VALUES (?, ?, ?, 1)", tx.service, tx.uuid, kind);
  const row = findVault(tx.db, tx.service, tx.uuid)?.id ?? 0;
  const isKnown = one(tx.db, "SELECT 1 FROM credentials WHERE vault = ?", row) !== undefined;
  const credentials = withPin(vault.credentials, vault.credentials.hashedPin);
  const standing = isKnown ? "imported" : "current";
  // What is said of a vault that is known already does not come before what has worked.
  const placed = isKnown ? "older" : null;
  const generation = addGeneration(tx, key, row, { standing, credentials, device: vault.device ?? null, elsewhere: false, placed });
  revive(tx, row, generation);
  if (!isKnown) {
    run(tx.db, "UPDATE credentials SET proven = 1 WHERE vault = ? AND generation = ?", row, generation);
    run(
      tx.db,
      "UPDATE vaults SET kind = ?, label = coalesce(?, label), unacked_starts = 0, failed_attempts = 0, possibly_failed = 0, uses_remaining = ?, limited = ?, " +
        "expiry_date = ?, auto_lock_date = ?, date_created = ?, last_modified = ?, last_error = NULL WHERE id = ?",
      kind,
      vault.label ?? null,
      vault.usesRemaining,
      Number(vault.limited),
      vault.expiryDate,
      vault.autoLockDate,
      vault.dateCreated,
      vault.lastModified,
      row,
    );
  }
  journal(tx, "created", id, { kind, externalRef, generation, standing });
  return { generation, fingerprint: fingerprint(tx.uuid, credentials) };
}

export interface CreatedGeneration {
  generation: number;
  fingerprint: string;
}

export function notCreated(
  db: DatabaseSync,
  creation: Creation,
  event: "create-refused" | "create-unanswered",
  error: ErrorNote,
  at: string,
): void {
  const { id, service, kind, externalRef } = creation;
  append(db, { at, service, uuid: "", exchange: id, event, detail: { kind, externalRef, error } });
}

export function leftCreations(db: DatabaseSync, service: string): LeftCreation[] {
  const rows = all<{ exchange: string; at: string; detail: string }>(
    db,
    "SELECT exchange, at, detail FROM journal AS first WHERE service = ? AND event = 'creating' AND NOT EXISTS (SELECT 1 FROM journal " +
      `WHERE exchange = first.exchange AND seq > first.seq AND event IN (${outcomes.map((event) => `'${event}'`).join(", ")})) ORDER BY seq`,
    service,
  );
  return rows.map(({ exchange, at, detail }) => {
    const { kind, externalRef } = JSON.parse(detail) as Pick<Creation, "kind" | "externalRef">;
    return { id: exchange, service, kind, externalRef, startedAt: at };
  });
}

export function toldOf(db: DatabaseSync, { id, service, externalRef }: LeftCreation, at: string): void {
  append(db, { at, service, uuid: "", exchange: id, event: "create-told", detail: { externalRef } });
}
