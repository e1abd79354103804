import { unseal, type SealingKey, type VaultPlace } from "../../secrets/sealing.ts";
import { columns, mapSealed, resealing, type VaultColumns } from "../document.ts";
import type { Keyring } from "../../secrets/keys.ts";
import type { Dialect, Row, Statement, Table, Value } from "../tables.ts";
import { appendingAlone, inserting, keys, marking } from "../tables.ts";
import type { Owner } from "../steps/rows.ts";
import type { Marks } from "./marks.ts";

/** Operations on a whole state. */
export type WholeOperation = "claim" | "move" | "rekey";

/** Rows that are read at a time. */
const batch = 200;

/**
 * The longest statement that writes several rows, in characters: it leaves a process in one piece,
 * so that a server waiting for the rest of a transaction notices a stalled process.
 */
const statementLength = 60_000;

export const tables = Object.keys(keys) as readonly Table[];

/** Vaults that are known. Others have a row for a lease alone. */
const isThere = "status <> 'absent'";

/** How an engine runs the SQL of an operation, in its transaction. */
export interface Engine extends Dialect {
  query(statement: Statement): Promise<Row[]>;
}

/** A whole state as of one moment. */
export class WholeReader {
  readonly marks: Marks;
  protected readonly engine: Engine;
  readonly keyring: Pick<Keyring, "key">;

  constructor(engine: Engine, marks: Marks, keyring: Pick<Keyring, "key">) {
    this.engine = engine;
    this.marks = marks;
    this.keyring = keyring;
  }

  /** The key that seals it; null if it has none yet. @throws `state` if this machine lacks it */
  async key(): Promise<SealingKey | null> {
    const { key } = this.marks;
    return key === null ? null : await this.keyring.key(key);
  }

  /** Opens every sealed value and returns their number. @throws `state` if one does not open */
  async openAll(): Promise<number> {
    let opened = 0;
    const key = await this.key();
    const open = (place: VaultPlace, value: string): string => {
      unseal(key, place, value);
      opened += 1;
      return value;
    };
    for await (const _ of this.mapped(open));
    return opened;
  }

  /** The tables with sealed values, with what `by` makes of each. */
  protected async *mapped(
    by: (place: VaultPlace, value: string) => string,
  ): AsyncGenerator<[Table, Row[]]> {
    for (const table of ["vaults", "runs"] as const)
      for await (const rows of this.rows(table))
        yield [table, rows.map((row) => mapSealed(row as never, by))];
  }

  /** Whether it has never held anything. */
  async isEmpty(): Promise<boolean> {
    const { engine } = this;
    const exists = (table: string): string => `EXISTS (SELECT 1 FROM ${engine.prefix}${table})`;
    const sql = `SELECT CASE WHEN ${exists(`vaults WHERE ${isThere}`)} OR ${exists("journal")} THEN 0 ELSE 1 END AS empty`;
    const [row] = await engine.query({ sql });
    return row?.["empty"] === 1;
  }

  /** The rows of a table in their order, at most 200 at a time. */
  async *rows(table: Table): AsyncGenerator<Row[]> {
    const key = keys[table];
    const [of, where] = table === "vaults" ? [columns, isThere] : ["*", "true"];
    const from = `FROM ${this.engine.prefix}${table} WHERE ${where}`;
    const marks = key.map((_, index) => `$${index + 1}`).join(", ");
    for (let last: Value[] | null = null; ;) {
      const after: string = last === null ? "" : `AND (${key.join(", ")}) > (${marks})`;
      const sql = `SELECT ${of} ${from} ${after} ORDER BY ${key.join(", ")} LIMIT ${batch}`;
      const rows: Row[] = await this.engine.query({ sql, values: last ?? [] });
      if (rows.length > 0) yield rows;
      if (rows.length < batch) return;
      last = key.map((column) => rows.at(-1)?.[column] ?? null);
    }
  }

  async *vaults(): AsyncGenerator<VaultColumns> {
    for await (const rows of this.rows("vaults")) yield* rows as unknown as VaultColumns[];
  }

  /** The fingerprints of a vault's pairs that were ever superseded. */
  async spent({ service, uuid }: Owner): Promise<string[]> {
    const sql = `SELECT fingerprint FROM ${this.engine.prefix}spent WHERE service = $1 AND uuid = $2`;
    return await this.#texts({ sql, values: [service, uuid] });
  }

  /** Which of these exchanges the journal has. */
  async exchangesAmong(ids: readonly string[]): Promise<string[]> {
    const { prefix, texts } = this.engine;
    const sql = `SELECT DISTINCT exchange FROM ${prefix}journal WHERE exchange IN (${texts("$1")})`;
    return await this.#texts({ sql, values: [JSON.stringify(ids)] });
  }

  async #texts(statement: Statement): Promise<string[]> {
    return (await this.engine.query(statement)).flatMap((row) => Object.values(row).map(String));
  }
}

/** A whole state in an operation's transaction: nobody else uses it, and who did has lost it. */
export class Whole extends WholeReader {
  /** Takes in tables of another state, with its key's id. Returns the number of known vaults. */
  async takeAll(source: WholeReader, of = tables): Promise<number> {
    const { key } = source.marks;
    if (key !== null) await this.mark({ key });
    let known = 0;
    for (const table of of)
      for await (const rows of source.rows(table)) {
        await this.put(table, rows);
        if (table === "vaults")
          known += rows.filter(({ status }) => status === "open" || status === "closed").length;
      }
    return known;
  }

  /** Reseals all. @throws `state` for a value that does not open */
  async reseal(to: SealingKey): Promise<void> {
    const anew = this.mapped(resealing(await this.key(), to));
    for await (const [table, rows] of anew) await this.put(table, rows);
  }

  /** Adds rows, or puts them in the place of those with their key. */
  async put(table: Table, rows: readonly object[]): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const lists: string[][] = [];
    let left = 0;
    for (const row of rows) {
      const item = JSON.stringify(row);
      left -= item.length;
      if (left < 0) {
        lists.push([]);
        left = statementLength - item.length;
      }
      lists.at(-1)?.push(item);
    }
    const sql = inserting(this.engine, table, Object.keys(first), "$1");
    for (const list of lists) await this.engine.query({ sql, values: [`[${list.join(",")}]`] });
  }

  /** Appends an entry about the state itself. */
  async note(entry: Parameters<typeof appendingAlone>[1]): Promise<void> {
    await this.engine.query(appendingAlone(this.engine, entry));
  }

  /** Records marks; null removes one. A state that has a fence or was moved cannot be used. */
  async mark(marks: Partial<Marks>): Promise<void> {
    const { prefix } = this.engine;
    for (const [name, value] of Object.entries(marks))
      await this.engine.query(
        value === null
          ? { sql: `DELETE FROM ${prefix}meta WHERE name = $1`, values: [name] }
          : marking(prefix, name, typeof value === "string" ? value : JSON.stringify(value)),
      );
    Object.assign(this.marks, marks);
  }
}
