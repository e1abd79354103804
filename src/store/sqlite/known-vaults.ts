import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { all, one } from "./query.ts";
import type { VaultRow } from "../steps/rows.ts";
import { openReadOnly } from "./open-read-only.ts";
import { applicationId, isListed, migrations } from "./schema.ts";

export type KnownVault = Pick<VaultRow, "uuid" | "label" | "kind">;

/**
 * The vaults that `status` lists, for completion: nothing is made, migrated, tightened or checkpointed, no key is read, nobody is
 * waited for.
 * @throws what SQLite or the system throws; empty where there is no state, or one of a newer version
 */
export function readKnownVaults(directory: string): KnownVault[] {
  const path = join(directory, "vault.db");
  if (!existsSync(path) || !isPrivate(directory)) return [];
  // A WAL that lacks its index would be given a new one.
  const db = openReadOnly(path, ["-wal", "-shm"]);
  const version = one<{ user_version: number }>(db, "PRAGMA user_version")?.user_version;
  if (one<{ application_id: number }>(db, "PRAGMA application_id")?.application_id !== applicationId) return [];
  if (version === undefined || version > migrations.length) return [];
  return all<KnownVault>(db, `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`);
}

/** As a command would have it: where others can write, what is read may be theirs. */
const isPrivate = (directory: string): boolean => (statSync(directory).mode & 0o022) === 0;
