import { openStates } from "../exchange/states.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import { labelDigest } from "../secrets/sealing.ts";
import { appending } from "./journal/journal.ts";
import type { StoredVault } from "./read-vaults.ts";
import type { Dialect, Statement, Value } from "./statement.ts";
import { quoted } from "./statement.ts";
import type { VaultRows } from "./steps/rows.ts";
import { copyOf, stored } from "./steps/rows.ts";
import { sealLabel } from "./steps/sealed.ts";

/** A step on the rows of a vault; `key` is the one that seals the state. */
export type Step<T> = (rows: VaultRows, key: () => SealingKey) => T;

/** What a step has done with the rows of a vault: nothing is written yet. */
export interface Made<T> {
  result: T;
  before: VaultRows;
  after: VaultRows;
}

/** Lets a step edit a copy of the rows. */
export function make<T>(before: VaultRows, step: Step<T>, key: () => SealingKey): Made<T> {
  const after = copyOf(before);
  return { result: step(after, key), before, after };
}

/** The vault once a step is written, under this id: what is forgotten is gone. */
export function afterStep({ after }: Made<unknown>, id: Value): StoredVault {
  const removed = after.vault?.forgotten === true ? { credentials: [], exchanges: [] } : {};
  return {
    id: after.vault === null ? null : id,
    rows: { ...after, ...removed, seen: null, journal: [] },
  };
}

/** The SQL for all that a step has changed in the rows of a vault, with the journal. Where labels are sealed they are wherever they are written. */
export function statementsFor(
  dialect: Dialect,
  id: Value,
  { before, after }: Made<unknown>,
  key: () => SealingKey,
): Statement[] {
  const { state, service, uuid } = after;
  const sealed = <T extends object>(columns: T): T =>
    state !== undefined && "label" in columns && typeof columns.label === "string"
      ? { ...columns, label: sealLabel(key(), { state, service, uuid }, columns.label) }
      : columns;
  const changed = changesOf(before, after).map((change) => {
    if (change.table !== "vaults" || state === undefined) return change;
    // The digest of a label makes it unique.
    const { label } = change.columns;
    if (label === undefined) return change;
    const digest = typeof label === "string" ? labelDigest(key(), state, label) : null;
    return {
      ...change,
      columns: { ...sealed(change.columns), labelDigest: digest },
    };
  });
  const entries = after.journal.map((entry) => ({
    at: after.at,
    service,
    uuid,
    ...entry,
    detail: { ...sealed(entry.detail), by: after.by },
  }));
  return [
    ...changed.map((change) => sqlOf(dialect, change, id)),
    ...entries.map((entry) => appending(dialect.prefix, entry)),
  ];
}

/** A change of one row of a vault, which its key names within its table; the row of the vault itself has none. */
interface Change {
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
function changesOf(before: VaultRows, after: VaultRows): Change[] {
  const vault = changesOfRows(
    "vaults",
    before.vault === null ? [] : [before.vault],
    after.vault === null ? [] : [after.vault],
  );
  return [
    ...vault,
    ...(after.vault?.forgotten === true ? allRemoved : changesOfParts(before, after)),
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
  const keyOf = (row: Row): Value => (keyed === undefined ? null : stored(row[keyed]));
  const former = new Map((before as readonly Row[]).map((row) => [keyOf(row), row]));
  const changes: Change[] = [];
  for (const row of after as readonly Row[]) {
    const name = keyOf(row);
    const old = former.get(name);
    former.delete(name);
    const differing = Object.keys(row).filter(
      (column) => column !== keyed && (old === undefined || isOther(old[column], row[column])),
    );
    if (old !== undefined && differing.length === 0) continue;
    const columns = Object.fromEntries(differing.map((column) => [column, stored(row[column])]));
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

type Row = Readonly<Record<string, unknown>>;

const isOther = (before: unknown, after: unknown): boolean =>
  before !== after && stored(before) !== stored(after);

/** The SQL of a change in a vault's rows. A row names its vault, but for that of the vault itself. */
function sqlOf(
  { prefix, nextSeq }: Dialect,
  { table, type, key, columns }: Change,
  vault: Value,
): Statement {
  const place: Change["key"] = table === "vaults" ? { id: vault } : { vault, ...key };
  const values: Value[] = [];
  const mark = (value: Value): string => `$${values.push(value)}`;
  const pairs = (row: Change["key"]): string[] =>
    Object.entries(row).map(([column, value]) => `${quoted(column)} = ${mark(value)}`);
  const name = `${prefix}${table}`;
  if (type === "insert") {
    const row = { ...place, ...columns };
    const marks = Object.values(row).map(mark);
    const isNumbered = table === "exchanges" && nextSeq !== undefined;
    return {
      sql: `INSERT INTO ${name} (${[...Object.keys(row).map(quoted), ...(isNumbered ? ["seq"] : [])].join(", ")})
        VALUES (${[...marks, ...(isNumbered ? [nextSeq] : [])].join(", ")})`,
      values,
    };
  }
  const head =
    type === "update" ? `UPDATE ${name} SET ${pairs(columns).join(", ")}` : `DELETE FROM ${name}`;
  return { sql: `${head} WHERE ${pairs(place).join(" AND ")}`, values };
}
