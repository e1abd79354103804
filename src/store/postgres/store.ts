import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { Keyring } from "../../secrets/keys.ts";
import type { Lock } from "../../documents/state.ts";
import { pruning, type Dialect, type Statement } from "../tables.ts";
import { StoredState, type Created, type StoreOptions } from "../stored-state.ts";
import type { Durability, StoredVaultSession } from "../vault-session.ts";
import { parseAddress, passwordFromFile, type Address } from "./address.ts";
import { Database, type Row } from "./database.ts";
import { nothingThere } from "./errors.ts";
import { holders, lockIn, takingMs, transactAtGate, unlessLocked } from "./gate.ts";
import { LeasedVault } from "./leased-vault.ts";
import { aboutIn, aboutStatement, checkIncarnation, dialectOf, type About } from "./schema.ts";
import { Outbox, type Entry } from "./outbox.ts";
import type { PostgresWhole, SharedParts } from "./whole-state.ts";

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

  constructor(address: Address, given: StoreOptions) {
    super();
    const { keySource, clock, warn, waiting } = given;
    const { schema, shown } = address;
    this.shown = shown;
    this.dialect = dialectOf(schema);
    const keyring = new Keyring(keySource, shown, warn);
    const database = new Database(address, clock, waiting);
    const outbox = new Outbox({ ...given, keyring, shown });
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
    const { key } = await this.ready();
    const of = { service, uuid: uuid.toLowerCase() };
    const { session, facts, read } = await LeasedVault.take(this, of, waiting);
    try {
      session.learn(read);
      const found = await this.#checked(facts);
      if (found.isTakenOver || found.key.id !== key.id) {
        await session.release();
        await this.ready(true);
        return await this.lock(service, uuid, waiting, offers);
      }
      if (offers) await this.parts.outbox.offer(session, found.about);
      return session;
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  /**
   * Locks those of the vaults whose newest entry here the rows do not know, which adds it. What is
   * wrong with the `only` one that was asked for is thrown.
   */
  override async gather(signal: AbortSignal, only?: string): Promise<void> {
    const { clock, database, outbox, warn } = this.parts;
    const uuids = only === undefined ? outbox.vaults() : [only];
    if (uuids.every((uuid) => outbox.of(uuid).length === 0)) return;
    const { about } = await this.ready();
    const newest = uuids.flatMap((uuid) => outbox.newestFor(about, uuid) ?? []);
    const rows = await database.query(knownPrints(this.dialect, newest));
    const known = new Set(rows.map((row) => row["fingerprint"]));
    for (const entry of newest) {
      const service = known.has(entry.fingerprint) ? undefined : outbox.read(entry)?.service;
      if (service === undefined) continue;
      const waiting = { deadline: clock.elapsed(), signal };
      try {
        await (await this.lock(service, entry.uuid, waiting)).release();
      } catch (error) {
        if (!(error instanceof VaultError) || error.code === "interrupted") throw error;
        if (error.code === "busy") continue;
        if (only !== undefined) throw error;
        warn(error.message);
      }
    }
  }

  /** A vault that the state has lost may be kept here. */
  override async find(uuid: string): Promise<VaultRecord[]> {
    const found = await super.find(uuid);
    if (found.length > 0) return found;
    await this.gather(new AbortController().signal, uuid.toLowerCase());
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
    if (rows.length === 0) await this.ready(true);
    return rows;
  }

  async prepareKey(): Promise<SealingKey> {
    return (await this.ready()).key;
  }

  /** What the state says of itself, read once, or again. */
  async ready(isAgain = false): Promise<Ready> {
    const { database, schema } = this.parts;
    if (isAgain) this.#ready = null;
    this.#ready ??= database
      .query(aboutStatement(schema))
      .then(async ([row]) => await this.#checked(row));
    return await this.#ready.catch((error: unknown) => {
      this.#ready = null;
      throw error;
    });
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
    // Whoever was making it died before it had a key.
    if (about.key === null) throw nothingThere(database.address);
    return { about, key: await keyring.key(about.key), isTakenOver };
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
  options: StoreOptions,
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
