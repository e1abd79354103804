/** A value of a column: what SQLite and PostgreSQL both take. */
export type Value = string | number | null;

/** SQL with `$1`, `$2` … for its values. */
export interface Statement {
  sql: string;
  values?: readonly Value[];
}

/** Where statements that both engines know differ. */
export interface Dialect {
  /** In front of the name of a table. */
  readonly prefix: string;
  /** After the name of `credentials`, where only those that are kept are to be read. */
  readonly keptAlone: string;
  /** What the number of a new exchange is, where the engine does not make it itself: one more than the last of its vault, `$1`. */
  readonly nextSeq?: string;
  /** Reads all of several tables that `WITH …` defines: a statement for each, or one that returns each row as JSON with the number of its table. */
  readonly selectAll: (defined: string, tables: readonly string[]) => string[];
  /** Selects the texts in the JSON list that a mark stands for. */
  readonly texts: (mark: string) => string;
}

/** A column as SQL has it: columns are spelled as the fields of records, and PostgreSQL would fold them. */
export const quoted = (column: string): string => `"${column}"`;

/** Names as a list for `IN (…)`. Must be constants: nothing is escaped. */
export const listed = (names: readonly string[]): string =>
  names.map((name) => `'${name}'`).join(", ");
