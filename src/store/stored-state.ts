import type { Actor } from "../actor.ts";
import type { Breaker, ServiceBreaker } from "../exchange/breaker.ts";
import { closed } from "../exchange/breaker.ts";
import type { Store } from "../exchange/ports.ts";
import type {
  Creation,
  ErrorNote,
  ExchangeRecord,
  InterruptedCreation,
  PastExchange,
  RunExchange,
  VaultRecord,
  VaultSummary,
} from "../exchange/records.ts";
import { keyIdOf } from "../secrets/sealing.ts";
import { allBreakers, breakerIn, breakerOf, replacing } from "./breakers.ts";
import type { JournalEntry } from "./journal/journal.ts";
import { appending } from "./journal/journal.ts";
import type { Entry } from "./journal/past.ts";
import { entriesOf, pastExchanges } from "./journal/past.ts";
import type { Keyring } from "./keys/keyring.ts";
import type { Labels } from "./read-vaults.ts";
import { exchangeRecord, recordsIn, summariesIn, summariesOf, vaultsWhere } from "./read-vaults.ts";
import type { Dialect, Statement } from "./statement.ts";
import { listed } from "./statement.ts";
import { isListed, exchangeRow } from "./steps/rows.ts";
import { openDigest } from "./steps/sealed.ts";
import type { Durability } from "./vault-session.ts";

/** What both engines do alike: plain queries, the journal of creations, breakers. */
export abstract class StoredState {
  /** What this process last saw of the breakers, by service. */
  protected readonly breakersKnown = new Map<string, Breaker>();

  protected abstract readonly dialect: Dialect;
  protected abstract readonly keyring: Keyring;
  /** This process. */
  protected abstract readonly by: Actor;
  /** Runs queries on one snapshot. No rows where there is no state yet, and none is made. */
  protected abstract read(statements: readonly Statement[]): Promise<unknown[][]>;
  /** What opens labels, where they are sealed. */
  protected abstract labels(): Promise<Labels | null>;
  /**
   * Writes without the lock of a vault, and returns rows; durable before that, and kept from operations on the whole state, unless it
   * is `unsynced`. Makes a state if there is none.
   */
  protected abstract change(statement: Statement, durability: Durability): Promise<unknown[]>;
  /** Makes sure that the key is there. */
  protected abstract prepareKey(): Promise<void>;
  abstract now(): number;

  async list(): Promise<VaultRecord[]> {
    return await this.#vaults(isListed, []);
  }

  async find(uuid: string): Promise<VaultRecord[]> {
    return await this.#vaults("vaults.uuid = $1 AND forgotten = 0", [uuid.toLowerCase()]);
  }

  async summaries(service: string): Promise<VaultSummary[]> {
    const [labels, results] = await Promise.all([
      this.labels(),
      this.read(summariesOf(this.dialect, service)),
    ]);
    return summariesIn(results, service, labels);
  }

  async run(service: string, name: string, uuid?: string): Promise<RunExchange[]> {
    const statement = runExchangesOf(this.dialect.prefix, service, name, uuid);
    const [labels, rows] = await Promise.all([this.labels(), this.#query(statement)]);
    return await Promise.all(
      (rows as RunExchange[]).map(async ({ digest, ...stored }) => {
        const row = { ...stored, delivered: Number(stored.delivered) === 1 };
        if (digest === null) return { ...row, digest };
        const place = { state: labels?.state, service, uuid: row.uuid };
        const key = await this.keyring.key(keyIdOf(digest));
        return { ...row, digest: openDigest(key, place, row.id, digest) };
      }),
    );
  }

  async lastReads(): ReturnType<Store["lastReads"]> {
    const rows = await this.#query(lastReads(this.dialect.prefix));
    return rows as Awaited<ReturnType<Store["lastReads"]>>;
  }

  async exchanges(service: string, uuid: string, limit: number): Promise<ExchangeRecord[]> {
    const statement = exchangesOf(this.dialect.prefix, service, uuid.toLowerCase(), limit);
    return ((await this.#query(statement)) as object[]).map((row) =>
      exchangeRecord(exchangeRow(row)),
    );
  }

  async past(...of: Parameters<Store["past"]>): Promise<PastExchange[]> {
    const [service, uuid, exchange] = of;
    const entries = await this.#query(entriesOf(this.dialect.prefix, service, uuid, exchange));
    return pastExchanges(entries as Entry[]);
  }

  async beginCreation(creation: Creation): Promise<void> {
    await this.prepareKey();
    await this.#append(creationEntry(creation, "creating", this.time()));
  }

  async failCreation(
    creation: Creation,
    outcome: "create-refused" | "create-unanswered",
    error: ErrorNote,
  ): Promise<void> {
    await this.#append(creationEntry(creation, outcome, this.time(), error));
  }

  async interruptedCreations(service: string): Promise<InterruptedCreation[]> {
    const rows = await this.#query(interruptedCreations(this.dialect.prefix, service));
    return (rows as CreatingRow[]).map((row) => interruptedCreation(service, row));
  }

  async dismissCreation(creation: InterruptedCreation): Promise<void> {
    await this.#append(dismissal(creation, this.time()));
  }

  breaker(service: string): ServiceBreaker {
    const { breakersKnown: known, dialect } = this;
    const note = (breaker: Breaker): Breaker => {
      known.set(service, breaker);
      return breaker;
    };
    return {
      get known() {
        return known.get(service) ?? closed;
      },
      now: () => Math.round(this.now()),
      read: async () => note(breakerIn(await this.#query(breakerOf(dialect.prefix, service)))),
      replace: async (before, next) => {
        const statement = replacing(dialect.prefix, service, before, next);
        const [done] = await this.change(statement, "unsynced");
        if (done !== undefined) note(next);
        return done !== undefined;
      },
    };
  }

  async breakers(): ReturnType<Store["breakers"]> {
    const rows = await this.#query(allBreakers(this.dialect.prefix));
    return (rows as Awaited<ReturnType<Store["breakers"]>>).toSorted((a, b) =>
      a.service < b.service ? -1 : 1,
    );
  }

  async #vaults(condition: string, values: readonly string[]): Promise<VaultRecord[]> {
    const [labels, results] = await Promise.all([
      this.labels(),
      this.read(vaultsWhere(this.dialect, condition, values)),
    ]);
    return recordsIn(results, this.time(), labels);
  }

  async #query(statement: Statement): Promise<unknown[]> {
    return (await this.read([statement]))[0] ?? [];
  }

  async #append(entry: JournalEntry): Promise<void> {
    const detail = { ...entry.detail, by: this.by };
    await this.change(appending(this.dialect.prefix, { ...entry, detail }), "synced");
  }

  /** The time for rows and entries, ISO 8601. */
  protected time(): string {
    return new Date(this.now()).toISOString();
  }
}

/** The start of the newest get of each vault whose contents arrived. */
const lastReads = (prefix: string): Statement => ({
  sql: `SELECT service, vaults.uuid, "startedAt" AS at
    FROM ${prefix}vaults JOIN ${prefix}exchanges ON exchanges.vault = vaults.id AND exchanges.seq = (
      SELECT seq FROM ${prefix}exchanges AS read
      WHERE read.vault = vaults.id AND operation = 'get' AND "newGeneration" IS NOT NULL AND adopted = 0
      ORDER BY seq DESC LIMIT 1)`,
});

/** Exchanges of a vault, newest first. */
const exchangesOf = (prefix: string, service: string, uuid: string, limit: number): Statement => ({
  sql: `SELECT exchanges.* FROM ${prefix}exchanges JOIN ${prefix}vaults ON vaults.id = exchanges.vault
    WHERE service = $1 AND vaults.uuid = $2 ORDER BY seq DESC LIMIT $3`,
  values: [service, uuid, limit],
});

/** The newest exchange in a run, of all vaults of a service or of one. */
const runExchangesOf = (
  prefix: string,
  service: string,
  name: string,
  uuid: string | undefined,
): Statement => ({
  sql: `SELECT vaults.uuid, exchanges.id, operation, state, delivered, digest, delivery FROM ${prefix}exchanges JOIN ${prefix}vaults ON vaults.id = exchanges.vault
    WHERE run = $1 AND service = $2 AND vaults.uuid = coalesce($3, vaults.uuid) AND seq = (
      SELECT max(seq) FROM ${prefix}exchanges AS newest WHERE newest.vault = vaults.id AND newest.run = exchanges.run)`,
  values: [name, service, uuid?.toLowerCase() ?? null],
});

type CreatingRow = Record<"exchange" | "at" | "detail", string>;

/** The `creating` entries of a service without an outcome, oldest first. */
const interruptedCreations = (prefix: string, service: string): Statement => ({
  sql: `SELECT exchange, at, detail FROM ${prefix}journal AS first WHERE service = $1 AND event = 'creating' AND NOT EXISTS (
    SELECT 1 FROM ${prefix}journal AS later WHERE later.exchange = first.exchange AND later.seq > first.seq
      AND later.event IN (${listed(creationOutcomes)})) ORDER BY seq`,
  values: [service],
});

/** A row if the creation was completed. */
export const completed = (prefix: string, { id }: Creation): Statement => ({
  sql: `SELECT 1 AS there FROM ${prefix}journal WHERE exchange = $1 AND event = 'created'`,
  values: [id],
});

/**
 * A vault that is being created has no uuid yet, and so neither a row nor a lock: the journal has an entry before the call, and one of
 * these for its outcome.
 */
const creationOutcomes = ["created", "create-refused", "create-unanswered", "create-told"] as const;

/** The entry before the call (`creating`), or the one for its outcome. */
function creationEntry(
  { id, service, kind, externalRef }: Creation,
  event: "creating" | "create-refused" | "create-unanswered",
  at: string,
  error?: ErrorNote,
): JournalEntry {
  return {
    at,
    service,
    uuid: "",
    exchange: id,
    event,
    detail: { kind, externalRef, ...(error && { error }) },
  };
}

/** The entry that says that the user was told of an interrupted creation. */
const dismissal = (
  { id, service, externalRef }: InterruptedCreation,
  at: string,
): JournalEntry => ({
  at,
  service,
  uuid: "",
  exchange: id,
  event: "create-told",
  detail: { externalRef },
});

/** An interrupted creation, from its `creating` entry. */
function interruptedCreation(service: string, row: CreatingRow): InterruptedCreation {
  const { kind, externalRef } = JSON.parse(row.detail) as Pick<Creation, "kind" | "externalRef">;
  return { id: row.exchange, service, kind, externalRef, startedAt: row.at };
}
