import type { DatabaseSync } from "node:sqlite";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";
import type { Pair } from "../../protocol/answers.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import type { CredentialsRow, ExchangeRow, Place, VaultRow, VaultRows } from "../steps/rows.ts";
import { exchangeRecord, vaultRecord } from "../steps/vault-record.ts";
import { all, one } from "./query.ts";
import { isListed } from "./schema.ts";

/** A row with its number, which only the tables know. */
type Numbered = VaultRow & { id: number };

/** What a step, or a question, names besides the vault. */
export interface About {
  exchange?: string;
  pairs?: readonly Pair[];
}

export function listVaults(db: DatabaseSync): VaultRecord[] {
  const rows = all<Numbered>(db, `SELECT * FROM vaults WHERE ${isListed} ORDER BY service, uuid`);
  return rows.map((row) => vaultRecord(row, rowsOf(db, row.id)));
}

export function findVaults(db: DatabaseSync, uuid: string): VaultRecord[] {
  const rows = all<Numbered>(db, "SELECT * FROM vaults WHERE uuid = ? AND forgotten = 0 ORDER BY service", uuid.toLowerCase());
  return rows.map((row) => vaultRecord(row, rowsOf(db, row.id)));
}

export function listExchanges(db: DatabaseSync, service: string, uuid: string, limit: number): ExchangeRecord[] {
  const vault = findVault(db, service, uuid.toLowerCase())?.id;
  if (vault === undefined) return [];
  return all<ExchangeRow>(db, "SELECT * FROM exchanges WHERE vault = ? ORDER BY seq DESC LIMIT ?", vault, limit).map(exchangeRecord);
}

/** The number of a vault, and its row. */
export function findVault(db: DatabaseSync, service: string, uuid: string): { id: number; row: VaultRow } | null {
  const found = one<Numbered>(db, "SELECT * FROM vaults WHERE service = ? AND uuid = ?", service, uuid);
  if (found === undefined) return null;
  const { id, ...row } = found;
  return { id, row };
}

/** A vault as it is, or null if it is not known; to be called on one snapshot. */
export function findRecord(db: DatabaseSync, service: string, uuid: string): VaultRecord | null {
  const found = findVault(db, service, uuid);
  return found === null ? null : vaultRecord(found.row, rowsOf(db, found.id));
}

/** All that a step may ask about a vault; to be called on one snapshot. */
export function readVault(db: DatabaseSync, place: Place, { exchange, pairs = [] }: About = {}): VaultRows {
  const { service, uuid, at } = place;
  const found = findVault(db, service, uuid);
  const id = found?.id ?? null;
  const { credentials, exchanges } = id === null ? { credentials: [], exchanges: [] } : rowsOf(db, id, exchange);
  const named = pairs.map((pair) => fingerprint(uuid, pair));
  const prints = JSON.stringify([...named, ...credentials.map((row) => row.fingerprint)]);
  const inList = "fingerprint IN (SELECT value FROM json_each(?))";
  const superseded = all<{ fingerprint: string }>(db, `SELECT fingerprint FROM superseded WHERE vault = ? AND ${inList}`, id, prints);
  const refusals = all<{ combination: string; fingerprint: string | null }>(
    db,
    "SELECT combination, fingerprint FROM refusals WHERE vault = ? ORDER BY combination",
    id,
  );
  return {
    service,
    uuid,
    at,
    vault: found?.row ?? null,
    credentials,
    exchanges,
    superseded: new Set(superseded.map((row) => row.fingerprint)),
    refusals: new Map(refusals.map((row) => [row.combination, row.fingerprint])),
    outage: one<{ since: string }>(db, "SELECT since FROM outages WHERE service = ?", service)?.since ?? null,
    journal: [],
  };
}

/**
 * A start that succeeds ends all that was left before it, and supersedes what that had offered: no older exchange matters,
 * unless it is named.
 */
const exchangesThatMatter = `
  SELECT * FROM exchanges WHERE vault = ? AND seq IN (
    SELECT seq FROM exchanges WHERE vault = ? AND state NOT IN ('acknowledged', 'discarded', 'rejected') AND seq >= coalesce((
      SELECT seq FROM exchanges WHERE vault = ? AND new_generation IS NOT NULL AND adopted = 0 ORDER BY seq DESC LIMIT 1), 0)
    UNION ALL SELECT max(seq) FROM exchanges WHERE vault = ?
    UNION ALL SELECT seq FROM exchanges WHERE vault = ? AND id = ?)
  ORDER BY seq`;

function rowsOf(db: DatabaseSync, vault: number, exchange: string | null = null): Pick<VaultRows, "credentials" | "exchanges"> {
  const exchanges = all<ExchangeRow>(db, exchangesThatMatter, vault, vault, vault, vault, vault, exchange);
  const named = JSON.stringify(exchanges.flatMap((row) => [row.base_generation, row.new_generation]));
  // By itself SQLite would read every generation that there has ever been.
  const credentials = all<CredentialsRow>(
    db,
    "SELECT * FROM credentials INDEXED BY credentials_kept WHERE vault = ? AND sealed IS NOT NULL UNION " +
      "SELECT * FROM credentials WHERE vault = ? AND generation IN (SELECT value FROM json_each(?)) ORDER BY generation",
    vault,
    vault,
    named,
  );
  return { credentials, exchanges };
}
