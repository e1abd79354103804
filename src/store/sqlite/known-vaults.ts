import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { all, one } from "./query.ts";
import type { VaultRow } from "../steps/rows.ts";
import { applicationId, isListed, migrations } from "./schema.ts";

export type KnownVault = Pick<VaultRow, "uuid" | "label" | "kind">;

/**
 * The vaults that `status` lists, for completion: nothing is made, migrated, tightened or checkpointed, no key is read, nobody
 * is waited for. Throws what SQLite or the system throws; empty where there is no state, or one of a newer version.
 */
export function readKnownVaults(directory: string): KnownVault[] {
  const path = join(directory, "vault.db");
  if (sizeOf(path) === undefined || !isPrivate(directory)) return [];
  const url = pathToFileURL(path);
  // Opened in the usual way, a state at rest would be given an empty WAL, and a WAL that lacks its index a new one.
  const hasWal = [`${path}-wal`, `${path}-shm`].every((each) => (sizeOf(each) ?? 0) > 0);
  url.search = hasWal ? "mode=ro" : "mode=ro&immutable=1";
  const db = new DatabaseSync(url, { readOnly: true });
  const version = one<{ user_version: number }>(db, "PRAGMA user_version")?.user_version;
  if (one<{ application_id: number }>(db, "PRAGMA application_id")?.application_id !== applicationId) return [];
  if (version === undefined || version > migrations.length) return [];
  return all<KnownVault>(db, `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`);
}

const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size;

/** As a command would have it: where others can write, what is read may be theirs. */
const isPrivate = (directory: string): boolean => (statSync(directory).mode & 0o022) === 0;
