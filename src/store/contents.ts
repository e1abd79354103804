import { isDeepStrictEqual } from "node:util";
import { VaultError } from "../errors.ts";
import type { SealingKey, VaultPlace } from "../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../secrets/sealing.ts";

/** A row with its columns, but for the number of its vault, which `service` and `uuid` name. */
export type ContentRow = Record<string, string | number | null>;

/** The tables that make up a state, in the order in which they are written. */
export const contentTables = ["vaults", "credentials", "exchanges", "superseded", "refusals", "journal", "outages"] as const;

export type ContentTable = (typeof contentTables)[number];

/** All that a state holds. `seq` counts the exchanges of a vault, from 1; the journal is in its order. */
export type Contents = Record<ContentTable, ContentRow[]>;

/** Orders the rows of the tables that belong to vaults. */
const orders = { credentials: "generation", exchanges: "seq", superseded: "fingerprint", refusals: "combination" } as const;

export type PartTable = keyof typeof orders;

export const isPart = (table: ContentTable): table is PartTable => table in orders;

/** The SQL that reads a table in an order that both engines share. `binary` orders texts by their bytes. */
export function selectAll(table: ContentTable, schema: string, binary: string): string {
  if (table === "journal") return `SELECT at, service, uuid, exchange, event, detail FROM ${schema}journal ORDER BY seq`;
  if (table === "outages") return `SELECT service, since FROM ${schema}outages ORDER BY service ${binary}`;
  if (!isPart(table)) return `SELECT * FROM ${schema}vaults ORDER BY service ${binary}, uuid ${binary}`;
  const order = orders[table];
  const parts = `${schema}${table} JOIN ${schema}vaults ON vaults.id = vault`;
  return `SELECT service, uuid, ${table}.* FROM ${parts} ORDER BY service ${binary}, uuid ${binary}, ${order} ${/^[fc]/.test(order) ? binary : ""}`;
}

/** The contents, from the rows that `selectAll` returned. */
export function contentsOf(read: Record<ContentTable, readonly object[]>): Contents {
  const counts = new Map<string, number>();
  const numbered = (row: ContentRow): ContentRow => {
    const name = `${row["service"]} ${row["uuid"]}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return { ...row, seq: counts.get(name) ?? 0 };
  };
  const without = (column: string, row: object): ContentRow => Object.fromEntries(Object.entries(row).filter(([name]) => name !== column));
  const rows = (table: ContentTable): ContentRow[] => read[table].map((row) => without("vault", row));
  return {
    vaults: rows("vaults").map((row) => without("id", row)),
    credentials: rows("credentials"),
    exchanges: rows("exchanges").map(numbered),
    superseded: rows("superseded"),
    refusals: rows("refusals"),
    journal: rows("journal"),
    outages: rows("outages"),
  };
}

/** Opens or seals one value. */
type Turn = (place: VaultPlace, value: string) => string;

/** What sealed values are bound to besides their row; a shared state, which has an id, seals labels too. */
export type Sealing = Pick<VaultPlace, "state">;

/** The sealing of a state on one machine, and of backups. */
export const localSealing: Sealing = {};

/** @throws `state` for a value that none of the keys opens */
export function opened(contents: Contents, sealing: Sealing, keys: ReadonlyMap<string, SealingKey>): Contents {
  return turned(contents, sealing, (place, value) => {
    const key = keys.get(keyIdOf(value));
    if (key === undefined) throw new VaultError("internal", `key ${keyIdOf(value)} of vault ${place.uuid} was not made ready`);
    return unseal(key, place, value);
  });
}

export const sealed = (contents: Contents, sealing: Sealing, key: SealingKey): Contents =>
  turned(contents, sealing, (place, value) => seal(key, place, value));

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
export const keyIdsOf = (contents: Contents, sealing: Sealing): string[] => [...new Set(keyIdOfEach(contents, sealing))];

export const countSealed = (contents: Contents, sealing: Sealing): number => keyIdOfEach(contents, sealing).length;

function turned(contents: Contents, { state }: Sealing, turn: Turn): Contents {
  const value = (row: ContentRow, column: VaultPlace["column"], name: string, id: unknown): ContentRow => {
    const text = row[name];
    if (typeof text !== "string") return row;
    return { ...row, [name]: turn({ state, service: String(row["service"]), uuid: String(row["uuid"]), column, row: String(id) }, text) };
  };
  const isShared = state !== undefined;
  const label = (row: ContentRow): ContentRow => (isShared ? value(row, "vaults.label", "label", "") : row);
  const entry = (row: ContentRow): ContentRow => {
    if (row["event"] !== "labelled" || !isShared) return row;
    const detail = JSON.parse(String(row["detail"])) as { label: string };
    return { ...row, detail: JSON.stringify({ ...detail, label: label({ ...row, label: detail.label })["label"] }) };
  };
  return {
    ...contents,
    vaults: contents.vaults.map(label),
    credentials: contents.credentials.map((row) => value(row, "credentials.sealed", "sealed", row["generation"])),
    exchanges: contents.exchanges.map((row) =>
      value(value(row, "exchanges.token", "token", row["id"]), "exchanges.digest", "digest", row["id"]),
    ),
    journal: contents.journal.map(entry),
  };
}

/** @throws `state` if what was written differs from what was read */
export function checkSame(expected: Contents, found: Contents, place: string): void {
  for (const table of contentTables) {
    if (isDeepStrictEqual(expected[table], found[table])) continue;
    throw new VaultError("state", `what was written to ${place} cannot be read back (${table}); nothing else was changed`, {
      hint: "check the disk or the server, then run it again",
    });
  }
}
