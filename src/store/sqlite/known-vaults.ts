import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { all } from "./query.ts";
import type { VaultColumns } from "../document.ts";
import { isListed } from "../document.ts";
import { isOurs, openReadOnly, schemaVersion } from "./open-database.ts";
import { migrations } from "./schema.ts";

export type KnownVault = Pick<VaultColumns, "uuid" | "label" | "kind">;

/**
 * The vaults that `status` lists, for completion; none if there is no state or it is of a newer version. Changes nothing, reads no
 * key and never waits.
 * @throws what SQLite or the file system throws
 */
export const readKnownVaults = (directory: string): KnownVault[] =>
  readKnown(directory, "vault.db", migrations.length, (db) =>
    all<KnownVault>(
      db,
      `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`,
    ),
  );

/** Queries a database of this program as `readKnownVaults` does. */
export function readKnown<T>(
  directory: string,
  file: string,
  newest: number,
  query: (db: DatabaseSync) => T[],
): T[] {
  const path = join(directory, file);
  if (!existsSync(path) || !isPrivate(directory)) return [];
  // SQLite would create the index that a WAL lacks.
  const db = openReadOnly(path, ["-wal", "-shm"]);
  return isOurs(db) && schemaVersion(db) <= newest ? query(db) : [];
}

/** Whether nobody else can write in the folder. */
const isPrivate = (directory: string): boolean => (statSync(directory).mode & 0o022) === 0;
