import type { DatabaseSync } from "node:sqlite";
import { all } from "../sqlite/query.ts";
import type { VaultPlace } from "../../secrets/sealing.ts";

/** A value as it is stored, with the place that it opens for. */
export interface SealedValue {
  place: VaultPlace;
  sealed: string;
}

/** All that is sealed in a state; to be called on one snapshot. */
export function sealedValues(db: DatabaseSync): SealedValue[] {
  const rows = all<Omit<VaultPlace, "row"> & { row: string; sealed: string }>(
    db,
    "SELECT service, uuid, 'credentials.sealed' AS \"column\", CAST(generation AS TEXT) AS row, sealed " +
      "FROM credentials JOIN vaults ON vaults.id = credentials.vault WHERE sealed IS NOT NULL " +
      "UNION ALL SELECT service, uuid, 'exchanges.token', exchanges.id, token " +
      "FROM exchanges JOIN vaults ON vaults.id = exchanges.vault WHERE token IS NOT NULL",
  );
  return rows.map(({ sealed, ...place }) => ({ place, sealed }));
}
