import type { SealingKey, VaultPlace } from "../secrets/sealing.ts";
import { keyIdOf, labelDigest, seal, unseal } from "../secrets/sealing.ts";
import { VaultError } from "../errors.ts";

/** A row with its columns, but for the number of its vault, which `service` and `uuid` name. */
export type ContentRow = Record<string, string | number | null>;

/** The tables that make up a state, in the order in which they are written. */
export const contentTables = [
  "vaults",
  "credentials",
  "exchanges",
  "superseded",
  "refusals",
  "journal",
  "breakers",
] as const;

export type ContentTable = (typeof contentTables)[number];

/**
 * What a state holds: all of it, or some of its vaults. Rows of a vault are in their order. Of the journal only the entries that
 * are sealed in part; entries that a change adds have no `seq`, and are appended. The `seq` of an exchange that is new here
 * means nothing: its place in the list counts.
 */
export type Contents = Record<ContentTable, ContentRow[]>;

export const nothing = (): Contents => ({
  vaults: [],
  credentials: [],
  exchanges: [],
  superseded: [],
  refusals: [],
  journal: [],
  breakers: [],
});

/** All rows of several contents. */
export function joined(parts: readonly Contents[]): Contents {
  const rows = (table: ContentTable): [ContentTable, ContentRow[]] => [
    table,
    parts.flatMap((part) => part[table]),
  ];
  return Object.fromEntries(contentTables.map(rows)) as Contents;
}

/** The columns that are sealed everywhere, each with the one that names a row of its vault. */
export const sealedColumns = [
  { column: "credentials.sealed", table: "credentials", value: "sealed", row: "generation" },
  { column: "exchanges.token", table: "exchanges", value: "token", row: "id" },
  { column: "exchanges.digest", table: "exchanges", value: "digest", row: "id" },
] as const;

/** Opens or seals one value. */
type Turn = (place: VaultPlace, value: string) => string;

/** What sealed values are bound to besides their row: the id of a shared state, which seals labels too. Nothing on one machine, and in backups. */
export type Sealing = Pick<VaultPlace, "state">;

/** @throws `state` for a value that none of the keys opens */
export function opened(
  contents: Contents,
  sealing: Sealing,
  keys: ReadonlyMap<string, SealingKey>,
): Contents {
  const open = turned(contents, sealing, (place, value) => {
    const key = keys.get(keyIdOf(value));
    if (key === undefined)
      throw new VaultError(
        "internal",
        `key ${keyIdOf(value)} of vault ${place.uuid} was not made ready`,
      );
    return unseal(key, place, value);
  });
  return { ...open, vaults: open.vaults.map(withoutDigest) };
}

function withoutDigest(row: ContentRow): ContentRow {
  const { labelDigest: _, ...rest } = row;
  return rest;
}

/** Also gives each label of a shared state the digest that makes it unique there. */
export function sealed(contents: Contents, sealing: Sealing, key: SealingKey): Contents {
  const { state } = sealing;
  const own = turned(contents, sealing, (place, value) => seal(key, place, value));
  if (state === undefined) return own;
  const digest = ({ label = null }: ContentRow): string | null =>
    label === null ? null : labelDigest(key, state, String(label));
  return {
    ...own,
    vaults: own.vaults.map((row, index) => ({
      ...row,
      labelDigest: digest(contents.vaults[index] ?? row),
    })),
  };
}

/** Ids of the keys of all sealed values, one for each value. */
function keyIdOfEach(contents: Contents, sealing: Sealing): string[] {
  const ids: string[] = [];
  turned(contents, sealing, (_, value) => {
    ids.push(keyIdOf(value));
    return value;
  });
  return ids;
}

/** Ids of the keys that open the sealed values. */
export const keyIdsOf = (contents: Contents, sealing: Sealing): string[] => [
  ...new Set(keyIdOfEach(contents, sealing)),
];

export const countSealed = (contents: Contents, sealing: Sealing): number =>
  keyIdOfEach(contents, sealing).length;

function turned(contents: Contents, { state }: Sealing, turn: Turn): Contents {
  const value = (
    row: ContentRow,
    column: VaultPlace["column"],
    name: string,
    id: unknown,
  ): ContentRow => {
    const text = row[name];
    if (typeof text !== "string") return row;
    return {
      ...row,
      [name]: turn(
        {
          state,
          service: String(row["service"]),
          uuid: String(row["uuid"]),
          column,
          row: String(id),
        },
        text,
      ),
    };
  };
  const sealsLabels = state !== undefined;
  const label = (row: ContentRow): ContentRow =>
    sealsLabels ? value(row, "vaults.label", "label", "") : row;
  const entry = (row: ContentRow): ContentRow => {
    if (row["event"] !== "labelled" || !sealsLabels) return row;
    const detail = JSON.parse(String(row["detail"])) as { label: string };
    return {
      ...row,
      detail: JSON.stringify({ ...detail, label: label({ ...row, label: detail.label })["label"] }),
    };
  };
  const after = {
    ...contents,
    vaults: contents.vaults.map(label),
    journal: contents.journal.map(entry),
  };
  for (const { column, table, value: name, row: id } of sealedColumns)
    after[table] = after[table].map((row) => value(row, column, name, row[id]));
  return after;
}
