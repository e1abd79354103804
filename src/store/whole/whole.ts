import type { Waiting } from "../../exchange/ports.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { ContentRow, Contents, ContentTable, Sealing } from "../contents.ts";
import {
  contentTables,
  countSealed,
  joined,
  keyIdsOf,
  nothing,
  opened,
  sealed,
} from "../contents.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Dialect, Value } from "../statement.ts";
import { quoted } from "../statement.ts";
import { differences, isPart, keys, numbered } from "./differences.ts";
import type { Marks } from "./marks.ts";

/** Operations on a whole state. */
export type WholeOperation = "claim" | "move" | "rekey" | "restore";

/** A place where a state can be, on this machine or in a database. Its methods throw `state` if it cannot be used. */
export interface WholePlace {
  /** For messages and marks: a directory, or an address without its password. */
  readonly shown: string;
  /** Reads a snapshot while others go on; null if nothing is there. */
  read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T | null>;
  /**
   * Does the work in one transaction, after who uses a vault has ended. If it throws, nothing is changed. Nobody begins anything
   * meanwhile, and a stall of any length does no harm. Makes a local state if there is none.
   * @throws `busy`, `interrupted`; `state` for one that was moved, unless that is the operation's concern
   */
  transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T>;
}

/** What a state says of its moves; null if nothing is there. */
export const marksAt = async (place: WholePlace): Promise<Marks | null> =>
  await place.read(async ({ marks }) => await Promise.resolve(marks));

/** Rows, or vaults, that are read or written at a time. */
const batch = 200;

/** How an engine runs the SQL of an operation, in its transaction. `$1`, `$2` … stand for values. */
export interface Engine extends Pick<Dialect, "prefix"> {
  /** What an id is that the engine does not make itself, for the rows of vaults. */
  readonly newId?: string;
  query(sql: string, values?: readonly Value[]): Promise<ContentRow[]>;
  /** Whether labels are sealed, and values bound to the id of the state. */
  readonly isShared: boolean;
  /** Selects the ids in the JSON list `$1`. */
  readonly ids: string;
  /** A table of the JSON objects in the list `$1`, each as `item` with its place `n`, and the value of a column of the given table in it. */
  list(table: ContentTable): { from: string; column: (name: string) => string };
  /** Makes the state unusable for every program, or usable again. */
  setUsable(isUsable: boolean): Promise<void>;
}

/** Orders the rows of a vault. */
const orders = {
  credentials: "generation",
  exchanges: "seq",
  superseded: "fingerprint",
  refusals: "combination",
} as const;

/** A whole state as of one moment. Secrets are open. */
export class WholeReader {
  readonly marks: Marks;
  protected readonly engine: Engine;
  protected readonly sealing: Sealing;
  protected readonly keyring: Pick<Keyring, "key">;
  /** Rows with values that are sealed with several keys, or another one than the state's, with the ids. */
  protected readonly keyIds = new WeakMap<ContentRow, readonly string[]>();

  constructor(engine: Engine, marks: Marks, keyring: Pick<Keyring, "key">) {
    this.engine = engine;
    this.marks = marks;
    this.sealing = engine.isShared ? { state: marks.state } : {};
    this.keyring = keyring;
  }

  /** The key that seals it; null where it has none yet. @throws `state` if this machine lacks it */
  async key(): Promise<SealingKey | null> {
    const sql = `SELECT value FROM ${this.engine.prefix}meta WHERE name = 'key'`;
    const id = (await this.engine.query(sql))[0]?.["value"];
    return typeof id === "string" ? await this.keyring.key(id) : null;
  }

  /** Whether it has never held anything. */
  async isEmpty(): Promise<boolean> {
    const { engine } = this;
    const exists = (table: string): string => `EXISTS (SELECT 1 FROM ${engine.prefix}${table})`;
    const [row] = await engine.query(
      `SELECT CASE WHEN ${exists("vaults")} OR ${exists("journal")} THEN 0 ELSE 1 END AS empty`,
    );
    return row?.["empty"] === 1;
  }

  /** What it holds, at most 200 vaults at a time; what is not of a vault comes with the first ones. */
  async *parts(): AsyncGenerator<Contents> {
    const { engine } = this;
    const { prefix } = engine;
    let last: Value[] = ["", ""];
    for (let isFirst = true; ; isFirst = false) {
      const vaults = await engine.query(
        `SELECT * FROM ${prefix}vaults WHERE (service, uuid) > ($1, $2) ORDER BY service, uuid LIMIT ${batch}`,
        last,
      );
      const end = vaults.at(-1);
      if (end === undefined && !isFirst) return;
      const found: Contents = { ...nothing(), vaults: vaults.map((row) => without(row, "id")) };
      if (end !== undefined) {
        last = [end["service"] ?? "", end["uuid"] ?? ""];
        const ids = JSON.stringify(vaults.map((row) => row["id"]));
        for (const [table, order] of Object.entries(orders) as [keyof typeof orders, string][]) {
          const rows = await engine.query(
            `SELECT service, uuid, ${table}.* FROM ${prefix}${table} JOIN ${prefix}vaults ON vaults.id = vault
            WHERE vaults.id IN (${engine.ids}) ORDER BY service, uuid, ${order}`,
            [ids],
          );
          found[table] = rows.map((row) => without(row, "vault"));
        }
      }
      if (isFirst) {
        found.breakers = await engine.query(`SELECT * FROM ${prefix}breakers ORDER BY service`);
        if (this.sealing.state !== undefined)
          found.journal = await engine.query(
            `SELECT * FROM ${prefix}journal WHERE event = 'labelled' ORDER BY seq`,
          );
      }
      yield await this.#open(found);
      if (vaults.length < batch) return;
    }
  }

  /** The journal from its beginning, at most 200 entries at a time. */
  async *journal(): AsyncGenerator<ContentRow[]> {
    for (let last: Value = 0; ;) {
      const sql = `SELECT * FROM ${this.engine.prefix}journal WHERE seq > $1 ORDER BY seq LIMIT ${batch}`;
      const rows: ContentRow[] = await this.engine.query(sql, [last]);
      if (rows.length > 0) yield (await this.#open({ ...nothing(), journal: rows })).journal;
      if (rows.length < batch) return;
      last = rows.at(-1)?.["seq"] ?? 0;
    }
  }

  async #open(found: Contents): Promise<Contents> {
    const keys = new Map<string, SealingKey>();
    for (const id of keyIdsOf(found, this.sealing)) keys.set(id, await this.keyring.key(id));
    const open = opened(found, this.sealing, keys);
    for (const table of contentTables) {
      open[table].forEach((row, index) => {
        const one = { ...nothing(), [table]: [found[table][index] ?? row] };
        this.keyIds.set(row, keyIdsOf(one, this.sealing));
      });
    }
    return open;
  }
}

/** A whole state in the transaction of an operation: nobody else uses it meanwhile, and who did has lost it. */
export class Whole extends WholeReader {
  /** Id of the key that seals it, as of now; null if nothing is sealed. */
  readonly keyId: string | null;
  #ownKey: () => Promise<SealingKey>;
  /** The highest number of an exchange, once it is known. */
  #last: number | null = null;

  constructor(
    engine: Engine,
    marks: Marks,
    keyring: Pick<Keyring, "key">,
    keyId: string | null,
    ownKey: () => Promise<SealingKey>,
  ) {
    super(engine, marks, keyring);
    this.keyId = keyId;
    this.#ownKey = ownKey;
  }

  /**
   * Writes what differs, sealed with `key`, or with the key of the state: rows that are sealed with another one differ, too.
   * Returns the number of sealed values that were written.
   * @throws `state` if this machine lacks the key
   */
  async write(before: Contents, after: Contents, key?: SealingKey): Promise<number> {
    const { engine } = this;
    const { prefix } = engine;
    const own = key ?? (await this.#ownKey());
    // Nobody else adds any meanwhile.
    this.#last ??= Number(
      (await engine.query(`SELECT max(seq) AS seq FROM ${prefix}exchanges`))[0]?.["seq"] ?? 0,
    );
    const wanted = numbered(before, after, () => (this.#last = (this.#last ?? 0) + 1));
    const differing = differences(before, wanted, (row) =>
      (this.keyIds.get(row) ?? []).some((id) => id !== own.id),
    );
    for (const table of contentTables.toReversed())
      if (table !== "journal") await this.#remove(table, differing[table].removed);
    const put = Object.fromEntries(
      contentTables.map((table) => [table, differing[table].put]),
    ) as Contents;
    const resealed = sealed(put, this.sealing, own);
    for (const table of contentTables) await this.#put(table, resealed[table]);
    return countSealed(resealed, this.sealing);
  }

  /** Appends entries to the journal. */
  async append(entries: readonly ContentRow[]): Promise<void> {
    const key = await this.#ownKey();
    const own = sealed(
      { ...nothing(), journal: entries.map((row) => without(row, "seq")) },
      this.sealing,
      key,
    );
    await this.#put("journal", own.journal);
  }

  /** Appends an entry about the state itself. `now` is in milliseconds since the epoch. */
  async note(event: string, now: number, detail: Record<string, unknown>): Promise<void> {
    const at = new Date(now).toISOString();
    const about = { service: "", uuid: "", exchange: null };
    await this.append([{ at, ...about, event, detail: JSON.stringify(detail) }]);
  }

  /** Records marks; null removes one. A state that has a fence or was moved cannot be used. */
  async mark(marks: Partial<Omit<Marks, "state">>): Promise<void> {
    const now = { ...this.marks, ...marks };
    for (const [name, value] of Object.entries(marks)) {
      await this.#putMeta(name, value === null ? null : JSON.stringify(value));
    }
    const isUsable = ({ fence, moved }: Pick<Marks, "fence" | "moved">): boolean =>
      fence === null && moved === null;
    if (isUsable(now) !== isUsable(this.marks)) await this.engine.setUsable(isUsable(now));
    Object.assign(this.marks, now);
  }

  /** Names the key that seals what is written from then on, and who has it, as far as that is known. */
  async nameKey(key: SealingKey, keyed: string | null): Promise<void> {
    this.#ownKey = async () => await Promise.resolve(key);
    await this.#putMeta("key", key.id);
    await this.#putMeta("keyed", keyed);
  }

  async #putMeta(name: string, value: string | null): Promise<void> {
    const { prefix } = this.engine;
    if (value === null)
      await this.engine.query(`DELETE FROM ${prefix}meta WHERE name = $1`, [name]);
    else
      await this.engine.query(
        `INSERT INTO ${prefix}meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        [name, value],
      );
  }

  async #remove(table: ContentTable, rows: readonly ContentRow[]): Promise<void> {
    const { prefix } = this.engine;
    const { from, column } = this.engine.list(table);
    const given = (name: string): string => `item ->> '${name}'`;
    const columns = keys[table];
    const where = isPart(table)
      ? `(vault, ${columns.join(", ")}) IN (SELECT vaults.id, ${columns.map(column).join(", ")} FROM ${from} JOIN ${prefix}vaults
          ON vaults.service = ${given("service")} AND vaults.uuid = ${given("uuid")})`
      : table === "vaults"
        ? `(service, uuid) IN (SELECT ${given("service")}, ${given("uuid")} FROM ${from})`
        : `${columns[0] ?? ""} IN (SELECT ${column(columns[0] ?? "")} FROM ${from})`;
    for (const some of batches(rows))
      await this.engine.query(`DELETE FROM ${prefix}${table} WHERE ${where}`, [
        JSON.stringify(some),
      ]);
  }

  async #put(table: ContentTable, rows: readonly ContentRow[]): Promise<void> {
    const { prefix, newId } = this.engine;
    const { from, column } = this.engine.list(table);
    // Rows of another version may have other columns.
    for (const alike of Map.groupBy(rows, (row) => Object.keys(row).join()).values()) {
      const all = Object.keys(alike[0] ?? {});
      const own = isPart(table) ? all.filter((name) => name !== "service" && name !== "uuid") : all;
      const [ids, join, key] = isPart(table)
        ? [
            [["vault", "vaults.id"]],
            `JOIN ${prefix}vaults ON vaults.service = item ->> 'service' AND vaults.uuid = item ->> 'uuid'`,
            ["vault", ...keys[table]],
          ]
        : table === "vaults"
          ? [newId === undefined ? [] : [["id", newId]], "", ["service", "uuid"]]
          : [[], "", keys[table]];
      const set = own
        .filter((name) => !(key as string[]).includes(name))
        .map((name) => `${quoted(name)} = excluded.${quoted(name)}`);
      const then = set.length === 0 ? "NOTHING" : `UPDATE SET ${set.join(", ")}`;
      // What has a number in the journal is there already.
      const isNew = table === "journal" && !all.includes("seq");
      const sql =
        table === "journal" && !isNew
          ? `UPDATE ${prefix}journal SET detail = ${column("detail")} FROM ${from} WHERE journal.seq = ${column("seq")}`
          : `INSERT INTO ${prefix}${table} (${[...ids.map(([name]) => name), ...own.map(quoted)].join(", ")})
            SELECT ${[...ids.map(([, value]) => value), ...own.map(column)].join(", ")} FROM ${from} ${join} WHERE true ORDER BY n
            ${table === "journal" ? "" : `ON CONFLICT (${key.join(", ")}) DO ${then}`}`;
      for (const some of batches(alike)) await this.engine.query(sql, [JSON.stringify(some)]);
    }
  }
}

const without = (row: ContentRow, column: string): ContentRow =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name !== column));

function* batches(rows: readonly ContentRow[]): Generator<ContentRow[]> {
  for (let start = 0; start < rows.length; start += batch) yield rows.slice(start, start + batch);
}

/** All that a state holds, but for its journal. */
export async function readWhole(whole: WholeReader): Promise<Contents> {
  const parts = [];
  for await (const part of whole.parts()) parts.push(part);
  return joined(parts);
}
