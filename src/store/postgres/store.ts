import { randomUUID } from "node:crypto";
import type { Clock, Store, VaultSession, Waiting } from "../../exchange/ports.ts";
import type { CreatedVault, Creation, ErrorNote, ExchangeRecord, InterruptedCreation, VaultRecord } from "../../exchange/records.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { Keyring } from "../keys/keyring.ts";
import { creationEntry, dismissal, interruptedCreation } from "../journal/creations.ts";
import { append, completed, interruptedCreations } from "./journal.ts";
import { completeCreation } from "../steps/import.ts";
import type { ExchangeRow, Place } from "../steps/rows.ts";
import { isListed } from "../steps/rows.ts";
import { exchangeRecord, vaultRecord } from "../steps/vault-record.ts";
import type { Address } from "./address.ts";
import type { Row, Statement } from "./connection.ts";
import type { ServerFacts } from "./about.ts";
import { readAbout, readServer } from "./about.ts";
import { AnswerLost, codeOf, Connection } from "./connection.ts";
import { DatabaseClock } from "./database-clock.ts";
import type { Holder } from "./lease.ts";
import { holders, Lease } from "./lease.ts";
import type { StoredVault } from "./read-vaults.ts";
import { exchangesOf, lastReads, readVault, storedVault, vaultsWhere } from "./read-vaults.ts";
import { grants, tables } from "./schema.ts";
import { nextSlot, reserving } from "./limiter.ts";
import { PostgresVaultSession } from "./vault-session.ts";
import { statementsFor } from "./write-vault.ts";

export interface SharedStoreOptions {
  address: Address;
  keySource: KeySource;
  clock: Clock;
  holder: Holder;
  warn: (message: string) => void;
  /** The database's clock; by default estimated from its answers. */
  time?: Pick<DatabaseClock, "latencyMs" | "note" | "now" | "took">;
}

/** What the state says of itself. */
interface About {
  /** Its id. */
  state: string;
  key: SealingKey;
}

/**
 * The state of several machines, in a PostgreSQL. Reads nothing before the first call.
 * @throws `state` from every method if the database or the key cannot be used, or if nothing is there yet
 */
export class PostgresStore implements Store {
  readonly #options: SharedStoreOptions;
  readonly #schema: string;
  readonly #keyring: Keyring;
  readonly #time: Pick<DatabaseClock, "latencyMs" | "note" | "now" | "took">;
  #connection: Promise<Connection> | null = null;
  #about: Promise<About> | null = null;

  constructor(options: SharedStoreOptions) {
    this.#options = options;
    this.#schema = options.address.schema;
    this.#keyring = new Keyring(options.keySource, options.address.shown, options.warn);
    this.#time = options.time ?? new DatabaseClock(options.clock);
  }

  /**
   * Makes the schema, and the key if there is none; running it twice changes nothing. Gives a role, if one is named, the rights that
   * all other methods need.
   */
  async initialize(grant?: string): Promise<{ created: boolean; location: string; keyId: string }> {
    const connection = await this.#connect();
    const [there] = await connection.query({ sql: "SELECT to_regclass($1) AS meta", values: [`${this.#schema}.meta`] });
    const rights = grant === undefined ? [] : grants(this.#schema, grant);
    await connection.transact([{ sql: [...tables(this.#schema), ...rights].join(";\n") }]);
    const [needed] = await connection.query({ sql: `SELECT value FROM ${this.#schema}.meta WHERE name = 'key'` });
    const key = await this.#keyring.forSecret((needed?.["value"] as string | undefined) ?? null);
    await connection.query({ sql: `INSERT INTO ${this.#schema}.meta VALUES ('key', $1) ON CONFLICT DO NOTHING`, values: [key.id] });
    const known = await this.#known();
    return { created: there?.["meta"] === null, location: this.#options.address.shown, keyId: known.key.id };
  }

  /** Facts about the server, for `doctor`. */
  async inspect(): Promise<ServerFacts> {
    const { key } = await this.#known();
    return await readServer(await this.#connect(), this.#options.address, key.id);
  }

  /** Who holds which vault, in the order in which they took it. */
  async locks(): Promise<{ uuid: string; holder: Holder; since: string; endsAt: string }[]> {
    const rows = await this.#query(holders(this.#schema));
    return rows.map((row) => {
      const { uuid, holder, since, ends_at } = row as { uuid: string; holder: string; since: Date; ends_at: Date };
      const { host, pid, user } = JSON.parse(holder) as Holder;
      return { uuid, holder: { host, pid, user }, since: since.toISOString(), endsAt: ends_at.toISOString() };
    });
  }

  /** Closes the connection without waiting. */
  close(): void {
    void this.#connection?.then((connection) => connection.close()).catch(() => undefined);
  }

  async lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession> {
    const lower = uuid.toLowerCase();
    const connect = this.#connect;
    const { clock, holder } = this.#options;
    const place = { schema: this.#schema, clock, holder, connect };
    const reading = readVault(this.#schema, { service, uuid: lower, at: "" }, {});
    // At the same time, which saves a round trip.
    const [known, taken] = await Promise.allSettled([this.#known(), Lease.take(place, lower, waiting, reading)]);
    if (taken.status === "rejected") throw known.status === "rejected" ? known.reason : taken.reason;
    const [lease, [[row] = [], [outage] = []]] = taken.value;
    try {
      if (known.status === "rejected") throw known.reason;
      const { key, state } = known.value;
      const vault = storedVault(this.#place(known.value, service, lower), key, row, outage);
      const parts = { schema: this.#schema, state, lease, key, connect, now: () => this.#time.now() };
      return new PostgresVaultSession(service, lower, parts, vault);
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async list(): Promise<VaultRecord[]> {
    return await this.#vaults(isListed, []);
  }

  async find(uuid: string): Promise<VaultRecord[]> {
    return await this.#vaults("vaults.uuid = $1 AND forgotten = 0", [uuid.toLowerCase()]);
  }

  async lastReads(): ReturnType<Store["lastReads"]> {
    const rows = await this.#query(lastReads(this.#schema));
    return rows as Awaited<ReturnType<Store["lastReads"]>>;
  }

  async exchanges(service: string, uuid: string, limit: number): Promise<ExchangeRecord[]> {
    const rows = await this.#query(exchangesOf(this.#schema, service, uuid.toLowerCase(), limit));
    return (rows as unknown as ExchangeRow[]).map(exchangeRecord);
  }

  async beginCreation(creation: Creation): Promise<void> {
    await this.#known();
    await this.#query(append(this.#schema, creationEntry(creation, "creating", this.#now())));
  }

  async completeCreation(creation: Creation, vault: CreatedVault): ReturnType<Store["completeCreation"]> {
    const about = await this.#known();
    const { key } = about;
    const place = this.#place(about, creation.service, vault.uuid.toLowerCase());
    for (let tries = 5; ; tries -= 1) {
      const connection = await this.#connect();
      const [[row] = [], [outage] = []] = await connection.transact(readVault(this.#schema, place, { pairs: [vault.credentials] }));
      const { id, lastSeq, rows } = storedVault(place, key, row, outage);
      const after = structuredClone(rows);
      const result = completeCreation(after, key, creation, vault);
      const written = { schema: this.#schema, id: id ?? randomUUID(), lastSeq, key };
      try {
        await connection.transact(statementsFor(written, rows, after));
        return result;
      } catch (error) {
        // Somebody else was faster, or the answer was lost.
        if (tries <= 1 || (codeOf(error) !== "23505" && !(error instanceof AnswerLost))) throw error;
        if ((await this.#query(completed(this.#schema, creation))).length > 0) return result;
      }
    }
  }

  async failCreation(creation: Creation, outcome: "create-refused" | "create-unanswered", error: ErrorNote): Promise<void> {
    await this.#query(append(this.#schema, creationEntry(creation, outcome, this.#now(), error)));
  }

  async interruptedCreations(service: string): Promise<InterruptedCreation[]> {
    const rows = await this.#query(interruptedCreations(this.#schema, service));
    return rows.map((row) => interruptedCreation(service, row as Parameters<typeof interruptedCreation>[1]));
  }

  async dismissCreation(creation: InterruptedCreation): Promise<void> {
    await this.#query(append(this.#schema, dismissal(creation, this.#now())));
  }

  async reserveSlot(application: string, now: number, intervalMs: number, longestMs = Number.POSITIVE_INFINITY): Promise<number> {
    if (intervalMs === 0) return 0;
    const there = now + this.#time.now() - this.#options.clock.now();
    const [taken] = await this.#query(reserving(this.#schema, application, there, intervalMs, longestMs));
    const [row] = taken === undefined ? await this.#query(nextSlot(this.#schema, application)) : [taken];
    return Math.max(0, (row?.["slot"] as number) - there);
  }

  latencyMs(): number {
    return this.#time.latencyMs();
  }

  /** The connection, made anew where it has broken; one, whoever asks for it at the same time. */
  readonly #connect = async (): Promise<Connection> => {
    const current = (this.#connection ??= Connection.open(this.#options.address, this.#time.took));
    const connection = await current.catch((error: unknown) => {
      if (this.#connection === current) this.#connection = null;
      throw error;
    });
    if (connection.isUsable) return connection;
    if (this.#connection === current) this.#connection = null;
    return await this.#connect();
  };

  /** What the state says of itself, read once. */
  async #known(): Promise<About> {
    this.#about ??= this.#read();
    return await this.#about.catch((error: unknown) => {
      this.#about = null;
      throw error;
    });
  }

  async #read(): Promise<About> {
    const { address, clock } = this.#options;
    const connection = await this.#connect();
    const sentAt = clock.elapsed();
    const { now, state, keyId } = await readAbout(connection, address);
    this.#time.note(now, sentAt);
    await this.#keyring.ensure(keyId);
    return { state, key: await this.#keyring.key(keyId) };
  }

  #place({ state }: About, service: string, uuid: string): Place {
    return { state, service, uuid, at: this.#now() };
  }

  async #vaults(condition: string, values: readonly string[]): Promise<VaultRecord[]> {
    const [about, rows] = await Promise.all([this.#known(), this.#query(vaultsWhere(this.#schema, condition, values))]);
    return rows.flatMap((row) => {
      const { service, uuid } = row["vault"] as Place;
      const stored: StoredVault = storedVault(this.#place(about, service, uuid), about.key, row, undefined);
      return stored.rows.vault === null ? [] : [vaultRecord(stored.rows.vault, stored.rows)];
    });
  }

  #now(): string {
    return new Date(this.#time.now()).toISOString();
  }

  /** Runs a statement that does no harm when it is run twice: once more where the answer is lost. */
  async #query(statement: Statement): Promise<Row[]> {
    try {
      return await (await this.#connect()).query(statement);
    } catch (error) {
      if (!(error instanceof AnswerLost)) throw error;
      return await (await this.#connect()).query(statement);
    }
  }
}
