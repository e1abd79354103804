import type { ServiceBreaker } from "../../../../src/exchange/breaker.ts";
import type { Counters, Outcome } from "../../../../src/exchange/counting.ts";
import type { Clock, VaultSession } from "../../../../src/exchange/ports.ts";
import { fingerprint } from "../../../../src/protocol/fingerprint.ts";
import { seal } from "../../../../src/secrets/sealing.ts";
import { parseGivenKey } from "../../../../src/secrets/keys.ts";
import type { CredentialsRow, ExchangeRow } from "../../../../src/store/steps/rows.ts";
import { begun, forgotten, VaultRows } from "../../../../src/store/steps/rows.ts";
import { isFound } from "../client.ts";
import { serviceName } from "../../../support/in-process.ts";
import { kind, RealPairs, uuid } from "./service.ts";
import { openPostgresRows, openSqliteRows, type BreakerTimes, type RealRows } from "./rows.ts";
import type { Counts, Exchange, Generation, Store } from "../state.ts";

/** What the program calls the rows of the table, and what is carried. */
const outcomes = {
  nothing: "free",
  refused: "refused",
  "no whole answer": "none",
  success: "success",
} as const satisfies Record<NonNullable<Exchange["outcome"]>, Outcome>;

const outcomeIn = (outcome: Outcome | null): Exchange["outcome"] =>
  (Object.keys(outcomes) as (keyof typeof outcomes)[]).find((is) => outcomes[is] === outcome) ??
  null;

export const carriedOf = ({ unacked, unanswered, failed, possibly }: Counts): Counters => ({
  unackedStarts: unacked,
  unansweredStarts: unanswered,
  failedAttempts: failed,
  possiblyFailed: possibly,
});

export const countsIn = (carried: Counters): Counts => ({
  unacked: carried.unackedStarts,
  failed: carried.failedAttempts,
  possibly: carried.possiblyFailed,
  unanswered: carried.unansweredStarts,
});

/** The row of a generation, in which credentials are what `own` says. */
export const credentialsRow = (
  { standing, proven, elsewhere, refused, placed, ended }: Generation,
  own: Pick<CredentialsRow, "generation" | "sealed" | "fingerprint">,
): CredentialsRow => ({
  ...own,
  standing,
  proven,
  device: null,
  createdAt: "",
  elsewhere,
  refused,
  placed,
  ended,
});

export const generationIn = (
  { generation: number, standing, proven, elsewhere, refused, placed, ended }: CredentialsRow,
  pair: number,
): Generation => ({ number, pair, standing, proven, elsewhere, refused, placed, ended });

/** The row of an exchange, in which ids, generations, times and token are what `own` says. */
export const exchangeRow = (
  exchange: Exchange,
  own: Pick<
    ExchangeRow,
    "id" | "baseGeneration" | "newGeneration" | "startedAt" | "token" | "tokenExpiry"
  >,
): ExchangeRow => ({
  ...begun,
  ...own,
  operation: exchange.operation,
  kind,
  state: exchange.state,
  externalRef: "",
  limited: exchange.limited,
  delivered: exchange.delivered,
  saveOwed: exchange.saveOwed,
  endsUnanswered: exchange.ends,
  outcome: exchange.outcome && outcomes[exchange.outcome],
  sole: exchange.isSole,
  adopted: exchange.adopted,
  by: null,
});

export const exchangeIn = (row: ExchangeRow, id: number, seen = false): Exchange => ({
  id,
  operation: row.operation === "update" ? "update" : "get",
  state: row.state,
  base: row.baseGeneration,
  next: row.newGeneration,
  delivered: row.delivered,
  saveOwed: row.saveOwed,
  ends: row.endsUnanswered,
  limited: row.limited,
  outcome: outcomeIn(row.outcome),
  isSole: row.sole,
  adopted: row.adopted,
  seen,
  arrived: false,
});

/** A start without an outcome opens the breaker, once it is met. */
const isLeft = (last: ExchangeRow | undefined, { since }: BreakerTimes): boolean =>
  last?.state === "intent" && Date.parse(last.startedAt) > since;

const key = "7".repeat(64);
const sealingKey = parseGivenKey(key, "--state-key");

export type Engine = "SQLite" | "PostgreSQL";

/** The real durable state of one vault that is put into any state of the model, and read as one. */
export class RealStore {
  readonly pairs = new RealPairs();
  /** Numbers of exchanges whose contents a user has had: the truth, which is not in the state. */
  readonly seen = new Set<number>();
  readonly #rows: RealRows;
  readonly #exchanges = new Map<string, number>();
  readonly #sealed = new Map<string, string>();
  #fresh = 1_000_000;

  private constructor(rows: RealRows) {
    this.#rows = rows;
  }

  static async open(engine: Engine, clock: Clock): Promise<RealStore> {
    const rows = await (engine === "SQLite" ? openSqliteRows : openPostgresRows)(clock, key);
    await rows.session.recordPair({
      credentials: { encryptedData: "first", payload: "first" },
      kind,
    });
    return new RealStore(rows);
  }

  async close(): Promise<void> {
    await this.#rows.close();
  }

  /** Holds the vault as it was loaded. */
  get session(): VaultSession {
    return this.#rows.session;
  }

  /** Of the service, open or not. */
  get breaker(): ServiceBreaker {
    return this.#rows.breaker;
  }

  /** Exchange ids are as long as real ones, and sort by their place. */
  exchangeId(store: Store, id: number): string {
    const place = store.exchanges.findIndex((exchange) => exchange.id === id);
    return `${place < 0 ? "9" : place}`.padStart(26, "0");
  }

  /** Generations are numbered from 1 on. */
  generation(store: Store, number: number | null): number {
    return number === null
      ? 0
      : store.generations.findIndex((generation) => generation.number === number) + 1;
  }

  async load(store: Store): Promise<void> {
    this.#exchanges.clear();
    this.seen.clear();
    const now = this.breaker.now();
    const print = (pair: number): string => fingerprint(uuid, this.pairs.pair(pair));
    const superseded = store.generations
      .filter(({ standing }) => standing === "superseded")
      .map(({ pair }) => print(pair));
    const rows = new VaultRows({
      ...this.#place(),
      at: "",
      vault: {
        ...forgotten,
        service: serviceName,
        uuid,
        kind,
        lastGeneration: store.generations.length,
        carried: store.carried === null ? null : carriedOf(store.carried),
        carriedUpTo: store.upTo === null ? null : this.exchangeId(store, store.upTo),
        limited: store.limited,
        provenAt: store.proof === null ? null : new Date(now).toISOString(),
        proofExpiry: store.proof === null ? null : this.expiry(store.proof),
        forgotten: false,
      },
      credentials: store.generations.map((each, index) =>
        credentialsRow(each, {
          generation: index + 1,
          sealed: this.#sealedPair(index + 1, each.pair),
          fingerprint: print(each.pair),
        }),
      ),
      superseded: new Set(superseded),
      exchanges: store.exchanges.map((exchange) => this.#row(store, exchange, now)),
      refusals: new Map(
        store.refused.map((pair) => [this.pairs.combination(pair), print(pair)] as const),
      ),
    });
    await this.#rows.write(rows, {
      // As if it had just opened; and an older start without an outcome opens it no more.
      lostAt: store.breaker.isOpen ? now : null,
      since: isFound(store) ? 0 : now,
    });
  }

  #row(store: Store, exchange: Exchange, now: number): ExchangeRow {
    const id = this.exchangeId(store, exchange.id);
    const next = store.generations.find((generation) => generation.number === exchange.next);
    this.#exchanges.set(id, exchange.id);
    if (exchange.seen) this.seen.add(exchange.id);
    return exchangeRow(exchange, {
      id,
      baseGeneration: this.generation(store, exchange.base),
      newGeneration: next === undefined ? null : this.generation(store, exchange.next),
      startedAt: new Date(now).toISOString(),
      token: next === undefined ? null : this.#sealedToken(id, next.pair),
      tokenExpiry: next === undefined ? null : this.expiry(next.pair),
    });
  }

  /** When the token expires that came with a pair: in the order in which they were handed out, long after all that happens here. */
  expiry(pair: number): string {
    return new Date(Date.parse("2026-11-21T00:00:00Z") + pair).toISOString();
  }

  async readGenerations(): Promise<Generation[]> {
    return (await this.read()).generations;
  }

  /** What is durable now, in the terms of the model. */
  async read(): Promise<Store> {
    const { rows, breaker } = await this.#rows.read();
    const { exchanges } = rows;
    const vault = rows.known;
    const kept = rows.credentials.filter(({ sealed }) => sealed !== null);
    return {
      generations: kept.map((row) => generationIn(row, this.pairs.number(row.fingerprint))),
      refused: [...rows.refusals.keys()].map((combination) => this.pairs.number(combination)),
      exchanges: exchanges.map((row) => {
        const id = this.exchangeNumber(row.id);
        return exchangeIn(row, id, this.seen.has(id));
      }),
      carried: vault.carried === null ? null : countsIn(vault.carried),
      upTo: vault.carriedUpTo === null ? null : this.exchangeNumber(vault.carriedUpTo),
      limited: vault.limited,
      breaker: {
        isOpen: breaker.lostAt !== null || isLeft(exchanges.at(-1), breaker),
        closedAfter: Number.MAX_SAFE_INTEGER,
      },
      proof:
        vault.proofExpiry === null
          ? null
          : Date.parse(vault.proofExpiry) - Date.parse("2026-11-21T00:00:00Z"),
    };
  }

  /** The number of an exchange by its real id. */
  exchangeNumber(id: string): number {
    const number = this.#exchanges.get(id) ?? (this.#fresh += 1);
    this.#exchanges.set(id, number);
    return number;
  }

  #sealedPair(generation: number, pair: number): string {
    const place = {
      ...this.#place(),
      column: "credentials.sealed",
      row: String(generation),
    } as const;
    return this.#once(`${generation} ${pair}`, () =>
      seal(sealingKey, place, JSON.stringify(this.pairs.pair(pair))),
    );
  }

  #sealedToken(id: string, pair: number): string {
    this.pairs.pair(pair);
    return this.#once(`${id} ${pair}`, () =>
      new VaultRows({ ...this.#place(), at: "", key: sealingKey }).seal(
        "exchanges.token",
        id,
        this.pairs.token(pair),
      ),
    );
  }

  #place(): { service: string; uuid: string } {
    return { service: serviceName, uuid };
  }

  #once(name: string, make: () => string): string {
    const sealed = this.#sealed.get(name) ?? make();
    this.#sealed.set(name, sealed);
    return sealed;
  }
}
