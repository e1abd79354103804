import { openStates } from "../../exchange/states.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import type { SealingKey, VaultPlace } from "../../secrets/sealing.ts";
import { unseal } from "../../secrets/sealing.ts";
import type {
  About,
  CredentialsRow,
  ExchangeRow,
  Place,
  VaultRow,
  VaultRows,
} from "../steps/rows.ts";
import { listed } from "../sqlite/query.ts";
import { summaryColumns } from "../steps/vault-record.ts";
import { breakerOf } from "../breakers.ts";
import type { Statement } from "../steps/changes.ts";
import type { Row } from "./connection.ts";

/** The rows of one vault as they were read, with what steps do not see. */
export interface StoredVault {
  /** Null if the vault is not known. */
  id: string | null;
  /** Of its newest exchange. */
  lastSeq: number;
  rows: VaultRows;
}

/** As for a step; also fingerprints of pairs that may be superseded. */
type Reading = About & { prints?: readonly string[] };

/** Vaults that fulfil a condition (on the table's columns, with `$1` … of `values`), each in one row, with all that a step may need. */
export function vaultsWhere(
  schema: string,
  condition: string,
  values: readonly string[],
  about: Reading & { uuid?: string } = {},
): Statement {
  const { uuid = "", exchange = "", pairs = [], prints: more = [] } = about;
  const [id, prints] = [`$${values.length + 1}::text`, `$${values.length + 2}::text[]`];
  const sql = `
    SELECT vaults.id, to_jsonb(vaults) - 'id' - 'label_digest' AS vault, of_exchanges.rows AS exchanges, of_credentials.rows AS credentials,
      (SELECT jsonb_agg(fingerprint) FROM ${schema}.superseded
        WHERE vault = vaults.id AND (fingerprint = ANY (of_credentials.prints) OR fingerprint = ANY (${prints}))) AS superseded,
      (SELECT jsonb_agg(jsonb_build_array(combination, fingerprint) ORDER BY combination COLLATE "C")
        FROM ${schema}.refusals WHERE vault = vaults.id) AS refusals
    FROM ${schema}.vaults
    CROSS JOIN LATERAL (
      -- A start that succeeds ends every earlier exchange, so no older one matters unless it is named.
      SELECT jsonb_agg(to_jsonb(exchanges) ORDER BY seq) AS rows,
        array_agg(base_generation) || array_agg(new_generation) AS named
      FROM ${schema}.exchanges WHERE vault = vaults.id AND (exchanges.id = ${id}
        OR seq = (SELECT max(seq) FROM ${schema}.exchanges WHERE vault = vaults.id)
        OR state NOT IN ('acknowledged', 'discarded', 'rejected') AND seq >= coalesce((
          SELECT max(seq) FROM ${schema}.exchanges WHERE vault = vaults.id AND new_generation IS NOT NULL AND adopted = 0), 0))
    ) AS of_exchanges
    CROSS JOIN LATERAL (
      SELECT jsonb_agg(to_jsonb(credentials) ORDER BY generation) AS rows, array_agg(fingerprint) AS prints
      FROM ${schema}.credentials WHERE vault = vaults.id AND (sealed IS NOT NULL OR generation = ANY (of_exchanges.named))
    ) AS of_credentials
    WHERE ${condition} ORDER BY service COLLATE "C", vaults.uuid`;
  return {
    sql,
    values: [...values, exchange, [...more, ...pairs.map((pair) => fingerprint(uuid, pair))]],
  };
}

/** Reads a vault, for `storedVault`, and the breaker of its service, for `breakerIn`. */
export const readVault = (
  schema: string,
  { service, uuid }: Place,
  about: Reading,
): Statement[] => [
  vaultsWhere(schema, "service = $1 AND vaults.uuid = $2", [service, uuid], { ...about, uuid }),
  breakerOf(`${schema}.`, service),
];

/** What `vaultsWhere` returned of a vault; without a row the vault is not known. Its label is opened. */
export function storedVault(place: Place, key: SealingKey, row: Row | undefined): StoredVault {
  const credentials = (row?.["credentials"] ?? []) as CredentialsRow[];
  const exchanges = (row?.["exchanges"] ?? []) as (ExchangeRow & { seq: number })[];
  const vault = (row?.["vault"] as VaultRow | undefined) ?? null;
  return {
    id: (row?.["id"] as string | undefined) ?? null,
    lastSeq: exchanges.at(-1)?.seq ?? 0,
    rows: {
      ...place,
      vault:
        vault === null || vault.label === null
          ? vault
          : { ...vault, label: openLabel(key, place, vault.label) },
      credentials,
      exchanges,
      superseded: new Set((row?.["superseded"] ?? []) as string[]),
      refusals: new Map((row?.["refusals"] ?? []) as [string, string | null][]),
      seen: null,
      journal: [],
    },
  };
}

export const openLabel = (key: SealingKey, place: Place, label: string): string =>
  unseal(key, labelPlace(place), label);

export const labelPlace = ({ state, service, uuid }: Place): VaultPlace => ({
  state,
  service,
  uuid,
  column: "vaults.label",
  row: "",
});

/** Vaults of a service, each in one row, for `vaultSummary`. */
export function summariesOf(schema: string, service: string): Statement {
  const kept = `FROM ${schema}.credentials WHERE vault = vaults.id AND sealed IS NOT NULL`;
  const sql = `SELECT ${summaryColumns.map((name) => `vaults.${name}`).join(", ")}, to_jsonb(open) AS open, (SELECT max(proven) ${kept}) AS proven,
      (EXISTS (SELECT 1 ${kept} AND device IS NOT NULL))::int AS has_device
    FROM ${schema}.vaults LEFT JOIN ${schema}.exchanges AS open ON open.vault = vaults.id AND open.state IN (${listed(openStates)})
    WHERE service = $1 AND forgotten = 0 ORDER BY vaults.uuid`;
  return { sql, values: [service] };
}
