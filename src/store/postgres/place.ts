import type { Waiting } from "../../exchange/ports.ts";
import type { ContentRow } from "../contents.ts";
import { marksIn, notHere } from "../whole/marks.ts";
import type { Engine } from "../whole/open-whole.ts";
import { OpenReader, OpenWhole } from "../whole/open-whole.ts";
import type { Whole, WholeOperation, WholePlace, WholeReader } from "../whole/whole.ts";
import { aboutStatement, checkVersion, metaStatement, readMeta } from "./about.ts";
import type { Row, Statement } from "./connection.ts";
import { Connection } from "./connection.ts";
import { transactWhole } from "./gate.ts";
import { copied } from "./incarnation.ts";
import { oldestVersion, unusableVersion } from "./schema.ts";
import type { PostgresStore } from "./store.ts";

/** Runs SQL in the transaction of an operation. */
export type Query = (statement: Statement) => Promise<Row[]>;

/** The database of a shared state, as a place of whole states. */
export class DatabasePlace implements WholePlace {
  readonly shown: string;
  readonly #store: PostgresStore;

  constructor(store: PostgresStore) {
    this.shown = store.parts.database.address.shown;
    this.#store = store;
  }

  async read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T> {
    const { database, keyring, schema } = this.#store.parts;
    const connection = await Connection.open(database.address);
    try {
      return await connection.converse("REPEATABLE READ READ ONLY", async (query) => {
        const [row] = await query(metaStatement(schema));
        const marks = marksIn(row?.["meta"] as Record<string, string>);
        return await work(
          new OpenReader(engineOf(schema, query), marks, { state: marks.state }, keyring),
        );
      });
    } finally {
      connection.close();
    }
  }

  async transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T> {
    return await this.change(operation, waiting, work);
  }

  /** As `transact`, with what else runs SQL in the transaction. */
  async change<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole, query: Query) => Promise<T>,
  ): Promise<T> {
    const { database, keyring, schema } = this.#store.parts;
    const { address } = database;
    const { fence, moved } = marksIn(await readMeta(this.#store.parts));
    const isUnused = fence !== null || moved !== null;
    // What is not used any more is not checked any more; a copy is what may be claimed.
    if (operation !== "claim" && !(operation === "move" && isUnused)) await this.#store.ready();
    return await transactWhole(this.#store.parts, operation, waiting, async (query) => {
      const [about] = await query(aboutStatement(schema));
      const meta = about?.["meta"] as Record<string, string>;
      const marks = marksIn(meta);
      if (marks.fence === null && marks.moved === null) checkVersion(meta, address);
      else if (operation !== "claim" && operation !== "move") throw notHere(this.shown, marks);
      if (operation !== "claim" && about?.["original"] !== true)
        throw copied(address, "it was made on another server or in another database");
      const { key = "" } = meta;
      const whole = new OpenWhole(
        engineOf(schema, query),
        marks,
        { state: marks.state },
        keyring,
        key,
        async () => await keyring.key(key),
      );
      return await work(whole, query);
    });
  }
}

const engineOf = (schema: string, query: Query): Engine => ({
  schema: `${schema}.`,
  newId: "gen_random_uuid()",
  ids: "SELECT value::uuid FROM jsonb_array_elements_text($1::jsonb)",
  query: async (sql, values = []) => (await query({ sql, values })) as ContentRow[],
  list: (table) => ({
    from: `jsonb_array_elements($1::jsonb) WITH ORDINALITY AS list (item, n)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::${schema}.${table}, item) AS made`,
    column: (name) => `made.${name}`,
  }),
  setUsable: async (isUsable) => {
    await query({
      sql: `UPDATE ${schema}.state SET usable = $1::boolean`,
      values: [String(isUsable)],
    });
    const oldest = String(isUsable ? oldestVersion : unusableVersion);
    await query({
      sql: `UPDATE ${schema}.meta SET value = $1 WHERE name = 'oldest'`,
      values: [oldest],
    });
  },
});
