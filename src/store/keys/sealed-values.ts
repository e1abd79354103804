import type { DatabaseSync } from "node:sqlite";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { deriveKey, keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import { sealedColumns } from "../contents.ts";
import { append } from "../journal/journal.ts";
import { all, run } from "../sqlite/query.ts";

/** A sealed value as stored, with the place to which it is bound. */
interface SealedValue {
  place: VaultPlace;
  sealed: string;
  /** Stores another value in its place. */
  replace(sealed: string): void;
}

/** Every sealed value of a state. Call it in a transaction. */
export function sealedValues(db: DatabaseSync): SealedValue[] {
  return sealedColumns.flatMap(({ column, table, value, row: name }) => {
    const select =
      `SELECT service, uuid, vault, CAST(${table}.${name} AS TEXT) AS row, ${value} AS sealed ` +
      `FROM ${table} JOIN vaults ON vaults.id = vault WHERE ${value} IS NOT NULL`;
    const rows = all<Omit<VaultPlace, "column"> & { vault: number; sealed: string }>(db, select);
    return rows.map(({ vault, sealed, service, uuid, row }) => ({
      place: { service, uuid, column, row },
      sealed,
      replace: (next) =>
        run(
          db,
          `UPDATE ${table} SET ${value} = ? WHERE vault = ? AND ${name} = ?`,
          next,
          vault,
          row,
        ),
    }));
  });
}

/** The ids of all keys that a database needs. */
export const keyIdsIn = (db: DatabaseSync): string[] => [
  ...new Set(sealedValues(db).map(({ sealed }) => keyIdOf(sealed))),
];

/**
 * Opens every sealed value, as a check.
 * @throws `state` for the first that does not open
 */
export function openAll(db: DatabaseSync, keys: ReadonlyMap<string, SealingKey>): void {
  for (const value of sealedValues(db)) open(keys, value);
}

/** Seals every value with `to`, in the caller's transaction, with a journal entry for each vault. Returns the number of values changed. */
export function resealAll(
  db: DatabaseSync,
  keys: ReadonlyMap<string, SealingKey>,
  to: SealingKey,
  at: string,
): number {
  const old = sealedValues(db).filter(({ sealed }) => keyIdOf(sealed) !== to.id);
  for (const value of old) value.replace(seal(to, value.place, open(keys, value)));
  for (const values of Map.groupBy(
    old,
    ({ place: { service, uuid } }) => `${service} ${uuid}`,
  ).values()) {
    const { place, sealed } = values.at(-1) as SealedValue;
    const detail = { from: keyIdOf(sealed), to: to.id, values: values.length };
    append(db, {
      at,
      service: place.service,
      uuid: place.uuid,
      exchange: null,
      event: "rekeyed",
      detail,
    });
  }
  return old.length;
}

/** @throws `state`, naming the key that the value needs, also if that key is not among `keys` */
function open(keys: ReadonlyMap<string, SealingKey>, { place, sealed }: SealedValue): string {
  const [any] = keys.values();
  return unseal(
    keys.get(keyIdOf(sealed)) ?? any ?? { ...deriveKey(Buffer.alloc(32)), id: "none" },
    place,
    sealed,
  );
}
