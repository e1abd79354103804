import type { DatabaseSync } from "node:sqlite";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import { append } from "../journal/journal.ts";
import { all, run } from "../sqlite/query.ts";

/** What is sealed in a state, and by what a row of it is named. */
const columns = [
  { column: "credentials.sealed", table: "credentials", value: "sealed", row: "generation" },
  { column: "exchanges.token", table: "exchanges", value: "token", row: "id" },
] as const;

/** A value as it is stored, with the place that it opens for. */
interface SealedValue {
  place: VaultPlace;
  sealed: string;
  /** Puts another value in its place. */
  replace(sealed: string): void;
}

/** All that is sealed in a state; to be called on one snapshot. */
export function sealedValues(db: DatabaseSync): SealedValue[] {
  return columns.flatMap(({ column, table, value, row: name }) => {
    const select =
      `SELECT service, uuid, vault, CAST(${table}.${name} AS TEXT) AS row, ${value} AS sealed ` +
      `FROM ${table} JOIN vaults ON vaults.id = vault WHERE ${value} IS NOT NULL`;
    const rows = all<Omit<VaultPlace, "column"> & { vault: number; sealed: string }>(db, select);
    return rows.map(({ vault, sealed, service, uuid, row }) => ({
      place: { service, uuid, column, row },
      sealed,
      replace: (next) => run(db, `UPDATE ${table} SET ${value} = ? WHERE vault = ? AND ${name} = ?`, next, vault, row),
    }));
  });
}

/** The ids of all keys that a database needs. */
export const keyIdsIn = (db: DatabaseSync): string[] => [...new Set(sealedValues(db).map(({ sealed }) => keyIdOf(sealed)))];

/**
 * Opens every sealed value.
 * @throws `state` for the first that does not open
 */
export function openAll(db: DatabaseSync, keys: ReadonlyMap<string, SealingKey>): void {
  for (const value of sealedValues(db)) open(keys, value);
}

/** Seals everything with `to`, in the transaction of the caller; a line in the journal for each vault. Returns how many values changed. */
export function resealAll(db: DatabaseSync, keys: ReadonlyMap<string, SealingKey>, to: SealingKey, at: string): number {
  const old = sealedValues(db).filter(({ sealed }) => keyIdOf(sealed) !== to.id);
  for (const value of old) value.replace(seal(to, value.place, open(keys, value)));
  for (const values of Map.groupBy(old, ({ place: { service, uuid } }) => `${service} ${uuid}`).values()) {
    const { place, sealed } = values.at(-1) as SealedValue;
    const detail = { from: keyIdOf(sealed), to: to.id, values: values.length };
    append(db, { at, service: place.service, uuid: place.uuid, exchange: null, event: "rekeyed", detail });
  }
  return old.length;
}

/** With another key it says which one it needs. */
function open(keys: ReadonlyMap<string, SealingKey>, { place, sealed }: SealedValue): string {
  const [any] = keys.values();
  return unseal(keys.get(keyIdOf(sealed)) ?? any ?? { id: "none", bytes: Buffer.alloc(32) }, place, sealed);
}
