import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { openStates } from "../../exchange/states.ts";
import { append } from "../journal/journal.ts";
import type { Place, VaultRow, VaultRows } from "../steps/rows.ts";
import { run } from "./query.ts";
import type { About } from "./read-vaults.ts";
import { findVault, readVault } from "./read-vaults.ts";

/** Runs a step in the caller's transaction: reads the vault, lets the step edit a copy of the rows, and writes what differs. */
export function runStep<T>(db: DatabaseSync, place: Place, about: About, step: (rows: VaultRows) => T): T {
  const { id, rows: before } = readVault(db, place, about);
  const after = structuredClone(before);
  const result = step(after);
  if (after.vault !== null) writeVault(db, id ?? addVault(db, after.vault), before, after, after.vault);
  if (before.outage !== after.outage) writeOutage(db, after);
  const { service } = after.vault ?? after;
  for (const entry of after.journal) append(db, { at: after.at, service, uuid: after.uuid, ...entry });
  return result;
}

function writeOutage(db: DatabaseSync, { service, outage }: VaultRows): void {
  if (outage === null) run(db, "DELETE FROM outages WHERE service = ?", service);
  else run(db, "INSERT INTO outages (service, since) VALUES (?, ?)", service, outage);
}

function addVault(db: DatabaseSync, row: VaultRow): number {
  insert(db, "vaults", row);
  return findVault(db, row.service, row.uuid)?.id ?? 0;
}

function writeVault(db: DatabaseSync, vault: number, before: VaultRows, after: VaultRows, row: VaultRow): void {
  if (row.service !== before.service) absorb(db, vault, row);
  if (before.vault !== null) update(db, "vaults", { id: vault }, before.vault, row);
  if (row.forgotten === 1) {
    run(db, "DELETE FROM credentials WHERE vault = ?", vault);
    run(db, "DELETE FROM exchanges WHERE vault = ?", vault);
  } else {
    // Only one pair is current and only one exchange open, so the rows that take such a place are written last.
    for (const each of takingLast(after.credentials, ({ standing }) => standing === "current")) {
      const { generation } = each;
      const former = before.credentials.find((one) => one.generation === generation);
      if (former === undefined) insert(db, "credentials", { vault, ...each });
      else update(db, "credentials", { vault, generation }, former, each);
    }
    for (const each of takingLast(after.exchanges, ({ state }) => openStates.includes(state))) {
      const { id } = each;
      const former = before.exchanges.find((one) => one.id === id);
      if (former === undefined) insert(db, "exchanges", { vault, ...each });
      else update(db, "exchanges", { vault, id }, former, each);
    }
  }
  for (const print of after.superseded) {
    if (!before.superseded.has(print)) run(db, "INSERT OR IGNORE INTO superseded (vault, fingerprint) VALUES (?, ?)", vault, print);
  }
  for (const print of before.superseded) {
    if (!after.superseded.has(print)) run(db, "DELETE FROM superseded WHERE vault = ? AND fingerprint = ?", vault, print);
  }
  for (const [combination, print] of after.refusals) {
    if (before.refusals.get(combination) === print) continue;
    run(db, "INSERT OR REPLACE INTO refusals (vault, combination, fingerprint) VALUES (?, ?, ?)", vault, combination, print);
  }
  for (const combination of before.refusals.keys()) {
    if (!after.refusals.has(combination)) run(db, "DELETE FROM refusals WHERE vault = ? AND combination = ?", vault, combination);
  }
}

const takingLast = <Row>(rows: readonly Row[], takes: (row: Row) => boolean): Row[] =>
  rows.toSorted((a, b) => Number(takes(a)) - Number(takes(b)));

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

function insert(db: DatabaseSync, table: string, row: object): void {
  const [columns, values] = [Object.keys(row), Object.values(row) as SQLInputValue[]];
  run(db, `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`, ...values);
}

/** Writes the columns that differ, if any. */
function update(db: DatabaseSync, table: string, key: Readonly<Record<string, SQLInputValue>>, before: object, after: object): void {
  const former = before as Record<string, SQLInputValue>;
  const changed = Object.entries(after as Record<string, SQLInputValue>).filter(([column, value]) => former[column] !== value);
  if (changed.length === 0) return;
  const set = changed.map(([column]) => `${column} = ?`).join(", ");
  const where = Object.keys(key)
    .map((column) => `${column} = ?`)
    .join(" AND ");
  run(db, `UPDATE ${table} SET ${set} WHERE ${where}`, ...changed.map(([, value]) => value), ...Object.values(key));
}
