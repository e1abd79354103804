import type { SealingKey } from "../../secrets/sealing.ts";
import { labelDigest, seal } from "../../secrets/sealing.ts";
import type { Change } from "../steps/changes.ts";
import { appending } from "../journal/journal.ts";
import { changesOf, sqlOf } from "../steps/changes.ts";
import type { VaultRows } from "../steps/rows.ts";
import { checkingBreaker } from "./breakers.ts";
import type { Statement } from "../steps/changes.ts";
import { labelPlace } from "./read-vaults.ts";

/** The vault that a step has changed. */
interface Written {
  schema: string;
  id: string;
  /** Of its newest exchange. */
  lastSeq: number;
  key: SealingKey;
}

/** The SQL for all that a step has changed in the rows of a vault, with the journal, if the breaker is as it was seen. A label is sealed wherever it is written. */
export function statementsFor(
  { schema, id, lastSeq, key }: Written,
  before: VaultRows,
  after: VaultRows,
): Statement[] {
  const { service = after.service } = after.vault ?? {};
  const moved =
    after.vault === null || service === before.service
      ? []
      : absorbed(schema, id, service, after.uuid);
  const sealed = <T extends object>(columns: T): T =>
    "label" in columns && typeof columns.label === "string"
      ? { ...columns, label: seal(key, labelPlace({ ...after, service }), columns.label) }
      : columns;
  let seq = lastSeq;
  const statement = (change: Change): Statement => sqlOf(change, id, (n) => `$${n}`, `${schema}.`);
  const changed = changesOf(before, after).map((change) => {
    if (change.table === "vaults") {
      const columns = withLabel(change, before, after);
      return statement({
        ...change,
        columns: { ...sealed(columns), ...digestOf(key, after, columns) },
      });
    }
    if (change.table !== "exchanges" || change.type !== "insert") return statement(change);
    seq += 1;
    return statement({ ...change, columns: { ...change.columns, seq } });
  });
  const entries = after.journal.map((entry) => ({
    at: after.at,
    service,
    uuid: after.uuid,
    ...entry,
    detail: sealed(entry.detail),
  }));
  const checked = after.seen === null ? [] : [checkingBreaker(schema, after.service, after.seen)];
  return [
    ...checked,
    ...moved,
    ...changed,
    ...entries.map((entry) => appending(`${schema}.`, entry)),
  ];
}

/** The column by which labels are unique, wherever a label is written. */
function digestOf(
  key: SealingKey,
  { state = "" }: VaultRows,
  columns: Change["columns"],
): Change["columns"] {
  if (!("label" in columns)) return {};
  const { label } = columns;
  return { label_digest: typeof label === "string" ? labelDigest(key, state, label) : null };
}

/** The columns of a vault that changed; its label is bound to its service. */
function withLabel(
  { columns }: Change,
  before: VaultRows,
  { vault }: VaultRows,
): Change["columns"] {
  return vault === null || vault.service === before.service
    ? columns
    : { ...columns, label: vault.label };
}

/** Takes over what a forgotten vault left at the service that this vault moves to: refusals and superseded pairs. */
function absorbed(schema: string, id: string, service: string, uuid: string): Statement[] {
  const here = `(SELECT id FROM ${schema}.vaults WHERE service = $1 AND uuid = $2)`;
  const values = [service, uuid];
  const move = (table: string, columns: string): Statement[] => [
    {
      sql: `INSERT INTO ${schema}.${table} (vault, ${columns}) SELECT $3, ${columns} FROM ${schema}.${table} WHERE vault = ${here}
        ON CONFLICT DO NOTHING`,
      values: [...values, id],
    },
    { sql: `DELETE FROM ${schema}.${table} WHERE vault = ${here}`, values },
  ];
  return [
    ...move("superseded", "fingerprint"),
    ...move("refusals", "combination, fingerprint"),
    { sql: `DELETE FROM ${schema}.vaults WHERE service = $1 AND uuid = $2`, values },
  ];
}
