import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { marking, type Dialect, type Statement } from "../tables.ts";

/** Compiled statements of each connection: an exchange repeats the same few queries. */
const compiled = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A compiled statement of the connection. Each use runs it to its end, so that one is enough. */
function statement(db: DatabaseSync, sql: string): StatementSync {
  let known = compiled.get(db);
  if (known === undefined) compiled.set(db, (known = new Map<string, StatementSync>()));
  let found = known.get(sql);
  if (found === undefined) known.set(sql, (found = db.prepare(sql)));
  return found;
}

export const dialect: Dialect = {
  prefix: "",
  texts: (mark) => `SELECT value FROM json_each(${mark})`,
  list: (_, mark) => ({
    from: `(SELECT value AS item, key AS n FROM json_each(${mark}))`,
    column: (name) => `item ->> '${name}'`,
  }),
  open: "(SELECT 1)",
  moment: (now) => `SELECT ${now()} AS at`,
};

/** The first row of a query. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the query determines Row
export function one<Row>(
  db: DatabaseSync,
  sql: string,
  ...values: SQLInputValue[]
): Row | undefined {
  return statement(db, sql).get(...values) as Row | undefined;
}

/** A fact that the state has about itself. */
export const metaOf = (db: DatabaseSync, name: string): string | undefined =>
  one<{ value: string }>(db, "SELECT value FROM meta WHERE name = ?", name)?.value;

/** Id of the key that seals a database; null if it has none yet: it is named before sealing. */
export const keyIdIn = (db: DatabaseSync): string | null => metaOf(db, "key") ?? null;

export function noteMeta(db: DatabaseSync, name: string, value: string): void {
  rowsIn(db, marking("", name, value));
}

/** All rows of a query. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the query determines Row
export function all<Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  return statement(db, sql).all(...values) as Row[];
}

/** All rows of a statement that both engines know. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the query determines Row
export const rowsIn = <Row>(db: DatabaseSync, { sql, values = [] }: Statement): Row[] =>
  statement(db, sql).all(
    Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])),
  ) as Row[];
