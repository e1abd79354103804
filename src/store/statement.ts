/** A value of a column: what SQLite and PostgreSQL both take. */
export type Value = string | number | null;

/** SQL with `$1`, `$2` … for its values. */
export interface Statement {
  sql: string;
  values?: readonly Value[];
}

/** Adds a value to those of a statement, and returns its mark. */
export type Put = (value: Value) => string;

/** A statement that is written with the marks of its values. */
export function written(write: (put: Put) => string): Required<Statement> {
  const values: Value[] = [];
  const sql = write((value) => `$${values.push(value)}`);
  return { sql, values };
}

/** Where statements that both engines know differ. */
export interface Dialect {
  /** In front of the name of a table. */
  readonly prefix: string;
  /** Selects the texts (as `value`) in the JSON list that a mark stands for. */
  readonly texts: (mark: string) => string;
  /** In FROM: one row for a writer without the lock of a vault; in a state that is not used any more, none. */
  readonly open: string;
}

/** A column as SQL has it: columns are spelled as the fields of records, and PostgreSQL would fold them. */
export const quoted = (column: string): string => `"${column}"`;

/** Names as a list for `IN (…)`. Must be constants: nothing is escaped. */
export const listed = (names: readonly string[]): string =>
  names.map((name) => `'${name}'`).join(", ");
