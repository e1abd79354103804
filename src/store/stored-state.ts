import type { Breaker, ServiceBreaker } from "../exchange/breaker.ts";
import type { Store } from "../exchange/ports.ts";
import type {
  Creation,
  ErrorNote,
  ExchangeRecord,
  InterruptedCreation,
} from "../exchange/records.ts";
import type { BreakerRow } from "./breakers.ts";
import { allBreakers, breakerIn, breakerOf, KnownBreakers, storedBreaker } from "./breakers.ts";
import type { JournalEntry } from "./journal/journal.ts";
import type { ExchangeRow } from "./steps/rows.ts";
import { exchangeRecord } from "./steps/vault-record.ts";
import type { Statement } from "./steps/changes.ts";

/** What both engines do alike: plain queries, the journal of creations, breakers. */
export abstract class StoredState {
  /** What this process knows of the breakers. */
  protected readonly breakersKnown = new KnownBreakers();

  /** In front of the name of a table. */
  protected abstract readonly prefix: string;
  /** No rows where there is no state yet, and none is made. */
  protected abstract query(statement: Statement): Promise<unknown[]>;
  /** Appends to the journal without the lock of a vault; durable before it returns. Makes a state if there is none. */
  protected abstract append(entry: JournalEntry): Promise<void>;
  /** Makes sure that the key is there. */
  protected abstract prepareKey(): Promise<void>;
  /** As `ServiceBreaker.change`. */
  protected abstract changeBreaker(
    service: string,
    change: (breaker: Breaker) => Breaker,
  ): Promise<Breaker>;
  abstract now(): number;

  async lastReads(): ReturnType<Store["lastReads"]> {
    const rows = await this.query(lastReads(this.prefix));
    return rows as Awaited<ReturnType<Store["lastReads"]>>;
  }

  async exchanges(service: string, uuid: string, limit: number): Promise<ExchangeRecord[]> {
    const rows = await this.query(exchangesOf(this.prefix, service, uuid.toLowerCase(), limit));
    return (rows as ExchangeRow[]).map(exchangeRecord);
  }

  async beginCreation(creation: Creation): Promise<void> {
    await this.prepareKey();
    await this.append(creationEntry(creation, "creating", this.time()));
  }

  async failCreation(
    creation: Creation,
    outcome: "create-refused" | "create-unanswered",
    error: ErrorNote,
  ): Promise<void> {
    await this.append(creationEntry(creation, outcome, this.time(), error));
  }

  async interruptedCreations(service: string): Promise<InterruptedCreation[]> {
    const rows = await this.query(interruptedCreations(this.prefix, service));
    return (rows as CreatingRow[]).map((row) => interruptedCreation(service, row));
  }

  async dismissCreation(creation: InterruptedCreation): Promise<void> {
    await this.append(dismissal(creation, this.time()));
  }

  breaker(service: string): ServiceBreaker {
    return storedBreaker(this.breakersKnown, service, {
      now: () => this.now(),
      read: async () => {
        const [row] = await this.query(breakerOf(this.prefix, service));
        return breakerIn(row as BreakerRow | undefined);
      },
      change: async (change) => await this.changeBreaker(service, change),
    });
  }

  async breakers(): ReturnType<Store["breakers"]> {
    const rows = (await this.query(allBreakers(this.prefix))) as BreakerRow[];
    return rows
      .map((row) => ({ ...breakerIn(row), service: row.service }))
      .toSorted((a, b) => (a.service < b.service ? -1 : 1));
  }

  /** The time for rows and entries, ISO 8601. */
  protected time(): string {
    return new Date(this.now()).toISOString();
  }
}

/** The start of the newest get of each vault whose contents arrived. */
const lastReads = (prefix: string): Statement => ({
  sql: `SELECT service, vaults.uuid, started_at AS at
    FROM ${prefix}vaults JOIN ${prefix}exchanges ON exchanges.vault = vaults.id AND exchanges.seq = (
      SELECT seq FROM ${prefix}exchanges AS read
      WHERE read.vault = vaults.id AND operation = 'get' AND new_generation IS NOT NULL AND adopted = 0
      ORDER BY seq DESC LIMIT 1)`,
});

/** Exchanges of a vault, newest first. */
const exchangesOf = (prefix: string, service: string, uuid: string, limit: number): Statement => ({
  sql: `SELECT exchanges.* FROM ${prefix}exchanges JOIN ${prefix}vaults ON vaults.id = exchanges.vault
    WHERE service = $1 AND vaults.uuid = $2 ORDER BY seq DESC LIMIT $3`,
  values: [service, uuid, limit],
});

/** The newest exchange in a run, of all vaults of a service or of one. */
export const runExchangesOf = (
  prefix: string,
  service: string,
  name: string,
  uuid: string | undefined,
): Statement => ({
  sql: `SELECT vaults.uuid, exchanges.* FROM ${prefix}exchanges JOIN ${prefix}vaults ON vaults.id = exchanges.vault
    WHERE run = $1 AND service = $2 AND vaults.uuid = coalesce($3, vaults.uuid) AND seq = (
      SELECT max(seq) FROM ${prefix}exchanges AS newest WHERE newest.vault = vaults.id AND newest.run = exchanges.run)`,
  values: [name, service, uuid?.toLowerCase() ?? null],
});

type CreatingRow = Record<"exchange" | "at" | "detail", string>;

/** The `creating` entries of a service without an outcome, oldest first. */
const interruptedCreations = (prefix: string, service: string): Statement => ({
  sql: `SELECT exchange, at, detail FROM ${prefix}journal AS first WHERE service = $1 AND event = 'creating' AND NOT EXISTS (
    SELECT 1 FROM ${prefix}journal AS later WHERE later.exchange = first.exchange AND later.seq > first.seq
      AND later.event IN (${creationOutcomes.map((name) => `'${name}'`).join(", ")})) ORDER BY seq`,
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
