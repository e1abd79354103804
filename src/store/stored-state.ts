import type { Actor } from "../actor.ts";
import { VaultError } from "../errors.ts";
import { closed, type Breaker, type ServiceBreaker } from "../exchange/breaker.ts";
import { byLabel } from "../exchange/records.ts";
import { exchangeStates, type ExchangeState } from "../exchange/states.ts";
import type { Lock } from "../documents/state.ts";
import type { Clock, Store, Waiting } from "../exchange/ports.ts";
import type {
  CreatedVault,
  Creation,
  JournalledOperation,
  PastExchange,
  RunExchange,
  VaultRecord,
} from "../exchange/records.ts";
import { fingerprint } from "../protocol/fingerprint.ts";
import type { Keyring, KeySource } from "../secrets/keys.ts";
import { keyIdOf, unseal, type SealingKey } from "../secrets/sealing.ts";
import { appendingAlone, breakerIn, breakerOf, replacing, written } from "./tables.ts";
import { isKnown, isListed, nameOf, rowsOf, sinceColumns, type VaultColumns } from "./document.ts";
import type { Dialect, Statement } from "./tables.ts";
import { placeOf, type Since, type VaultRows } from "./steps/rows.ts";
import { completeCreation } from "./steps/vault.ts";
import type { Durability, StoredVaultSession } from "./vault-session.ts";

/** Vaults that are read at a time. */
const batch = 100;

type Listed = Omit<VaultColumns, "sealed"> & Since;
type ListedName = Pick<VaultColumns, "service" | "uuid" | "label" | "kind">;

/** What everything that works on a state needs. */
export interface StateParts {
  /** The directory of the state, or this machine's own, for what it keeps of a shared one. */
  directory: string;
  /** Where this machine keeps what it knows of shared states; by default in `directory`. */
  machineDirectory?: () => string;
  keySource: KeySource;
  keyring: Keyring;
  clock: Clock;
  by: Actor;
  /** Receives problems that do not stop the command, like a key file others can read; once. */
  warn: (message: string) => void;
  /** Ends what waits for a server, and for the state to be brought up to date. */
  waiting?: Waiting;
}

export type StoreOptions = Omit<StateParts, "keyring">;

/** What making a state has come to. */
export interface Created {
  created: boolean;
  keyId: string;
}

/**
 * A state in its place: a directory of this machine, or a schema in a PostgreSQL that several
 * machines share. Reads nothing before the first call. Methods throw `state` if it cannot be used.
 * Here is what both engines do alike: plain queries, the journal of creations, breakers.
 */
export abstract class StoredState implements Store {
  /** What this process last saw of the breakers, by service. */
  readonly breakersKnown = new Map<string, Breaker>();

  /** For messages, documents and marks: a directory, or an address without its password. */
  abstract readonly shown: string;
  /** Whether machines share it: asking it takes a round trip, and each needs its key. */
  abstract readonly isShared: boolean;
  /** Whether this process has made it, so far. Locking the first vault makes a local one. */
  abstract readonly isNew: boolean;
  abstract readonly dialect: Dialect;
  abstract readonly parts: StateParts;
  /** Runs a query. No rows if there is no state yet, and none is made. */
  protected abstract read(statement: Statement): Promise<unknown[]>;
  /**
   * Writes in one transaction without a vault's lock; returns the first statement's rows, durable
   * unless `unsynced`. Makes a missing state. Builds statements when it begins, which may be late.
   * @throws `state` without a row, if the state is not used any more
   */
  protected abstract change(
    statements: () => readonly Statement[],
    durability: Durability,
  ): Promise<unknown[]>;
  /** As `Store.lock`. `offers` adds candidates kept by this machine, which a restore precedes. */
  abstract lock(
    service: string,
    uuid: string,
    waiting: Waiting,
    offers?: boolean,
  ): Promise<StoredVaultSession>;
  /** The key that seals it: a new one if nothing is sealed yet, durable and named before it is used. */
  abstract prepareKey(): Promise<SealingKey>;
  abstract now(): number;
  /**
   * Makes the state and its key as far as they are missing, durable before it returns; a second
   * call changes nothing. `grant` names a database role that gets all rights needed for use.
   * @throws `usage` for a role if there are none, before anything is made
   */
  abstract create(grant?: string): Promise<Created>;
  /**
   * Adds, as candidates, what this machine has kept of exchanges that a shared state may have lost.
   * Skips vaults in use. A problem of one vault is a warning. Locking a vault adds what is its own.
   */
  async gather(_signal: AbortSignal): Promise<void> {}
  /** Who has locked which vault, in the order in which they took it. Never waits for them. */
  abstract locks(): Promise<Lock[]>;

  async *each(uuid?: string): AsyncGenerator<VaultRecord> {
    const values = uuid === undefined ? [] : [uuid.toLowerCase()];
    yield* this.#inOrder(uuid === undefined ? isListed : `uuid = $1 AND ${isListed}`, ...values);
  }

  async list(): Promise<VaultRecord[]> {
    return await Array.fromAsync(this.each());
  }

  async names(): Promise<ListedName[]> {
    return await this.#names(isListed);
  }

  async find(uuid: string): Promise<VaultRecord[]> {
    return await this.#vaults(`uuid = $1 AND ${isKnown}`, [uuid.toLowerCase()]);
  }

  async known(service: string): Promise<VaultRecord[]> {
    const vaults = this.#inOrder(`service = $1 AND ${isKnown}`, service);
    return await Array.fromAsync(vaults, (vault) => ({ ...vault, exchanges: [] }));
  }

  async run(service: string, name: string, uuid?: string): Promise<RunExchange[]> {
    const rows = await this.read({
      sql: `SELECT uuid, exchange AS id, operation, state, delivered, digest, delivery FROM ${this.dialect.prefix}runs
        WHERE run = $1 AND service = $2 AND uuid = coalesce($3, uuid)`,
      values: [name, service, uuid?.toLowerCase() ?? null],
    });
    return await Promise.all(
      (rows as RunExchange[]).map(async ({ digest, ...stored }) => {
        const row = { ...stored, delivered: Number(stored.delivered) === 1 };
        if (digest === null) return { ...row, digest };
        const key = await this.parts.keyring.key(keyIdOf(digest));
        const place = placeOf({ service, uuid: row.uuid }, "exchanges.digest", row.id);
        return { ...row, digest: unseal(key, place, digest) };
      }),
    );
  }

  async past(...of: Parameters<Store["past"]>): Promise<PastExchange[]> {
    const [service, uuid, exchange = null] = of;
    const entries = await this.read({
      sql: `SELECT at, exchange, event, detail FROM ${this.dialect.prefix}journal
        WHERE service = $1 AND uuid = $2 AND exchange = coalesce($3, exchange) ORDER BY seq DESC LIMIT 1000`,
      values: [service, uuid.toLowerCase(), exchange],
    });
    return pastExchanges(entries as Entry[]);
  }

  async beginCreation({ id, service, kind, externalRef }: Creation): Promise<void> {
    await this.prepareKey();
    const detail = { kind, externalRef, by: this.parts.by };
    const entry = { at: this.time(), service, exchange: id, event: "creating", detail };
    await this.record(appendingAlone(this.dialect, entry));
  }

  /** Nobody else knows the vault yet, unless it is known here by a mistake. */
  async completeCreation(creation: Creation, vault: CreatedVault): Promise<number> {
    const deadline = this.parts.clock.elapsed() + 30_000;
    const waiting = { deadline, signal: new AbortController().signal };
    const session = await this.lock(creation.service, vault.uuid, waiting);
    const complete = (rows: VaultRows, isTaken: boolean): number =>
      completeCreation(rows, creation, isTaken ? { ...vault, label: undefined } : vault);
    try {
      return await session.runLabeling(complete, [fingerprint(session.uuid, vault.credentials)]);
    } finally {
      await session.release();
    }
  }

  async reserveSlot(
    application: string,
    intervalMs: number,
    longestMs = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    if (intervalMs === 0) return 0;
    const { dialect } = this;
    const reserving = (): Statement[] => [
      reservingSlot(dialect, this.now(), application, intervalMs, longestMs),
    ];
    const [taken] = (await this.change(reserving, "unsynced")) as { wait: number }[];
    if (taken !== undefined) return Math.max(0, taken.wait);
    const free = await this.read(freeSlot(dialect, this.now(), application));
    // It has come nearer since it was refused, and was not reserved.
    return Math.max(longestMs + 1, ...(free as { wait: number }[]).map(({ wait }) => wait));
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
      read: async () => note(breakerIn(await this.read(breakerOf(dialect.prefix, service)))),
      replace: async (before, next) => {
        const statement = written((put) =>
          replacing(dialect, service, before, next, dialect.open, put),
        );
        const [done] = await this.change(() => [statement], "unsynced");
        if (done !== undefined) note(next);
        return done !== undefined;
      },
    };
  }

  async breakers(): ReturnType<Store["breakers"]> {
    // Others only say whether their service answers probes.
    const sql = `SELECT * FROM ${this.dialect.prefix}breakers WHERE since > 0 ORDER BY service`;
    return (await this.read({ sql })) as Awaited<ReturnType<Store["breakers"]>>;
  }

  async #names(condition: string, ...values: string[]): Promise<ListedName[]> {
    const sql = `SELECT service, uuid, label, kind FROM ${this.dialect.prefix}vaults
      WHERE ${condition} ORDER BY service, uuid`;
    const rows = (await this.read({ sql, values })) as ListedName[];
    // The rows of an engine are large.
    const names = rows.map(({ service, uuid, label, kind }) => ({ service, uuid, label, kind }));
    return names.sort(byLabel);
  }

  /** Reads the vaults that meet a condition, in batches: documents are large. */
  async *#inOrder(condition: string, ...values: string[]): AsyncGenerator<VaultRecord> {
    const names = await this.#names(condition, ...values);
    const among = `uuid IN (${this.dialect.texts(`$${values.length + 1}`)}) AND ${condition}`;
    for (let at = 0; at < names.length; at += batch) {
      const some = names.slice(at, at + batch);
      const uuids = JSON.stringify(some.map(({ uuid }) => uuid));
      const records = await this.#vaults(among, [...values, uuids]);
      // One UUID may stand under several services, with labels that are far apart.
      const places = new Set(some.map(nameOf));
      yield* records.filter((record) => places.has(nameOf(record))).sort(byLabel);
    }
  }

  async #vaults(condition: string, values: readonly string[]): Promise<VaultRecord[]> {
    const { prefix } = this.dialect;
    const sql = `SELECT service, uuid, label, kind, doc, ${sinceColumns(prefix)} FROM ${prefix}vaults
      WHERE ${condition} ORDER BY service, uuid`;
    const rows = (await this.read({ sql, values })) as Listed[];
    const at = this.time();
    return rows.flatMap((row) => rowsOf(row, row, at).record() ?? []);
  }

  /** Writes as `change`, synced; the first statement returns a row. @throws `state` if not */
  async record(...statements: readonly Statement[]): Promise<void> {
    const rows = await this.change(() => statements, "synced");
    if (rows.length === 0)
      throw new VaultError("state", "the change was not recorded", { retry: "safe" });
  }

  /** The time for rows and entries, ISO 8601. */
  time(): string {
    return new Date(this.now()).toISOString();
  }
}

/** If a reserved slot is this far ahead, in milliseconds, the clock was set back. */
const clockJump = 60_000;

/**
 * GCRA with burst 1: the next free slot is one interval after the last reserved one, or now.
 * Returns the milliseconds until it; no row if they exceed `longestMs`. A queue may grow longer
 * than any clock jump, so the time of the last reservation reveals a jump.
 */
const reservingSlot = (
  { prefix, moment }: Dialect,
  now: number,
  application: string,
  intervalMs: number,
  longestMs: number,
): Statement =>
  written((put) => {
    const at = 'excluded."reservedAt"';
    const interval = `CAST(${put(intervalMs)} AS double precision)`;
    const slot = `CASE WHEN queue.next > ${at} AND queue."reservedAt" <= ${at} + ${clockJump} THEN queue.next ELSE ${at} END`;
    return `INSERT INTO ${prefix}limiter AS queue (application, next, "reservedAt")
      SELECT ${put(application)}, at + ${interval}, at FROM (${moment(() => put(now))}) AS moment WHERE true
      ON CONFLICT (application) DO UPDATE SET next = ${slot} + ${interval}, "reservedAt" = ${at}
      WHERE ${slot} - ${at} <= ${put(longestMs)}
      RETURNING next - ${interval} - "reservedAt" AS wait`;
  });

/** The milliseconds until the next free slot, which is not reserved. */
const freeSlot = ({ prefix, moment }: Dialect, now: number, application: string): Statement =>
  written(
    (put) => `SELECT next - at AS wait FROM ${prefix}limiter, (${moment(() => put(now))}) AS moment
      WHERE application = ${put(application)}`,
  );

type Entry = Record<"at" | "exchange" | "event" | "detail", string>;

/** The exchanges that entries tell of, newest first, without those whose start was never sent. */
function pastExchanges(entries: readonly Entry[]): PastExchange[] {
  const byId = [...Map.groupBy(entries, ({ exchange }) => exchange).values()];
  return byId.flatMap((own): PastExchange[] => {
    const last = own.find(({ event }) => (exchangeStates as readonly string[]).includes(event));
    const first = own.findLast(({ event }) => event === "intent" || event === "adopted");
    if (last === undefined || first === undefined) return [];
    const [ended, begun] = [last, first].map(({ detail }) => JSON.parse(detail) as Detail);
    if (ended?.takenBack === true || begun === undefined) return [];
    return [
      {
        exchange: {
          id: first.exchange,
          operation: begun.operation,
          state: last.event as ExchangeState,
          externalRef: begun.externalRef ?? "",
          startedAt: first.at,
          tokenExpiry: null,
          generation: null,
          by: begun.by ?? null,
        },
        changedAt: last.at,
        changedBy: ended?.by ?? null,
      },
    ];
  });
}

interface Detail {
  operation: JournalledOperation;
  externalRef?: string;
  by?: Actor;
  takenBack?: boolean;
}
