import { openStates } from "../exchange/states.ts";
import { keyIdOf, seal, unseal, type SealingKey, type VaultPlace } from "../secrets/sealing.ts";
import { VaultError } from "../errors.ts";
import type { Kind } from "../protocol/endpoints.ts";
import { isObject } from "../protocol/json.ts";
import { command, noted } from "../way.ts";
import { appending, breakerOf, inserting, replacing } from "./tables.ts";
import type { Dialect, Put, Statement, Table } from "./tables.ts";
import { placeOf, VaultRows } from "./steps/rows.ts";
import type { CredentialsRow, ExchangeRow, Owner, Since, VaultRow } from "./steps/rows.ts";

/**
 * A vault as stored (docs/design.md, One document per vault), in JSON: `doc` needs no key, `sealed`
 * does. Under the vault's lock both are read whole, and written whole if `version` still fits.
 */
export interface VaultColumns {
  service: string;
  uuid: string;
  label: string | null;
  kind: Kind;
  status: StoredStatus;
  doc: string;
  sealed: string;
}

/**
 * What lists ask of a vault: `open` has an open exchange, `counted` is forgotten, but not its
 * counters. An `absent` one is not known: its row in a shared state is for a lease alone.
 */
type StoredStatus = "open" | "closed" | "counted" | "forgotten" | "absent";

/** Conditions on the vaults that `Store.list` returns, and on those that are not forgotten. */
export const isListed = "status IN ('open', 'closed', 'counted')";
export const isKnown = "status IN ('open', 'closed')";

/** What `doc` holds. Of a pair that is not kept any more exchanges still name the generation. */
interface Doc extends Since {
  vault: Omit<VaultRow, "service" | "uuid" | "label" | "kind">;
  credentials: (Omit<CredentialsRow, "sealed"> & { kept: boolean })[];
  exchanges: Omit<ExchangeRow, "token">[];
  refusals: [combination: string, fingerprint: string | null][];
}

/** Sealed values by the column that they are bound to, and by the generation or the exchange. */
export type Sealed = Partial<Record<VaultPlace["column"], Record<string, string>>>;

/** What is stored of a vault, parsed. @throws `state` for what a disk or another program made of it */
export function parseStored(
  uuid: string,
  stored: { doc: string; sealed?: string },
): { doc: Doc; sealed: Sealed } {
  const isText = (value: unknown): boolean => typeof value === "string";
  const isOf = (value: unknown, is: (each: unknown) => boolean): boolean =>
    isObject(value) && Object.values(value).every(is);
  try {
    const doc = JSON.parse(stored.doc) as Doc;
    const sealed = JSON.parse(stored.sealed ?? "{}") as Sealed;
    const pairs = sealed["credentials.sealed"];
    // What is no list has no `every`. What is listed comes without its sealed values.
    if (
      isObject(doc.vault) &&
      isOf(doc.vault.carried ?? {}, Number.isSafeInteger) &&
      doc.exchanges.every(isObject) &&
      doc.refusals.every(Array.isArray) &&
      isOf(sealed, (values) => isOf(values, isText)) &&
      doc.credentials.every(isObject) &&
      doc.credentials.every(
        ({ kept, generation }) =>
          !kept || stored.sealed === undefined || isText(pairs?.[generation]),
      )
    )
      return { doc, sealed };
  } catch {
    // Told below.
  }
  const restoring = command`vault state restore FILE --state LOCATION`;
  const next = [noted(restoring, "restores a backup into an empty place")];
  throw new VaultError("state", `the document of vault ${uuid} is damaged`, { next });
}

/** The vault of a row, as of `since`; without `sealed`, kept pairs are empty, tokens absent. */
export function rowsOf(
  row: Pick<VaultColumns, "service" | "uuid" | "label" | "kind" | "doc"> & { sealed?: string },
  since: Since,
  at: string,
): VaultRows {
  const { service, uuid, label, kind } = row;
  const { doc, sealed } = parseStored(uuid, row);
  const { "credentials.sealed": pairs, "exchanges.token": tokens } = sealed;
  const superseded = doc.credentials.filter(({ standing }) => standing === "superseded");
  const rows = new VaultRows({
    service,
    uuid,
    at,
    since,
    vault: { service, uuid, label, kind, ...doc.vault },
    credentials: doc.credentials.map(({ kept, ...pair }) => ({
      ...pair,
      sealed: kept ? (pairs?.[pair.generation] ?? "") : null,
    })),
    exchanges: doc.exchanges.map((each) => ({ ...each, token: tokens?.[each.id] ?? null })),
    superseded: new Set(superseded.map(({ fingerprint }) => fingerprint)),
    refusals: new Map(doc.refusals),
  });
  if (doc.copies !== since.copies) for (const pair of rows.credentials) pair.elsewhere = true;
  if (doc.doubts !== since.doubts) rows.doubt();
  return rows;
}

/** The row of a vault. What must be true of it is asserted here, whatever has made it. */
export function columnsOf(rows: VaultRows): VaultColumns {
  const { service, uuid, label, kind, ...vault } = rows.known;
  const open = rows.exchanges.filter(({ state }) => openStates.includes(state)).length;
  const current = rows.credentials.filter(({ standing }) => standing === "current").length;
  if (open > 1 || current > 1 || uuid !== uuid.toLowerCase())
    throw new TypeError(
      `vault ${uuid} would have ${open} open exchanges, ${current} current pairs`,
    );
  const { copies, doubts } = rows.since;
  const doc: Doc = {
    copies,
    doubts,
    vault,
    credentials: rows.credentials.map(({ sealed, ...row }) => ({ ...row, kept: sealed !== null })),
    exchanges: rows.exchanges.map(({ token: _token, ...row }) => row),
    refusals: [...rows.refusals],
  };
  // JSON has no undefined values.
  const sealed = JSON.stringify({
    "credentials.sealed": Object.fromEntries(
      rows.credentials.map((row) => [row.generation, row.sealed ?? undefined]),
    ),
    "exchanges.token": Object.fromEntries(
      rows.exchanges.map((row) => [row.id, row.token ?? undefined]),
    ),
  });
  const isCounted = Object.values(vault.carried ?? {}).some((n) => n > 0);
  const status = vault.forgotten ? (isCounted ? "counted" : "forgotten") : open ? "open" : "closed";
  return { service, uuid, label, kind, status, doc: JSON.stringify(doc), sealed };
}

/** Replaces each sealed value of a row of `vaults` or `runs` by what `by` makes of it, at its place. */
export function mapSealed<
  Row extends Owner &
    Partial<Record<"doc" | "sealed" | "exchange", string>> & { digest?: string | null },
>(row: Row, by: (place: VaultPlace, value: string) => string): Row {
  const { doc, sealed, exchange = "", digest } = row;
  if (typeof digest === "string") {
    return { ...row, digest: by(placeOf(row, "exchanges.digest", exchange), digest) };
  }
  if (doc === undefined || sealed === undefined) return row;
  const columns = parseStored(row.uuid, { doc, sealed }).sealed;
  for (const [name, values] of Object.entries(columns)) {
    const column = name as VaultPlace["column"];
    for (const [of, value] of Object.entries(values))
      values[of] = by(placeOf(row, column, of), value);
  }
  return { ...row, sealed: JSON.stringify(columns) };
}

/** For `mapSealed`: seals with `to`. @throws `state` for a value that `from` does not open */
export const resealing =
  (from: SealingKey | null, to: SealingKey) =>
  (place: VaultPlace, value: string): string =>
    keyIdOf(value) === to.id ? value : seal(to, place, unseal(from, place, value));

export const sinceColumns = (prefix: string): string =>
  ["copies", "doubts"]
    .map(
      (name) =>
        `CAST(coalesce((SELECT value FROM ${prefix}meta WHERE name = '${name}'), '0') AS int) AS ${name}`,
    )
    .join(", ");

/** What tells a vault from all others. */
export const nameOf = ({ service, uuid }: Owner): string => `${service} ${uuid}`;

/** Adds one to one of them, and returns a row, in a state that is used. */
export const raising = ({ prefix, open }: Dialect, name: keyof Since): Statement => ({
  sql: `INSERT INTO ${prefix}meta (name, value) SELECT $1, '1' FROM ${open} WHERE true
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS int) + 1 AS text) RETURNING 1 AS done`,
  values: [name],
});

/** The columns of a vault, but for what numbers it and its versions. */
export const columns = "service, uuid, label, kind, status, doc, sealed";

/** Reads a vault, which of the fingerprints are of superseded pairs, and its service's breaker. */
export const readVault = (
  { prefix, texts }: Dialect,
  { service, uuid }: Owner,
  prints: readonly string[] = [],
): Statement[] => [
  {
    sql: `SELECT version, ${columns} FROM ${prefix}vaults WHERE service = $1 AND uuid = $2`,
    values: [service, uuid],
  },
  {
    // Under every base URL that the vault has here.
    sql: `SELECT fingerprint FROM ${prefix}spent WHERE service IN (SELECT service FROM ${prefix}vaults WHERE uuid = $1)
      AND uuid = $1 AND fingerprint IN (${texts("$2")})`,
    values: [uuid, JSON.stringify(prints)],
  },
  { sql: `SELECT ${sinceColumns(prefix)}` },
  breakerOf(prefix, service),
];

/**
 * SQL for what a step writes besides the row of its vault, if `from` has a row. In PostgreSQL these
 * are parts of one statement, none of which sees another.
 */
export function writingBeside(
  dialect: Dialect,
  before: VaultRows,
  after: VaultRows,
  from: string,
): ((put: Put) => string)[] {
  const { prefix } = dialect;
  const { service, uuid, begunIn, seen, journal } = after;
  const parts: ((put: Put) => string)[] = [];
  const claim = seen?.claim ?? null;
  if (seen !== null && claim !== null)
    parts.push((put) => replacing(dialect, service, seen.breaker, claim, from, put));
  const add = (table: Table, rows: readonly object[]): void => {
    const columns = Object.keys(rows[0] ?? {});
    parts.push((put) => inserting(dialect, table, columns, put(JSON.stringify(rows)), from));
  };
  // All of them: a failover may have lost what an earlier step has written.
  if ([...after.superseded].some((print) => !before.superseded.has(print)))
    add(
      "spent",
      [...after.superseded].map((fingerprint) => ({ service, uuid, fingerprint })),
    );
  // Of one run, the newest exchange takes the place of those before. A step begins one at most.
  const { digest = null, delivery = null } = begunIn ?? {};
  for (const { id, run, operation, state, delivered } of after.exchanges) {
    const was = before.exchanges.find((row) => row.id === id);
    if (run === null || (was?.state === state && was.delivered === delivered)) continue;
    const now = { operation, state, delivered: Number(delivered) };
    if (was === undefined)
      add("runs", [{ service, run, uuid, exchange: id, ...now, digest, delivery }]);
    else
      parts.push(
        (put) => `UPDATE ${prefix}runs SET state = ${put(state)}, delivered = ${put(now.delivered)}
          WHERE service = ${put(service)} AND run = ${put(run)} AND uuid = ${put(uuid)} AND exchange = ${put(id)}
          AND EXISTS (SELECT 1 FROM ${from})`,
      );
  }
  if (journal.length > 0) parts.push((put) => appending(dialect, journal, from, put));
  return parts;
}
