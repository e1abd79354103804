import { openStates } from "../../exchange/states.ts";
import type { VaultRows } from "./rows.ts";

/** A value of a column: what SQLite and PostgreSQL both take. */
export type Value = string | number | null;

/** SQL with `$1`, `$2` … for its values; a list is an array of texts, which only PostgreSQL takes. */
export interface Statement {
  sql: string;
  values?: readonly (Value | readonly string[])[];
}

/** A change of one row of a vault, which its key names within its table; the row of the vault itself has none. */
export interface Change {
  table: "vaults" | "credentials" | "exchanges" | "superseded" | "refusals";
  /** `delete` with an empty key removes all rows of the vault. */
  type: "insert" | "update" | "delete";
  key: Readonly<Record<string, Value>>;
  /** The columns besides the key: all of them in a new row, else those that differ. */
  columns: Readonly<Record<string, Value>>;
}

/**
 * What a step has changed in the rows of a vault, in the order in which it is to be written: only one pair is current and only one
 * exchange open, so the rows that take such a place are written last. Without the breaker and the journal.
 */
export function changesOf(before: VaultRows, after: VaultRows): Change[] {
  const vault = changesOfRows(
    "vaults",
    before.vault === null ? [] : [before.vault],
    after.vault === null ? [] : [after.vault],
  );
  return [
    ...vault,
    ...(after.vault?.forgotten === 1 ? allRemoved : changesOfParts(before, after)),
    ...changesOfPrints(before, after),
  ];
}

const allRemoved: Change[] = [
  { table: "credentials", type: "delete", key: {}, columns: {} },
  { table: "exchanges", type: "delete", key: {}, columns: {} },
];

function changesOfParts(before: VaultRows, after: VaultRows): Change[] {
  const credentials = takingLast(after.credentials, ({ standing }) => standing === "current");
  const exchanges = takingLast(after.exchanges, ({ state }) => openStates.includes(state));
  return [
    ...changesOfRows("credentials", before.credentials, credentials, "generation"),
    ...changesOfRows("exchanges", before.exchanges, exchanges, "id"),
  ];
}

const takingLast = <Row>(rows: readonly Row[], takes: (row: Row) => boolean): Row[] =>
  rows.toSorted((a, b) => Number(takes(a)) - Number(takes(b)));

function changesOfPrints(before: VaultRows, after: VaultRows): Change[] {
  const prints = (rows: VaultRows) => [...rows.superseded].map((fingerprint) => ({ fingerprint }));
  const refusals = (rows: VaultRows) =>
    [...rows.refusals].map(([combination, fingerprint]) => ({ combination, fingerprint }));
  return [
    ...changesOfRows("superseded", prints(before), prints(after), "fingerprint", "gone"),
    ...changesOfRows("refusals", refusals(before), refusals(after), "combination", "gone"),
  ];
}

/** Rows that `after` lacks were not read again and stay, unless they are `gone`. `keyed` is the column of the key. */
function changesOfRows(
  table: Change["table"],
  before: readonly object[],
  after: readonly object[],
  keyed?: string,
  missing: "stay" | "gone" = "stay",
): Change[] {
  const keyOf = (row: object): Value =>
    keyed === undefined ? null : ((row as Columns)[keyed] ?? null);
  const former = new Map(before.map((row) => [keyOf(row), row as Columns]));
  const changes: Change[] = [];
  for (const row of after as readonly Columns[]) {
    const name = keyOf(row);
    const old = former.get(name);
    former.delete(name);
    const differing = Object.keys(row).filter(
      (column) => column !== keyed && old?.[column] !== row[column],
    );
    if (old !== undefined && differing.length === 0) continue;
    const columns = Object.fromEntries(differing.map((column) => [column, row[column] ?? null]));
    changes.push({
      table,
      type: old === undefined ? "insert" : "update",
      key: keyed === undefined ? {} : { [keyed]: name },
      columns,
    });
  }
  if (missing === "gone" && keyed !== undefined) {
    for (const name of former.keys())
      changes.push({ table, type: "delete", key: { [keyed]: name }, columns: {} });
  }
  return changes;
}

type Columns = Readonly<Record<string, Value>>;

/**
 * The SQL of a change in a vault's rows, with its values in the order of the marks. A row names its vault, but for that of the vault
 * itself. `mark` gives the n-th placeholder, from 1, in the form of the engine.
 */
export function sqlOf(
  { table, type, key, columns }: Change,
  vault: Value,
  mark: (n: number) => string,
  schema = "",
): { sql: string; values: Value[] } {
  const place: Change["key"] = table === "vaults" ? { id: vault } : { vault, ...key };
  const values: Value[] = [];
  const marked = (value: Value): string => mark(values.push(value));
  const pairs = (row: Change["key"]): string[] =>
    Object.entries(row).map(([column, value]) => `${column} = ${marked(value)}`);
  const name = `${schema}${table}`;
  if (type === "insert") {
    const row = { ...place, ...columns };
    const marks = Object.values(row).map(marked).join(", ");
    return {
      sql: `INSERT INTO ${name} (${Object.keys(row).join(", ")}) VALUES (${marks})`,
      values,
    };
  }
  const head =
    type === "update" ? `UPDATE ${name} SET ${pairs(columns).join(", ")}` : `DELETE FROM ${name}`;
  return { sql: `${head} WHERE ${pairs(place).join(" AND ")}`, values };
}
