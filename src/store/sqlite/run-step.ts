import type { DatabaseSync } from "node:sqlite";
import { append } from "../journal/journal.ts";
import type { Change } from "../steps/changes.ts";
import { changesOf } from "../steps/changes.ts";
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
  for (const change of changesOf(before, after)) apply(db, vault, change);
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

/** Runs one change as SQL. An inserted row names its vault, but for that of the vault itself. */
function apply(db: DatabaseSync, vault: number, { table, type, key, columns }: Change): void {
  const place: Change["key"] = table === "vaults" ? { id: vault } : { vault, ...key };
  const row = { ...place, ...columns };
  const where = Object.keys(place)
    .map((column) => `${column} = ?`)
    .join(" AND ");
  const set = Object.keys(columns)
    .map((column) => `${column} = ?`)
    .join(", ");
  if (type === "insert") {
    const marks = Object.keys(row).map(() => "?");
    run(db, `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${marks.join(", ")})`, ...Object.values(row));
  } else if (type === "update") run(db, `UPDATE ${table} SET ${set} WHERE ${where}`, ...Object.values(columns), ...Object.values(place));
  else run(db, `DELETE FROM ${table} WHERE ${where}`, ...Object.values(place));
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
