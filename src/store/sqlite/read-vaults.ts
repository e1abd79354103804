import type { DatabaseSync } from "node:sqlite";
import type { VaultRecord, VaultSummary } from "../../exchange/records.ts";
import { openStates } from "../../exchange/states.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import type {
  About,
  CredentialsRow,
  ExchangeRow,
  Place,
  VaultRow,
  VaultRows,
} from "../steps/rows.ts";
import { isListed } from "../steps/rows.ts";
import type { SummaryRow } from "../steps/vault-record.ts";
import { summaryColumns, vaultRecord, vaultSummary } from "../steps/vault-record.ts";
import { all, listed, one } from "./query.ts";

/** The rows of one vault as they were read. */
export interface StoredVault {
  /** Null if the vault is not known. */
  id: number | null;
  rows: VaultRows;
}

/** A row with its id, which steps do not see. */
type Numbered = VaultRow & { id: number };

export function listVaults(db: DatabaseSync): VaultRecord[] {
  const rows = all<Numbered>(db, `SELECT * FROM vaults WHERE ${isListed} ORDER BY service, uuid`);
  return rows.map((row) => vaultRecord(row, rowsOf(db, row.id)));
}

export function findVaults(db: DatabaseSync, uuid: string): VaultRecord[] {
  const rows = all<Numbered>(
    db,
    "SELECT * FROM vaults WHERE uuid = ? AND forgotten = 0 ORDER BY service",
    uuid.toLowerCase(),
  );
  return rows.map((row) => vaultRecord(row, rowsOf(db, row.id)));
}

const openExchanges = `exchanges.state IN (${listed(openStates)})`;

/** See `Store.summaries`. Rows are not collected, and have what is needed alone: there may be many. */
export function summaries(db: DatabaseSync, service: string): VaultSummary[] {
  const open = new Map(
    all<ExchangeRow & { vault: number }>(
      db,
      `SELECT exchanges.* FROM exchanges WHERE ${openExchanges}`,
    ).map((row) => [row.vault, row]),
  );
  const kept = "FROM credentials WHERE vault = vaults.id AND sealed IS NOT NULL";
  const rows = db
    .prepare(
      `SELECT id, ${summaryColumns.join(", ")}, (SELECT max(proven) ${kept}) AS proven,
        EXISTS (SELECT 1 ${kept} AND device IS NOT NULL) AS has_device
        FROM vaults WHERE service = ? AND forgotten = 0 ORDER BY uuid`,
    )
    .iterate(service);
  return Array.from(rows as Iterable<SummaryRow & { id: number }>, (row) =>
    vaultSummary(row, open.get(row.id)),
  );
}

/** The id of a vault, and its row. */
export function findVault(
  db: DatabaseSync,
  service: string,
  uuid: string,
): { id: number; row: VaultRow } | null {
  const found = one<Numbered>(
    db,
    "SELECT * FROM vaults WHERE service = ? AND uuid = ?",
    service,
    uuid,
  );
  if (found === undefined) return null;
  const { id, ...row } = found;
  return { id, row };
}

/** Reads all rows of a vault that a step may need, and its id (null if it is not known). Call it in a transaction. */
export function readVault(
  db: DatabaseSync,
  place: Place,
  { exchange, pairs = [] }: About = {},
): StoredVault {
  const { service, uuid, at } = place;
  const found = findVault(db, service, uuid);
  const id = found?.id ?? null;
  const { credentials, exchanges } =
    id === null ? { credentials: [], exchanges: [] } : rowsOf(db, id, exchange);
  const named = pairs.map((pair) => fingerprint(uuid, pair));
  const prints = JSON.stringify([...named, ...credentials.map((row) => row.fingerprint)]);
  const inList = "fingerprint IN (SELECT value FROM json_each(?))";
  const superseded = all<{ fingerprint: string }>(
    db,
    `SELECT fingerprint FROM superseded WHERE vault = ? AND ${inList}`,
    id,
    prints,
  );
  const refusals = all<{ combination: string; fingerprint: string | null }>(
    db,
    "SELECT combination, fingerprint FROM refusals WHERE vault = ? ORDER BY combination",
    id,
  );
  const rows: VaultRows = {
    service,
    uuid,
    at,
    vault: found?.row ?? null,
    credentials,
    exchanges,
    superseded: new Set(superseded.map((row) => row.fingerprint)),
    refusals: new Map(refusals.map((row) => [row.combination, row.fingerprint])),
    seen: null,
    journal: [],
  };
  return { id, rows };
}

/**
 * Exchanges that a step may need. A start that succeeds ends every earlier exchange and supersedes what it offered, so no older
 * exchange matters unless it is named.
 */
const exchangesThatMatter = `
  SELECT * FROM exchanges WHERE vault = ? AND seq IN (
    SELECT seq FROM exchanges WHERE vault = ? AND state NOT IN ('acknowledged', 'discarded', 'rejected') AND seq >= coalesce((
      SELECT seq FROM exchanges WHERE vault = ? AND new_generation IS NOT NULL AND adopted = 0 ORDER BY seq DESC LIMIT 1), 0)
    UNION ALL SELECT max(seq) FROM exchanges WHERE vault = ?
    UNION ALL SELECT seq FROM exchanges WHERE vault = ? AND id = ?)
  ORDER BY seq`;

function rowsOf(
  db: DatabaseSync,
  vault: number,
  exchange: string | null = null,
): Pick<VaultRows, "credentials" | "exchanges"> {
  const exchanges = all<ExchangeRow>(
    db,
    exchangesThatMatter,
    vault,
    vault,
    vault,
    vault,
    vault,
    exchange,
  );
  const named = JSON.stringify(
    exchanges.flatMap((row) => [row.base_generation, row.new_generation]),
  );
  // Without the hint SQLite would read every generation that ever existed.
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
