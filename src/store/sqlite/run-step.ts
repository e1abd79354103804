import type { DatabaseSync } from "node:sqlite";
import { append } from "../journal/journal.ts";
import { changesOf, sqlOf } from "../steps/changes.ts";
import type { VaultRow, VaultRows } from "../steps/rows.ts";
import { copyOf } from "../steps/rows.ts";
import { labelTaken } from "../steps/vault.ts";
import { afterStep } from "../stored-session.ts";
import { checkBreaker } from "./breakers.ts";
import { one, run } from "./query.ts";
import type { StoredVault } from "./read-vaults.ts";
import { findVault } from "./read-vaults.ts";

/** Runs a step in the caller's transaction: lets it edit a copy of the rows, and writes what differs. Returns the rows as they are then. */
export function runStep<T>(
  db: DatabaseSync,
  { id, rows: before }: StoredVault,
  step: (rows: VaultRows) => T,
): { result: T; vault: StoredVault } {
  const after = copyOf(before);
  const result = step(after);
  if (after.seen !== null) checkBreaker(db, after.service, after.seen);
  const vault = id ?? nextId(db);
  if (after.vault !== null && after.vault.label !== before.vault?.label)
    checkLabel(db, vault, after.vault);
  if (after.vault !== null && after.vault.service !== before.service)
    absorb(db, vault, after.vault);
  for (const change of changesOf(before, after)) {
    const { sql, values } = sqlOf(change, vault, () => "?");
    run(db, sql, ...values);
  }
  const { service } = after.vault ?? after;
  for (const entry of after.journal)
    append(db, { at: after.at, service, uuid: after.uuid, ...entry });
  return { result, vault: { id: after.vault === null ? null : vault, rows: afterStep(after) } };
}

const nextId = (db: DatabaseSync): number =>
  (one<{ last: number | null }>(db, "SELECT max(id) AS last FROM vaults")?.last ?? 0) + 1;

/** @throws `usage` for a label that another vault has; nobody else writes meanwhile */
function checkLabel(db: DatabaseSync, id: number, { uuid, label }: VaultRow): void {
  const sql = "SELECT uuid FROM vaults WHERE label = ? AND id <> ?";
  const other = label === null ? undefined : one<{ uuid: string }>(db, sql, label, id);
  if (other !== undefined) throw labelTaken(uuid, other.uuid);
}

/** Takes over what a forgotten vault left at the service that this vault moves to: refusals and superseded pairs. */
function absorb(db: DatabaseSync, vault: number, { service, uuid }: VaultRow): void {
  const here = findVault(db, service, uuid)?.id;
  if (here === undefined) return;
  for (const table of ["superseded", "refusals"]) {
    run(db, `UPDATE OR IGNORE ${table} SET vault = ? WHERE vault = ?`, vault, here);
    run(db, `DELETE FROM ${table} WHERE vault = ?`, here);
  }
  run(db, "DELETE FROM vaults WHERE id = ?", here);
}
