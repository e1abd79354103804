import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
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
export function readKnownVaults(directory: string): KnownVault[] {
  const path = join(directory, "vault.db");
  if (!existsSync(path) || !isPrivate(directory)) return [];
  // SQLite would create the index that a WAL lacks.
  const db = openReadOnly(path, ["-wal", "-shm"]);
  if (!isOurs(db) || schemaVersion(db) > migrations.length) return [];
  return all<KnownVault>(
    db,
    `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`,
  );
}

/** Whether nobody else can write in a folder: what others can write is not believed. */
const isPrivate = (folder: string): boolean => (statSync(folder).mode & 0o022) === 0;
