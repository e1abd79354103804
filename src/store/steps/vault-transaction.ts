import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { ErrorNote } from "../../exchange/records.ts";
import { append } from "../journal/journal.ts";
import { run } from "../sqlite/query.ts";
import { findVault } from "./read-vault.ts";
import type { VaultRow } from "./rows.ts";

/** One writing transaction in one vault that this process holds. */
export interface VaultTransaction {
  readonly db: DatabaseSync;
  readonly service: string;
  /** Lower-case. */
  readonly uuid: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The vault's row. Raises `no-credentials` if this service's vault is not known. */
export function vaultOf({ db, service, uuid }: VaultTransaction): VaultRow {
  const row = findVault(db, service, uuid);
  if (row !== undefined) return row;
  throw new VaultError("no-credentials", `no credentials are known for vault ${uuid} at ${service}`, {
    vault: uuid,
    hint: `import them: vault import ${uuid} --kind KIND --credentials @FILE`,
  });
}

/** Appends to the journal what this transaction does. */
export function journal(tx: VaultTransaction, event: string, exchange: string | null, detail: Record<string, unknown> = {}): void {
  append(tx.db, { at: tx.at, service: tx.service, uuid: tx.uuid, exchange, event, detail });
}

/**
 * Remembers the last error of the vault. That it is locked or gone is not forgotten for an error that says nothing about
 * that, like one of the network.
 */
export function noteError(tx: VaultTransaction, vault: number, error: ErrorNote): void {
  const note = JSON.stringify({ at: tx.at, code: error.code, message: error.message });
  const decides = ["locked", "gone", "rejected"].includes(error.code);
  const unlessLocked = decides ? "" : " AND coalesce(last_error ->> 'code', '') NOT IN ('locked', 'gone')";
  run(tx.db, `UPDATE vaults SET last_error = ? WHERE id = ?${unlessLocked}`, note, vault);
}

/** What a session raises when the state is no longer as it left it: someone else has the vault now. */
export function takenOver(uuid: string, what: string): VaultError {
  return new VaultError("state", `another process has taken over vault ${uuid} (${what}): nothing more is sent`, {
    vault: uuid,
    hint: `see where it stands: vault status ${uuid}`,
    retry: "after-status",
  });
}
