import type {
  ErrorNote,
  ExchangeRecord,
  Generation,
  OpenExchange,
  VaultRecord,
  VaultSummary,
} from "../exchange/records.ts";
import { count } from "../exchange/counting.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import type { Dialect, Statement, Value } from "./statement.ts";
import type { CredentialsRow, ExchangeRow, Place, VaultRows } from "./steps/rows.ts";
import {
  openExchangeOf,
  credentialsRow,
  exchangeRow,
  vaultRow,
  stored,
  unknownVault,
} from "./steps/rows.ts";
import { openLabel } from "./steps/sealed.ts";

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

/** What is read of vaults, as `vaultsWhere` names it. */
const parts = ["vault", "matter", "kept", "ended", "refused"] as const;

/**
 * Reads vaults that fulfil a condition (on the columns of `vaults`, with `$1` … of `values`) with all that a step may need: their
 * rows, exchanges, credentials, superseded pairs and refusals.
 */
export function vaultsWhere(
  { prefix, keptAlone, texts, selectAll }: Dialect,
  condition: string,
  values: readonly Value[],
  { exchange, prints = [] }: Named = {},
): Statement[] {
  const of = (table: string, hint = ""): string =>
    `SELECT ${table}.* FROM vault JOIN ${prefix}${table} ${hint} ON ${table}.vault = vault.id`;
  const all = [...values];
  const mark = (value: Value): string => `$${all.push(value)}`;
  const named =
    exchange === undefined ? "" : `UNION ${of("exchanges")} AND exchanges.id = ${mark(exchange)}`;
  const also =
    prints.length === 0
      ? ""
      : `UNION ${of("superseded")} AND fingerprint IN (${texts(mark(JSON.stringify(prints)))})`;
  const sql = `WITH vault AS (SELECT * FROM ${prefix}vaults WHERE ${condition}),
    matter AS (${mattering(prefix)} ${named}),
    kept AS (${of("credentials", keptAlone)} AND sealed IS NOT NULL
      UNION SELECT credentials.* FROM matter JOIN ${prefix}credentials
        ON credentials.vault = matter.vault AND generation IN ("baseGeneration", "newGeneration")),
    ended AS (SELECT superseded.* FROM kept JOIN ${prefix}superseded
        ON superseded.vault = kept.vault AND superseded.fingerprint = kept.fingerprint
      ${also}),
    refused AS (${of("refusals")})`;
  return selectAll(sql, parts).map((one) => ({ sql: one, values: all }));
}

/**
 * Selects of the exchanges of each `vault` those that count, with the one that ends what came before, and what is not over: after an
 * acknowledgement of what was begun here, no older one does.
 */
function mattering(prefix: string): string {
  const of = `SELECT exchanges.* FROM vault JOIN ${prefix}exchanges ON exchanges.vault = vault.id`;
  return `${of} AND exchanges.seq >= coalesce((
      SELECT seq FROM ${prefix}exchanges AS ended WHERE ended.vault = vault.id AND state = 'acknowledged' AND adopted = 0
      ORDER BY seq DESC LIMIT 1), 0)
    AND (outcome IS NULL OR outcome <> 'free' OR state NOT IN ('acknowledged', 'discarded', 'rejected') OR NOT EXISTS (
      SELECT 1 FROM ${prefix}exchanges AS later WHERE later.vault = exchanges.vault AND later.seq > exchanges.seq))
    UNION ${of} AND exchanges.id = vault."carriedUpTo"`;
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

/** What one statement for all parts has returned. */
function partsIn(rows: readonly unknown[] = []): unknown[][] {
  const byPart = Map.groupBy(rows as { part: number; row: unknown }[], ({ part }) => part);
  return parts.map((_, part) => byPart.get(part)?.map(({ row }) => row) ?? []);
}

/** What `vaultsWhere` returned, by service and uuid; `labels` where they are sealed. */
export function storedVaults(
  results: readonly (readonly unknown[])[],
  at: string,
  labels: Labels | null,
): StoredVault[] {
  const [vaults = [], ...others] = results.length === 1 ? partsIn(results[0]) : results;
  const [exchanges, credentials, superseded, refusals] = others.map((rows) =>
    Map.groupBy(rows as Of<object>[], (row) => row.vault),
  );
  return (vaults as { id: NonNullable<Value>; labelDigest?: string }[])
    .map(({ id, labelDigest: _digest, ...columns }): StoredVault => {
      const vault = vaultRow(columns);
      const { service, uuid, label } = vault;
      const place = { state: labels?.state, service, uuid, at };
      if (labels !== null && label !== null) vault.label = openLabel(labels.key, place, label);
      const of = <Row>(rows: typeof exchanges) => (rows?.get(id) ?? []) as unknown as Row[];
      const refused = of<{ combination: string; fingerprint: string | null }>(refusals)
        .map(({ combination, fingerprint }) => [combination, fingerprint] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
      const rows: VaultRows = {
        ...unknownVault(place),
        vault,
        credentials: of<CredentialsRow>(credentials)
          .toSorted((a, b) => a.generation - b.generation)
          .map(credentialsRow),
        exchanges: of<{ seq: number }>(exchanges)
          .toSorted((a, b) => a.seq - b.seq)
          .map(exchangeRow),
        superseded: new Set(of<{ fingerprint: string }>(superseded).map((row) => row.fingerprint)),
        refusals: new Map(refused),
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
  place: Place,
  results: readonly (readonly unknown[])[],
  labels: Labels | null,
): StoredVault =>
  storedVaults(results, place.at, labels)[0] ?? { id: null, rows: unknownVault(place) };

/** What exchanges see of a vault: without what the store keeps for itself. Null if it is not known. */
export function vaultRecord({ vault, credentials, exchanges }: VaultRows): VaultRecord | null {
  if (vault === null) return null;
  const open = openExchangeOf({ exchanges });
  const last = exchanges.at(-1);
  const { refusedSince, ...counters } = count(exchanges, vault);
  return {
    service: vault.service,
    uuid: vault.uuid,
    kind: vault.kind,
    label: vault.label,
    generations: credentials
      .filter(({ sealed }) => sealed !== null)
      .map((row) => generationRecord(row, refusedSince, credentials))
      .toReversed(),
    ...counters,
    provenAt: vault.provenAt,
    usesRemaining: vault.usesRemaining,
    limited: vault.limited,
    expiryDate: vault.expiryDate,
    autoLockDate: vault.autoLockDate,
    dateCreated: vault.dateCreated,
    lastModified: vault.lastModified,
    lastError: vault.lastError,
    open: open === undefined ? null : (exchangeRecord(open) as OpenExchange),
    last: last === undefined ? null : exchangeRecord(last),
  };
}

const generationRecord = (
  row: CredentialsRow,
  refusedSince: boolean,
  all: readonly CredentialsRow[],
): Generation => ({
  generation: row.generation,
  standing: row.standing,
  proven: row.proven,
  fingerprint: row.fingerprint,
  device: row.device,
  createdAt: row.createdAt,
  elsewhere: row.elsewhere,
  // The same credentials may have been imported again.
  refused: all.some(
    ({ fingerprint, device, refused }) =>
      refused && fingerprint === row.fingerprint && stored(device) === stored(row.device),
  ),
  sole: row.proven && !row.elsewhere && !row.ended && !refusedSince,
  placed: row.placed,
});

export const exchangeRecord = (row: ExchangeRow): ExchangeRecord => ({
  id: row.id,
  operation: row.operation,
  kind: row.kind,
  state: row.state,
  externalRef: row.externalRef,
  baseGeneration: row.baseGeneration,
  newGeneration: row.newGeneration,
  startedAt: row.startedAt,
  tokenExpiry: row.tokenExpiry,
  usesRemaining: row.usesRemaining,
  limited: row.limited,
  holdReason: row.holdReason,
  delivered: row.delivered,
  saveOwed: row.saveOwed,
  endsUnanswered: row.endsUnanswered,
  acknowledgedAt: row.acknowledgedAt,
  adopted: row.adopted,
  given: row.given,
  by: row.by,
});

/** The records of what `vaultsWhere` returned, by service and uuid. */
export const recordsIn = (
  ...[results, at, labels]: Parameters<typeof storedVaults>
): VaultRecord[] =>
  storedVaults(results, at, labels).flatMap(({ rows }) => vaultRecord(rows) ?? []);

/** The exchanges of a service that count or are open, and its vaults with what their summaries need alone: there may be many. */
export function summariesOf({ prefix }: Dialect, service: string): Statement[] {
  const kept = `FROM ${prefix}credentials WHERE vault = vaults.id AND sealed IS NOT NULL`;
  return [
    {
      // What was acknowledged ends only what is carried: all other exchanges that are read follow it.
      sql: `WITH vault AS (SELECT id, carried, "carriedUpTo" FROM ${prefix}vaults WHERE service = $1 AND forgotten = 0),
        matter AS (${mattering(prefix)})
        SELECT matter.* FROM matter JOIN vault ON vault.id = matter.vault
        WHERE state <> 'acknowledged' OR adopted = 1 OR carried IS NOT NULL ORDER BY seq`,
      values: [service],
    },
    {
      sql: `SELECT id, uuid, label, kind, limited, carried, "carriedUpTo", "lastError",
        (SELECT max(proven) ${kept}) AS "hasProven",
        CASE WHEN EXISTS (SELECT 1 ${kept} AND device IS NOT NULL) THEN 1 ELSE 0 END AS "hasDevice"
        FROM ${prefix}vaults WHERE service = $1 AND forgotten = 0 ORDER BY vaults.uuid`,
      values: [service],
    },
  ];
}

/** Shared by many vaults. */
const generations = [0, 1].map((proven) =>
  [0, 1].map((device) => [{ proven: proven === 1, device: device === 1 ? true : null }]),
);
const none: VaultSummary["generations"] = [];

/** What `summariesOf` returned. */
export function summariesIn(
  [matter = [], vaults = []]: readonly (readonly unknown[])[],
  service: string,
  labels: Labels | null,
): VaultSummary[] {
  const exchanges = Map.groupBy(matter as Of<object>[], (row) => row.vault);
  return (vaults as Summarized[]).map(({ id, hasProven, hasDevice, ...columns }) => {
    const { carried, carriedUpTo, ...row } = columns;
    const { uuid, label, lastError } = row;
    const place = { state: labels?.state, service, uuid };
    const rows = (exchanges.get(id) ?? []).map(exchangeRow);
    const exchange = openExchangeOf({ exchanges: rows });
    const { refusedSince: _, ...counters } = count(rows, vaultRow({ carried, carriedUpTo }));
    return {
      ...row,
      ...counters,
      label: labels === null || label === null ? label : openLabel(labels.key, place, label),
      limited: row.limited === 1,
      generations: (hasProven === null ? undefined : generations[hasProven]?.[hasDevice]) ?? none,
      lastError: lastError === null ? null : (JSON.parse(lastError) as ErrorNote).code,
      open: exchange === undefined ? null : (exchangeRecord(exchange) as OpenExchange),
    };
  });
}

/** `hasProven` is null where no credentials are kept. */
interface Summarized extends Pick<VaultSummary, "uuid" | "label" | "kind" | "lastError"> {
  id: NonNullable<Value>;
  carried: Value;
  carriedUpTo: Value;
  limited: number;
  hasProven: number | null;
  hasDevice: number;
}
