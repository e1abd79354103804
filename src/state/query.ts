import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** The first row of a query, in the shape that the schema gives it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a row has the shape that its query asks for
export function one<Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return db.prepare(sql).get(...values) as Row | undefined;
}

/** All rows of a query, in the shape that the schema gives them. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a row has the shape that its query asks for
export function all<Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] {
  return db.prepare(sql).all(...values) as Row[];
}

/** Runs a change and returns how many rows it touched. */
export function run(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): number {
  return Number(db.prepare(sql).run(...values).changes);
}
