import type { DatabaseSync } from "node:sqlite";
import type { VaultPlace } from "../../secrets/sealing.ts";
import { sealedColumns } from "../contents.ts";
import { all } from "../sqlite/query.ts";

/** A sealed value as stored, with the place to which it is bound. */
interface SealedValue {
  place: VaultPlace;
  sealed: string;
}

/** Every sealed value of a state. Call it in a transaction. */
export function sealedValues(db: DatabaseSync): SealedValue[] {
  return sealedColumns.flatMap(({ column, table, value, row: name }) => {
    const select =
      `SELECT service, uuid, CAST(${table}.${name} AS TEXT) AS row, ${value} AS sealed ` +
      `FROM ${table} JOIN vaults ON vaults.id = vault WHERE ${value} IS NOT NULL`;
    const rows = all<Omit<VaultPlace, "column"> & { sealed: string }>(db, select);
    return rows.map(({ sealed, ...place }) => ({ place: { ...place, column }, sealed }));
  });
}
