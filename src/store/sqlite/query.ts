import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

/** What each connection has compiled: an exchange asks the same few questions again and again. */
const compiled = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A statement of the connection, compiled at its first use. Each use runs it to its end, so that one will do. */
function statement(db: DatabaseSync, sql: string): StatementSync {
  let known = compiled.get(db);
  if (known === undefined) compiled.set(db, (known = new Map<string, StatementSync>()));
  let found = known.get(sql);
  if (found === undefined) known.set(sql, (found = db.prepare(sql)));
  return found;
}

/** Names as a list in a query. */
export const listed = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(", ");

/** The first row of a query, in the shape that the schema gives it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a row has the shape that its query asks for
export function one<Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return statement(db, sql).get(...values) as Row | undefined;
}

/** All rows of a query, in the shape that the schema gives them. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a row has the shape that its query asks for
export function all<Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  return statement(db, sql).all(...values) as Row[];
}

/** Runs a change and returns how many rows it touched. */
export function run(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): number {
  return Number(statement(db, sql).run(...values).changes);
}
