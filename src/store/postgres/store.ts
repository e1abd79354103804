import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { Keyring } from "../keyring.ts";
import type { Lock } from "../../documents/state.ts";
import { pruning, type Dialect, type Statement } from "../tables.ts";
import { StoredState, type Created, type StateParts } from "../stored-state.ts";
import type { Durability, StoredVaultSession } from "../vault-session.ts";
import { parseAddress, passwordFromFile, type Address } from "./address.ts";
import { Database, type Row } from "./database.ts";
import { holders, lockIn, takingMs, transactAtGate, unlessLocked } from "./gate.ts";
import { LeasedVault } from "./leased-vault.ts";
import { aboutIn, aboutStatement, checkIncarnation, dialectOf, type About } from "./schema.ts";
import { Outbox, type Entry, type Here } from "./outbox.ts";
import type { PostgresWhole, SharedParts } from "./whole-state.ts";

interface Options extends Omit<StateParts, "keyring"> {
  waiting?: Waiting;
}

interface Ready {
  about: About;
  key: SealingKey;
  isTakenOver: boolean;
}

/**
 * The state of several machines, in a PostgreSQL. Reads nothing before the first call.
 * @throws `state` in every method if database or key is unusable, nothing is there, or in a copy
 */
export class PostgresStore extends StoredState {
  readonly shown: string;
  readonly isShared = true;
  readonly isNew = false;
  readonly dialect: Dialect;
  readonly parts: SharedParts;
  /** What the database last said of its clock, and when, on `elapsed`. */
  #said: { now: number; at: number } | null = null;
  #ready: Promise<Ready> | null = null;

  constructor(address: Address, { waiting, ...given }: Options) {
    super();
    const { keySource, clock, warn, keys } = given;
    const { schema, shown } = address;
    this.shown = shown;
    this.dialect = dialectOf(schema);
    const keyring = new Keyring(keySource, shown, warn, keys);
    const database = new Database(address, clock, waiting);
    const outbox = new Outbox({ ...given, keyring });
    this.parts = { ...given, schema, database, keyring, outbox };
  }

  async create(grant?: string): Promise<Created> {
    return await (await this.whole()).create(grant);
  }

  async whole(): Promise<PostgresWhole> {
    return new (await import("./whole-state.ts")).PostgresWhole(this);
  }

  async locks(): Promise<Lock[]> {
    return (await this.parts.database.query(holders(this.parts.schema))).map(lockIn);
  }

  async lock(
    service: string,
    uuid: string,
    waiting: Waiting,
    offers = true,
  ): Promise<StoredVaultSession> {
    const { outbox } = this.parts;
    const lower = uuid.toLowerCase();
    const prints = outbox.of(lower).map(({ fingerprint }) => fingerprint);
    const { key, about } = await this.ready();
    const { dialect, breakersKnown: breakers } = this;
    const of = { dialect, breakers, key, state: about.state, service, uuid: lower };
    const now = (): number => this.now();
    const parts = { ...this.parts, ...of, now };
    const { session, rows, facts } = await LeasedVault.take(parts, waiting, prints);
    try {
      const found = await this.#checked(facts);
      if (found.isTakenOver || found.key.id !== key.id) {
        await session.release();
        await this.check();
        return await this.lock(service, uuid, waiting, offers);
      }
      if (offers) await outbox.offer(session, rows, this.#here(found));
      return session;
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  async gather(signal: AbortSignal): Promise<void> {
    const { outbox, warn } = this.parts;
    for (const entry of await this.#lost(outbox.vaults()))
      await this.#offer(entry, signal).catch((error: unknown) => {
        if (!(error instanceof VaultError) || error.code === "interrupted") throw error;
        warn(error.message);
      });
  }

  /** The newest entries of these vaults, as far as the rows know nothing of them. */
  async #lost(uuids: readonly string[]): Promise<Entry[]> {
    const { database, outbox } = this.parts;
    if (uuids.length === 0) return [];
    const here = this.#here(await this.ready());
    const newest = uuids.flatMap((uuid) => outbox.newestFor(here, uuid) ?? []);
    if (newest.length === 0) return [];
    const rows = await database.query(knownPrints(this.dialect, newest));
    const known = new Set(rows.map((row) => row["fingerprint"]));
    return newest.filter(({ fingerprint }) => !known.has(fingerprint));
  }

  readonly #here = ({ about }: Ready): Here => ({
    states: [about.state, ...about.predecessors],
    address: this.shown,
  });

  /** Whoever locks a vault adds what is kept of it. Passes over one that is in use. */
  async #offer(entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, outbox } = this.parts;
    const service = outbox.read(entry)?.service;
    if (service === undefined) return;
    try {
      await (await this.lock(service, entry.uuid, { deadline: clock.elapsed(), signal })).release();
    } catch (error) {
      if (!(error instanceof VaultError) || error.code !== "busy") throw error;
    }
  }

  /** A vault that the state has lost may be kept here. */
  override async find(uuid: string): Promise<VaultRecord[]> {
    const found = await super.find(uuid);
    const [entry] = found.length > 0 ? [] : await this.#lost([uuid.toLowerCase()]);
    if (entry === undefined) return found;
    await this.#offer(entry, new AbortController().signal);
    return await super.find(uuid);
  }

  /** What the database said when it was asked last, and the time since on the monotonic clock. */
  now(): number {
    const { clock } = this.parts;
    return this.#said === null ? clock.now() : this.#said.now + clock.elapsed() - this.#said.at;
  }

  protected async read(statement: Statement): Promise<unknown[]> {
    const [, rows] = await Promise.all([this.ready(), this.parts.database.query(statement)]);
    return rows;
  }

  protected async change(
    statements: () => readonly Statement[],
    durability: Durability,
  ): Promise<unknown[]> {
    const rows =
      durability === "unsynced"
        ? await this.parts.database.query(statements()[0] as Statement)
        : await transactAtGate(this.parts.database, statements());
    // Without a row it may not be used any more, and says why.
    if (rows.length === 0) await this.check();
    return rows;
  }

  protected async prepareCreation(): Promise<void> {
    await this.ready();
  }

  /** Looks again at what the state says of itself. */
  async check(): Promise<Ready> {
    this.#ready = null;
    return await this.ready();
  }

  /** What the state says of itself, read once. */
  async ready(): Promise<Ready> {
    this.#ready ??= this.#read();
    return await this.#ready.catch((error: unknown) => {
      this.#ready = null;
      throw error;
    });
  }

  async #read(): Promise<Ready> {
    const [row] = await this.parts.database.query(aboutStatement(this.parts.schema));
    return await this.#checked(row);
  }

  async #checked(row: Row | undefined): Promise<Ready> {
    const { database, keyring, clock, warn } = this.parts;
    const about = aboutIn(row, database.address);
    this.#said = { now: about.now, at: clock.elapsed() };
    const isTakenOver = await checkIncarnation(
      database.address,
      about,
      async (statement) => await transactAtGate(database, [statement]),
      warn,
    );
    const old = pruning(this.dialect.prefix, about.oldest, about.now);
    if (old.length > 0) await unlessLocked(database.transact(old, takingMs));
    return { about, key: await keyring.key(about.key ?? ""), isTakenOver };
  }
}

/** Which of these fingerprints are of credentials that are or were in the state. */
const knownPrints = ({ prefix, texts }: Dialect, kept: readonly Entry[]): Statement => ({
  sql: `SELECT value AS fingerprint FROM (${texts("$1")}) AS given WHERE
      EXISTS (SELECT FROM ${prefix}spent WHERE uuid IN (${texts("$2")}) AND fingerprint = given.value) OR
      EXISTS (SELECT FROM ${prefix}vaults WHERE uuid IN (${texts("$2")}) AND strpos(doc, given.value) > 0)`,
  values: [
    JSON.stringify(kept.map(({ fingerprint }) => fingerprint)),
    JSON.stringify(kept.map(({ uuid }) => uuid)),
  ],
});

/**
 * A shared state at `postgres://…`; `learnSecret` gets its password. Reads nothing until called.
 * @throws `usage` for an address that cannot be used
 */
export function openShared(
  location: string,
  env: Readonly<Record<string, string | undefined>>,
  learnSecret: (secret: string) => void,
  options: Options,
): PostgresStore {
  const address = parseAddress(location, env);
  if (address.password !== undefined) learnSecret(address.password);
  const findPassword: Address["findPassword"] = (at) => {
    const password = passwordFromFile(env["HOME"], { ...address, ...at }, options.warn);
    if (password !== undefined) learnSecret(password);
    return password;
  };
  const by = { ...options.by, role: address.user };
  return new PostgresStore({ ...address, findPassword }, { ...options, by });
}
