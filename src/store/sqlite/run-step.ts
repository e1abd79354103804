import type { DatabaseSync } from "node:sqlite";
import { append } from "../journal/journal.ts";
import { changesOf, sqlOf } from "../steps/changes.ts";
import type { About, Place, VaultRow, VaultRows } from "../steps/rows.ts";
import { one, run } from "./query.ts";
import { findVault, readVault } from "./read-vaults.ts";

/** Runs a step in the caller's transaction: reads the vault, lets the step edit a copy of the rows, and writes what differs. */
export function runStep<T>(db: DatabaseSync, place: Place, about: About, step: (rows: VaultRows) => T): T {
  const { id, rows: before } = readVault(db, place, about);
  const after = structuredClone(before);
  const result = step(after);
  const vault = id ?? nextId(db);
  if (after.vault !== null && after.vault.service !== before.service) absorb(db, vault, after.vault);
  for (const change of changesOf(before, after)) {
    const { sql, values } = sqlOf(change, vault, () => "?");
    run(db, sql, ...values);
  }
  if (before.outage !== after.outage) writeOutage(db, after);
  const { service } = after.vault ?? after;
  for (const entry of after.journal) append(db, { at: after.at, service, uuid: after.uuid, ...entry });
  return result;
}

function writeOutage(db: DatabaseSync, { service, outage }: VaultRows): void {
  if (outage === null) run(db, "DELETE FROM outages WHERE service = ?", service);
  else run(db, "INSERT INTO outages (service, since) VALUES (?, ?)", service, outage);
}

const nextId = (db: DatabaseSync): number => (one<{ last: number | null }>(db, "SELECT max(id) AS last FROM vaults")?.last ?? 0) + 1;

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
