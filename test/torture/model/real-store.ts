import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock, VaultSession } from "../../../src/exchange/ports.ts";
import { sealToken } from "../../../src/store/steps/exchange-rows.ts";
import { fingerprint } from "../../../src/secrets/fingerprints.ts";
import { parseGivenKey } from "../../../src/secrets/key-source.ts";
import { one, all, run } from "../../../src/store/sqlite/query.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../../src/store/steps/rows.ts";
import { seal } from "../../../src/secrets/sealing.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { memoryFolder } from "../../support/memory-folder.ts";
import { kind, RealPairs, service, uuid } from "./real-pairs.ts";
import type { Exchange, Generation, Store } from "./state.ts";

const started = "2026-11-20T12:00:00Z";
const key = "7".repeat(64);
const sealingKey = parseGivenKey(key);

/** The real durable state of one vault, in SQLite, that is put into any state of the model, and read as one. */
export class RealStore {
  readonly session: VaultSession;
  readonly pairs = new RealPairs();
  /** Numbers of exchanges whose contents a user has had: the truth, which is not in the state. */
  readonly seen = new Set<number>();
  readonly #directory: string;
  readonly #db: DatabaseSync;
  readonly #vault: number;
  readonly #exchanges = new Map<string, number>();
  readonly #sealed = new Map<string, string>();
  #fresh = 1_000_000;

  private constructor(directory: string, session: VaultSession) {
    this.#directory = directory;
    this.session = session;
    this.#db = new DatabaseSync(join(directory, "vault.db"));
    this.#db.exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
    this.#vault = one<{ id: number }>(this.#db, "SELECT id FROM vaults")?.id ?? 0;
  }

  static async open(clock: Clock): Promise<RealStore> {
    const directory = mkdtempSync(join(memoryFolder, "vault-model-"));
    const store = openStore({ directory, keySource: { type: "given", key }, clock, platform: "linux", warn: () => undefined });
    const session = await store.lock(service, uuid, { deadline: clock.now() + 60_000, signal: new AbortController().signal });
    await session.recordPair({ credentials: { encryptedData: "first", payload: "first" }, kind });
    return new RealStore(directory, session);
  }

  async close(): Promise<void> {
    await this.session.release();
    this.#db.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Exchange ids are as long as real ones, and sort by their place. */
  exchangeId(store: Store, id: number): string {
    const place = store.exchanges.findIndex((exchange) => exchange.id === id);
    return `${place < 0 ? "9" : place}`.padStart(26, "0");
  }

  /** Generations are numbered from 1 on. */
  generation(store: Store, number: number | null): number {
    return number === null ? 0 : store.generations.findIndex((generation) => generation.number === number) + 1;
  }

  load(store: Store): void {
    const db = this.#db;
    const vault = this.#vault;
    this.#exchanges.clear();
    this.seen.clear();
    db.exec("BEGIN IMMEDIATE");
    for (const table of ["credentials", "exchanges", "superseded", "refusals"]) run(db, `DELETE FROM ${table} WHERE vault = ?`, vault);
    run(
      db,
      "UPDATE vaults SET last_generation = ?, unacked_starts = ?, failed_attempts = ?, possibly_failed = ?, limited = ?, proof_expiry = ?, " +
        "forgotten = 0, last_error = NULL",
      store.generations.length,
      store.unacked,
      store.failed,
      store.possibly,
      Number(store.limited),
      store.proof === null ? null : this.expiry(store.proof),
    );
    run(db, "DELETE FROM outages");
    if (store.outage) run(db, "INSERT INTO outages VALUES (?, '')", service);
    for (const [index, { pair, standing, proven, elsewhere, refused, placed }] of store.generations.entries()) {
      const print = fingerprint(uuid, this.pairs.pair(pair));
      run(
        db,
        "INSERT INTO credentials (vault, generation, standing, proven, sealed, fingerprint, created_at, elsewhere, refused, placed) " +
          "VALUES (?, ?, ?, ?, ?, ?, '', ?, ?, ?)",
        vault,
        index + 1,
        standing,
        Number(proven),
        this.#sealedPair(index + 1, pair),
        print,
        Number(elsewhere),
        Number(refused),
        placed,
      );
      if (standing === "superseded") run(db, "INSERT OR IGNORE INTO superseded VALUES (?, ?)", vault, print);
    }
    for (const exchange of store.exchanges) this.#insert(store, exchange);
    for (const pair of store.refused) {
      const sql = "INSERT INTO refusals (vault, combination, fingerprint) VALUES (?, ?, ?)";
      run(db, sql, vault, this.pairs.combination(pair), fingerprint(uuid, this.pairs.pair(pair)));
    }
    db.exec("COMMIT");
  }

  #insert(store: Store, exchange: Exchange): void {
    const id = this.exchangeId(store, exchange.id);
    const next = store.generations.find((generation) => generation.number === exchange.next);
    this.#exchanges.set(id, exchange.id);
    if (exchange.seen) this.seen.add(exchange.id);
    run(
      this.#db,
      "INSERT INTO exchanges (vault, id, operation, kind, state, external_ref, base_generation, new_generation, started_at, token, limited, " +
        "delivered, save_owed, ends_unanswered, counted_start, counted_failed, adopted, token_expiry) " +
        "VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      this.#vault,
      id,
      exchange.operation,
      kind,
      exchange.state,
      this.generation(store, exchange.base),
      next === undefined ? null : this.generation(store, exchange.next),
      started,
      next === undefined ? null : this.#sealedToken(id, next.pair),
      Number(exchange.limited),
      Number(exchange.delivered),
      Number(exchange.saveOwed),
      exchange.ends,
      exchange.countedStart,
      exchange.countedFailed,
      Number(exchange.adopted),
      next === undefined ? null : this.expiry(next.pair),
    );
  }

  /** When the token expires that came with a pair: in the order in which they were handed out, long after all that happens here. */
  expiry(pair: number): string {
    return new Date(Date.parse("2026-11-21T00:00:00Z") + pair).toISOString();
  }

  readGenerations(): Generation[] {
    const rows = all<CredentialsRow>(this.#db, "SELECT * FROM credentials WHERE sealed IS NOT NULL ORDER BY generation");
    return rows.map(({ generation, fingerprint: print, standing, proven, elsewhere, refused, placed }) => ({
      number: generation,
      pair: this.pairs.number(print),
      standing,
      proven: proven === 1,
      elsewhere: elsewhere === 1,
      refused: refused === 1,
      placed,
    }));
  }

  /** What is durable now, in the terms of the model. */
  read(): Store {
    const db = this.#db;
    const vault = one<VaultRow>(db, "SELECT * FROM vaults WHERE id = ?", this.#vault) as VaultRow;
    const refused = all<{ combination: string }>(db, "SELECT combination FROM refusals");
    return {
      generations: this.readGenerations(),
      refused: refused.map(({ combination }) => this.pairs.number(combination)),
      exchanges: all<ExchangeRow>(db, "SELECT * FROM exchanges ORDER BY seq").map((row) => this.#exchange(row)),
      unacked: vault.unacked_starts,
      failed: vault.failed_attempts,
      possibly: vault.possibly_failed,
      limited: vault.limited === 1,
      outage: one(db, "SELECT 1 FROM outages") !== undefined,
      proof: vault.proof_expiry === null ? null : Date.parse(vault.proof_expiry) - Date.parse("2026-11-21T00:00:00Z"),
    };
  }

  /** The number of an exchange by its real id. */
  exchangeNumber(id: string): number {
    const number = this.#exchanges.get(id) ?? (this.#fresh += 1);
    this.#exchanges.set(id, number);
    return number;
  }

  #exchange(row: ExchangeRow): Exchange {
    const id = this.exchangeNumber(row.id);
    return {
      id,
      operation: row.operation === "update" ? "update" : "get",
      state: row.state,
      base: row.base_generation,
      next: row.new_generation,
      delivered: row.delivered === 1,
      saveOwed: row.save_owed === 1,
      ends: row.ends_unanswered,
      limited: row.limited === 1,
      countedStart: row.counted_start,
      countedFailed: row.counted_failed,
      adopted: row.adopted === 1,
      seen: this.seen.has(id),
    };
  }

  #sealedPair(generation: number, pair: number): string {
    const place = { service, uuid, column: "credentials.sealed", row: String(generation) } as const;
    return this.#once(`${generation} ${pair}`, () => seal(sealingKey, place, JSON.stringify(this.pairs.pair(pair))));
  }

  #sealedToken(id: string, pair: number): string {
    this.pairs.pair(pair);
    return this.#once(`${id} ${pair}`, () => sealToken(sealingKey, { service, uuid }, id, this.pairs.token(pair)));
  }

  #once(name: string, make: () => string): string {
    const sealed = this.#sealed.get(name) ?? make();
    this.#sealed.set(name, sealed);
    return sealed;
  }
}
