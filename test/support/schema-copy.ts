import type { Postgres } from "./postgres.ts";

/** A column that numbers the rows of its table. */
interface Numbering {
  table: string;
  column: string;
}

/** The rows of a shared state in another schema, which has the same tables. */
export class SchemaCopy {
  readonly copy: string;
  readonly #schema: string;
  readonly #sql: Postgres["sql"];
  #tables: string[] = [];
  #numbers: Numbering[] = [];

  constructor(sql: Postgres["sql"], schema: string, copy: string) {
    this.copy = copy;
    this.#schema = schema;
    this.#sql = sql;
  }

  /** Copies the state as it is now; where its holders are dead, their leases are over. */
  async take(): Promise<void> {
    if (this.#tables.length === 0) await this.#begin();
    await this.#move(this.#schema, this.copy);
    await this.#sql(`UPDATE ${this.copy}.leases SET ends_at = '-infinity'`);
  }

  /** Makes the state what it was when the copy was taken. */
  async putBack(): Promise<void> {
    await this.#move(this.copy, this.#schema);
  }

  /** The row of identity stays where it is: a copy of it tells that it is one. */
  async #begin(): Promise<void> {
    const rows = await this.#sql(
      `SELECT table_name AS "table", (array_agg(column_name::text) FILTER (WHERE is_identity = 'YES'))[1] AS "column"
        FROM information_schema.columns WHERE table_schema = '${this.#schema}' AND table_name <> 'identity' GROUP BY table_name`,
    );
    this.#tables = rows.map(({ table }) => table as string);
    this.#numbers = rows.filter(({ column }) => column !== null) as unknown as Numbering[];
    const copies = this.#tables.map(
      (table) =>
        `CREATE TABLE IF NOT EXISTS ${this.copy}.${table} (LIKE ${this.#schema}.${table});`,
    );
    await this.#sql(`CREATE SCHEMA IF NOT EXISTS ${this.copy}; ${copies.join(" ")}`);
  }

  async #move(from: string, to: string): Promise<void> {
    const all = (command: (table: string) => string): string =>
      this.#tables.map((table) => `${command(table)};`).join(" ");
    const copied = all(
      (table) =>
        `INSERT INTO ${to}.${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${from}.${table}`,
    );
    const emptied = `TRUNCATE ${this.#tables.map((table) => `${to}.${table}`).join(", ")};`;
    const numbered = this.#numbers.map(
      ({ table, column }) =>
        `SELECT setval(pg_get_serial_sequence('${to}.${table}', '${column}'), (SELECT coalesce(max(${column}), 0) + 1 FROM ${to}.${table}));`,
    );
    await this.#sql(
      `BEGIN; SET CONSTRAINTS ALL DEFERRED; ${emptied} ${copied} ${numbered.join(" ")} COMMIT`,
    );
  }
}
