import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { PostgresStore } from "../../src/store/postgres/store.ts";
import { SqliteWhole } from "../../src/store/sqlite/whole-state.ts";
import type { SqliteState } from "../../src/store/sqlite/store.ts";
import type { State } from "../../src/store/whole/stored-whole.ts";
import { tempDir } from "./cleanup.ts";
import { openLocalHere } from "./in-process.ts";
import { TestClock, type StoreFixture } from "../contract/store-fixture.ts";
import { postgres, type Postgres } from "./postgres.ts";
import type { VaultInput } from "../../src/sandbox/seeds.ts";
import { expectExit, firstGet, offlineNote, openLab, type Lab } from "./lab.ts";
import { copyKeys, type Machine } from "./machine.ts";

/** A shared state in a schema of its own, on a real server. */
export interface SharedState extends StoreFixture {
  store: PostgresStore;
  location: string;
  /**
   * The same state reached by another port, with another patience in milliseconds; by default the machine is one that has seen
   * nothing. But for leases and the rate limit, the database's clock is the test's.
   */
  through(port: number, patienceMs?: number, machine?: string): PostgresStore;
  /** Runs SQL; `schema` stands for the state's. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Ends its connections before the test has ended, where one makes many states. */
  dispose(): void;
}

/**
 * Names the standbys that each commit of a server waits for. Returns when commits do, or no longer do: one of its processes has to notice
 * it first.
 */
export async function setStandbys(sql: Postgres["sql"], names: string): Promise<void> {
  await sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await sql("SELECT pg_reload_conf()");
  const waits = async (): Promise<boolean> => {
    let [isOver, hasWaited] = [false, false];
    const commit = sql("SELECT pg_logical_emit_message(true, 'trial', '')").finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const canceled = await sql(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%trial%'",
      );
      hasWaited ||= canceled.length > 0;
    }
    await commit;
    return hasWaited;
  };
  await expect.poll(waits, { timeout: 20_000 }).toBe(names !== "");
}

let made = 0;

export async function sharedState(given?: Postgres): Promise<SharedState> {
  const server = given ?? (await postgres());
  const root = tempDir("shared");
  const clock = new TestClock("2026-11-21T10:00:00Z");
  const schema = `state_${(made += 1)}`;
  const location = server.location(schema);
  const keySource = { folder: join(root, "keys") };
  const stores: PostgresStore[] = [];
  const through: SharedState["through"] = (port, patienceMs, machine = String(stores.length)) => {
    const parsed = parseAddress(location.replace(`:${server.port}/`, `:${port}/`), {}, "postgres");
    const address = { ...parsed, patienceMs: patienceMs ?? parsed.patienceMs };
    const by = { host: "here", pid: stores.length, user: "tester" };
    const store = new PostgresStore(address, {
      keySource,
      clock,
      by,
      warn: () => undefined,
      directory: join(root, machine),
    });
    store.now = () => clock.now();
    stores.push(store);
    return store;
  };
  const store = through(server.port);
  await store.create();
  const dispose = (): void => {
    for (const each of stores.splice(0)) each.parts.database.close();
  };
  onTestFinished(dispose);
  return {
    store,
    clock,
    location,
    through,
    another: () => through(server.port),
    pass: async (ms) => {
      await server.sql(
        `UPDATE ${schema}.limiter SET next = next - ${ms}, "reservedAt" = "reservedAt" - ${ms}`,
      );
    },
    sql: async (text) => await server.sql(text.replaceAll("schema.", `${schema}.`)),
    dispose,
  };
}

/** A state in a folder of this machine that is not there yet, with the keys of a shared one: its place, and further processes that use it. */
export function localBeside({ store, clock }: Pick<SharedState, "store" | "clock">): {
  place: SqliteWhole;
  open: () => State;
} {
  const { keySource } = store.parts;
  const directory = join(tempDir("local"), "state");
  const open = (): SqliteState => openLocalHere({ directory, keySource, clock });
  return { place: new SqliteWhole(open()), open };
}

/** Closes the gate of a state, as a rekey of a colleague does, for so long from now on. */
export const closeGate = async (
  { sql }: Pick<SharedState, "sql">,
  until: string,
): Promise<unknown> =>
  await sql(`INSERT INTO schema.meta VALUES ('closing', 
    jsonb_build_object('token', '', 'until', now() + interval '${until}')::text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);

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
    await this.#sql(`UPDATE ${this.copy}.vaults SET ends_at = '-infinity'`);
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

/** The program leaves its connections to the end of its process. Where its commands run in this one, they are closed when a test is done with them. */
const clients = new Set<pg.Client>();
const prototype = pg.Client.prototype as unknown as { connect: (...given: unknown[]) => unknown };
const { connect } = prototype;
prototype.connect = function (this: pg.Client, ...given: unknown[]): unknown {
  clients.add(this);
  this.once("end", () => clients.delete(this));
  return connect.apply(this, given);
};

export async function closeConnections(): Promise<void> {
  await Promise.all([...clients].map(async (client) => await client.end()));
}

/** Closes the connections of this process, and waits until the server has done all that others have sent before they died. */
export async function disconnected(sql: Postgres["sql"]): Promise<void> {
  await closeConnections();
  const others =
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
  await expect
    .poll(async () => (await sql(others))[0]?.["n"], { interval: 5, timeout: 30_000 })
    .toBe(0);
}

/** Does what a hint says to a person who has not got the key of what a machine has kept. */
export function forgetKept(hint = ""): void {
  const [, folder = ""] = /move (\S+) elsewhere/.exec(hint) ?? [];
  rmSync(folder, { recursive: true });
}

export interface Team {
  lab: Lab;
  uuid: string;
  schema: string;
  /** The first one has read the vault once. */
  machines: readonly [Machine, Machine, Machine, Machine];
  /** A further machine with the same key, whose state is elsewhere. */
  another: (stateDir: string) => Machine;
  /** Runs SQL; `schema` stands for the state's. */
  sql: (text: string) => Promise<Record<string, unknown>[]>;
}

/** Four machines, each with a home of its own, one state and one key; the first has read the first vault. */
export async function team(
  server?: Postgres,
  env: Record<string, string> = {},
  seed: VaultInput[] = [offlineNote],
): Promise<Team> {
  const { location, sql } = server ?? (await postgres());
  const schema = `team_${(made += 1)}`;
  const lab = await openLab(seed);
  const first = lab.machine({ stateDir: location(schema), env });
  expectExit(await first.vault("state", "init"), 0);
  const another = (stateDir: string): Machine => {
    const machine = lab.machine({ stateDir, env });
    copyKeys(first, machine);
    return machine;
  };
  const others = [
    another(first.stateDir),
    another(first.stateDir),
    another(first.stateDir),
  ] as const;
  expectExit(await firstGet(first, lab.vault), 0);
  const own = async (text: string): Promise<Record<string, unknown>[]> =>
    await sql(text.replaceAll("schema.", `${schema}.`));
  return { lab, uuid: lab.vault.uuid, schema, machines: [first, ...others], another, sql: own };
}
