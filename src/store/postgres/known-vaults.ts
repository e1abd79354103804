import type { KnownVault } from "../sqlite/known-vaults.ts";
import { readKnown } from "../sqlite/known-vaults.ts";
import { all } from "../sqlite/query.ts";
import { addressHere } from "./address.ts";
import { recordFile, recordMigrations } from "./machine-record.ts";

/**
 * The vaults of a shared state that this machine has seen, for completion: no connection is made. Changes nothing.
 * @throws `usage` for an address that cannot be used; what SQLite or the file system throws
 */
export function readKnownShared(
  directory: string,
  location: string,
  env: Readonly<Record<string, string | undefined>>,
): KnownVault[] {
  const { shown } = addressHere(location, env, () => undefined);
  const sql =
    "SELECT uuid, label, kind FROM vaults JOIN states ON states.id = state WHERE address = ? AND listed = 1 ORDER BY label IS NULL, label, uuid";
  return readKnown(directory, recordFile, recordMigrations.length, (db) =>
    all<KnownVault>(db, sql, shown),
  );
}
