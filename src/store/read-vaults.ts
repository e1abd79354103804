import type { VaultRecord } from "../exchange/records.ts";
import { openStates } from "../exchange/states.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import type { Dialect, Statement, Value } from "./statement.ts";
import { listed, quoted } from "./statement.ts";
import type { CredentialsRow, ExchangeRow, Place, VaultRow, VaultRows } from "./steps/rows.ts";
import { openLabel } from "./steps/sealed.ts";
import { summaryColumns, vaultRecord } from "./steps/vault-record.ts";

/** The rows of one vault as they were read. */
export interface StoredVault {
  /** Null if the vault is not known. */
  id: Value;
  rows: VaultRows;
}

/** What is read besides all that any step needs. */
export interface Named {
  exchange?: string | undefined;
  /** Fingerprints of pairs that may be superseded. */
  prints?: readonly string[];
}

/**
 * Reads vaults that fulfil a condition (on the columns of `vaults`, with `$1` … of `values`) with all that a step may need: their rows,
 * exchanges, credentials, superseded pairs and refusals, in that order.
 */
export function vaultsWhere(
  { prefix, keptAlone, texts }: Dialect,
  condition: string,
  values: readonly Value[],
  { exchange, prints = [] }: Named = {},
): Statement[] {
  const of = (table: string, hint = ""): string =>
    `SELECT ${table}.* FROM ${prefix}vaults JOIN ${prefix}${table} ${hint} ON ${table}.vault = vaults.id WHERE ${condition}`;
  const named = exchange === undefined ? [] : [exchange];
  const last = `$${values.length + named.length + 1}`;
  // A start that succeeds ends every earlier exchange and supersedes what it offered, so no older one matters unless it is named.
  const matter = `${of("exchanges")} AND exchanges.seq >= coalesce((
      SELECT seq FROM ${prefix}exchanges AS started WHERE started.vault = vaults.id AND "newGeneration" IS NOT NULL AND adopted = 0
      ORDER BY seq DESC LIMIT 1), 0)
    AND (state NOT IN ('acknowledged', 'discarded', 'rejected') OR NOT EXISTS (
      SELECT 1 FROM ${prefix}exchanges AS later WHERE later.vault = exchanges.vault AND later.seq > exchanges.seq))
    ${exchange === undefined ? "" : `UNION ${of("exchanges")} AND exchanges.id = $${values.length + 1}`}`;
  const kept = `${of("credentials", keptAlone)} AND sealed IS NOT NULL
    UNION SELECT credentials.* FROM (${matter}) AS matter JOIN ${prefix}credentials
      ON credentials.vault = matter.vault AND generation IN ("baseGeneration", "newGeneration")`;
  const superseded = `SELECT superseded.* FROM (${kept}) AS kept JOIN ${prefix}superseded
      ON superseded.vault = kept.vault AND superseded.fingerprint = kept.fingerprint`;
  const also = `UNION ${of("superseded")} AND fingerprint IN (${texts(last)})`;
  const all = [...values, ...named];
  return [
    { sql: `SELECT * FROM ${prefix}vaults WHERE ${condition}`, values },
    { sql: `${matter} ORDER BY seq`, values: all },
    { sql: `${kept} ORDER BY generation`, values: all },
    prints.length === 0
      ? { sql: superseded, values: all }
      : { sql: `${superseded} ${also}`, values: [...all, JSON.stringify(prints)] },
    { sql: of("refusals"), values },
  ];
}

/** Reads one vault, for `storedVault`. */
export const readVault = (
  dialect: Dialect,
  { service, uuid }: Pick<Place, "service" | "uuid">,
  named: Named = {},
): Statement[] => vaultsWhere(dialect, "service = $1 AND vaults.uuid = $2", [service, uuid], named);

/** A state that several machines share, which seals labels too. */
export interface Labels {
  state: string;
  key: SealingKey;
}

type Of<Row> = Row & { vault: NonNullable<Value> };

/** What `vaultsWhere` returned, by service and uuid; `labels` where they are sealed. */
export function storedVaults(
  results: readonly (readonly unknown[])[],
  at: string,
  labels: Labels | null,
): StoredVault[] {
  const [vaults = [], ...parts] = results;
  const [exchanges, credentials, superseded, refusals] = parts.map((rows) =>
    Map.groupBy(rows as Of<object>[], (row) => row.vault),
  );
  return (vaults as (VaultRow & { id: NonNullable<Value>; labelDigest?: string })[])
    .map(({ id, labelDigest: _digest, ...vault }): StoredVault => {
      const { service, uuid, label } = vault;
      const place = { state: labels?.state, service, uuid, at };
      const of = <Row>(rows: typeof exchanges) => (rows?.get(id) ?? []) as unknown as Row[];
      const refused = of<{ combination: string; fingerprint: string | null }>(refusals)
        .map(({ combination, fingerprint }) => [combination, fingerprint] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
      const rows: VaultRows = {
        ...place,
        vault:
          labels === null || label === null
            ? vault
            : { ...vault, label: openLabel(labels.key, place, label) },
        credentials: of<CredentialsRow>(credentials),
        exchanges: of<ExchangeRow>(exchanges),
        superseded: new Set(of<{ fingerprint: string }>(superseded).map((row) => row.fingerprint)),
        refusals: new Map(refused),
        seen: null,
        journal: [],
      };
      return { id, rows };
    })
    .toSorted(
      ({ rows: a }, { rows: b }) => compare(a.service, b.service) || compare(a.uuid, b.uuid),
    );
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** What `readVault` returned; without a row the vault is not known. */
export const storedVault = (
  { state, service, uuid, at }: Place,
  results: readonly (readonly unknown[])[],
  labels: Labels | null,
): StoredVault =>
  storedVaults(results, at, labels)[0] ?? {
    id: null,
    rows: {
      state,
      service,
      uuid,
      at,
      vault: null,
      credentials: [],
      exchanges: [],
      superseded: new Set(),
      refusals: new Map(),
      seen: null,
      journal: [],
    },
  };

/** The records of what `vaultsWhere` returned, by service and uuid. */
export const recordsIn = (
  ...[results, at, labels]: Parameters<typeof storedVaults>
): VaultRecord[] =>
  storedVaults(results, at, labels).flatMap(({ rows }) =>
    rows.vault === null ? [] : [vaultRecord(rows.vault, rows)],
  );

/** The open exchanges of a service, and its vaults with what `vaultSummary` needs alone: there may be many. */
export function summariesOf({ prefix }: Dialect, service: string): Statement[] {
  const kept = `FROM ${prefix}credentials WHERE vault = vaults.id AND sealed IS NOT NULL`;
  return [
    {
      sql: `SELECT exchanges.* FROM ${prefix}vaults JOIN ${prefix}exchanges ON exchanges.vault = vaults.id
        WHERE service = $1 AND state IN (${listed(openStates)})`,
      values: [service],
    },
    {
      sql: `SELECT id, ${summaryColumns.map(quoted).join(", ")}, (SELECT max(proven) ${kept}) AS proven,
        CASE WHEN EXISTS (SELECT 1 ${kept} AND device IS NOT NULL) THEN 1 ELSE 0 END AS has_device
        FROM ${prefix}vaults WHERE service = $1 AND forgotten = 0 ORDER BY vaults.uuid`,
      values: [service],
    },
  ];
}
