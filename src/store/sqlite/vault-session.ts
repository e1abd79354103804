import { VaultError } from "../../errors.ts";
import type { Clock, VaultSession } from "../../exchange/ports.ts";
import type {
  AdoptedExchange,
  AdoptionOutcome,
  Attempts,
  Credentials,
  ErrorNote,
  Intent,
  NewPair,
  Started,
  VaultRecord,
} from "../../exchange/records.ts";
import type { HoldReason } from "../../exchange/states.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { VaultDates } from "../../protocol/extended-answers.ts";
import * as ends from "../steps/end.ts";
import { findExchange, openToken } from "../steps/exchange-rows.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import { isSuperseded, keptGeneration, openCredentials } from "../steps/generations.ts";
import type { Keyring } from "../keys/keyring.ts";
import { neededKeyId } from "../keys/keyring.ts";
import * as keeping from "../steps/keeping.ts";
import { all, one, run } from "./query.ts";
import { findVault, vaultRecord } from "../steps/read-vault.ts";
import { rebindFrom } from "../steps/rebind.ts";
import type { VaultRow } from "../steps/rows.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import * as starts from "../steps/start.ts";
import type { Durability, StateDatabase } from "./state-database.ts";
import type { VaultLock } from "./vault-lock.ts";
import type { VaultTransaction } from "../steps/vault-transaction.ts";
import { takenOver, vaultOf } from "../steps/vault-transaction.ts";

export interface SessionParts {
  service: string;
  uuid: string;
  database: StateDatabase;
  keyring: Keyring;
  lock: VaultLock;
  clock: Clock;
}

/** A vault that this process holds. Every write begins by making sure that it still does. */
export class SqliteVaultSession implements VaultSession {
  readonly service: string;
  readonly uuid: string;
  readonly #parts: SessionParts;
  #released = false;

  constructor(parts: SessionParts) {
    this.service = parts.service;
    this.uuid = parts.uuid;
    this.#parts = parts;
  }

  async read(): Promise<VaultRecord | null> {
    return await this.#read((row, tx) => (row === undefined ? null : vaultRecord(tx.db, row)));
  }

  async credentials(generation: number): Promise<Credentials> {
    return await this.#read((_, tx) => openCredentials(this.#key(tx), this, keptGeneration(tx, vaultOf(tx).id, generation)));
  }

  async token(exchangeId: string): Promise<string> {
    return await this.#read((_, tx) => {
      const row = findExchange(tx, vaultOf(tx).id, exchangeId);
      if (row === undefined) throw takenOver(this.uuid, `exchange ${exchangeId} is gone`);
      return openToken(this.#key(tx), this, row);
    });
  }

  async isSuperseded(pair: Pair): Promise<boolean> {
    return await this.#read((row, tx) => row !== undefined && isSuperseded(tx, row.id, fingerprint(this.uuid, pair)));
  }

  async wasRefused(combination: string): Promise<boolean> {
    const sql = "SELECT 1 FROM refusals WHERE vault = ? AND combination = ?";
    return await this.#read((row, tx) => row !== undefined && one(tx.db, sql, row.id, combination) !== undefined);
  }

  async refusals(): Promise<string[]> {
    const sql = "SELECT combination FROM refusals WHERE vault = ? ORDER BY combination";
    return await this.#read((row, tx) =>
      row === undefined ? [] : all<{ combination: string }>(tx.db, sql, row.id).map(({ combination }) => combination),
    );
  }

  async isOut(): Promise<boolean> {
    return await this.#read((_, tx) => one(tx.db, "SELECT 1 FROM outages WHERE service = ?", this.service) !== undefined);
  }

  async isBack(): Promise<void> {
    await this.#write((tx) => run(tx.db, "DELETE FROM outages WHERE service = ?", this.service), "unsynced");
  }

  async takeOver(attempts: Attempts): Promise<void> {
    await this.#write((tx) => keeping.takeOver(tx, attempts));
  }

  async markElsewhere(generations: readonly number[]): Promise<void> {
    await this.#write((tx) => keeping.markElsewhere(tx, generations));
  }

  async record(pair: NewPair): Promise<number> {
    return await this.#seal((tx, key) => keeping.record(tx, key, pair));
  }

  async intend(intent: Intent): Promise<void> {
    await this.#write((tx) => starts.intend(tx, intent));
  }

  async takeBack(exchangeId: string, error: ErrorNote): Promise<void> {
    await this.#write((tx) => starts.takeBack(tx, exchangeId, error));
  }

  async unanswered(exchangeId: string, error: ErrorNote): Promise<void> {
    await this.#write((tx) => starts.unanswered(tx, exchangeId, error), "unsynced");
  }

  async reject(exchangeId: string, combination: string | null, error: ErrorNote): Promise<void> {
    await this.#write((tx) => starts.reject(tx, exchangeId, combination, error));
  }

  async start(exchangeId: string, started: Started): Promise<number> {
    return await this.#seal((tx, key) => starts.start(tx, key, exchangeId, started));
  }

  async hold(exchangeId: string, reason: HoldReason, facts: { delivered: boolean; saveOwed: boolean }): Promise<void> {
    await this.#write((tx) => ends.hold(tx, exchangeId, reason, facts));
  }

  async ending(exchangeId: string, delivered: boolean): Promise<void> {
    await this.#write((tx) => ends.ending(tx, exchangeId, delivered));
  }

  async endAnswered(exchangeId: string, error: ErrorNote): Promise<void> {
    await this.#write((tx) => ends.endAnswered(tx, exchangeId, error));
  }

  async acknowledge(exchangeId: string): Promise<void> {
    await this.#write((tx) => ends.acknowledge(tx, exchangeId));
  }

  async expire(exchangeId: string, error: ErrorNote): Promise<void> {
    await this.#write((tx) => ends.expire(tx, exchangeId, error));
  }

  async doubt(exchangeId: string, error: ErrorNote): Promise<void> {
    await this.#write((tx) => ends.doubt(tx, exchangeId, error));
  }

  async adopt(document: AdoptedExchange): Promise<AdoptionOutcome> {
    return await this.#seal((tx, key) => keeping.adopt(tx, key, document));
  }

  async deleted(exchangeId: string): Promise<void> {
    await this.#write((tx) => keeping.deleted(tx, exchangeId));
  }

  async noteDates(dates: VaultDates): Promise<void> {
    await this.#write((tx) => keeping.noteDates(tx, dates), "unsynced");
  }

  async resetCounters(only: "all" | "unanswered"): Promise<void> {
    await this.#write((tx) => keeping.resetCounters(tx, only));
  }

  async forget(): Promise<void> {
    await this.#write((tx) => keeping.forget(tx));
  }

  async rebindFrom(service: string): Promise<void> {
    await this.#seal((tx, key) => rebindFrom(tx, key, service));
  }

  async setLabel(label: string): Promise<void> {
    await this.#write((tx) => keeping.setLabel(tx, label));
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#parts.lock.release();
    await Promise.resolve();
  }

  #key(tx: VaultTransaction): SealingKey {
    return this.#parts.keyring.fitting(tx.db);
  }

  async #read<T>(query: (row: VaultRow | undefined, tx: VaultTransaction) => T): Promise<T> {
    return await this.#parts.database.read((db) => query(findVault(db, this.service, this.uuid), this.#transaction(db)));
  }

  async #write<T>(change: (tx: VaultTransaction) => T, durability?: Durability): Promise<T> {
    return await this.#parts.database.write((db) => {
      const tx = this.#transaction(db);
      this.#fence(tx);
      return change(tx);
    }, durability);
  }

  /** A write that seals something: with a key that fits what is sealed already, and that is made here if nothing is. */
  async #seal<T>(change: (tx: VaultTransaction, key: SealingKey) => T): Promise<T> {
    const needed = await this.#parts.database.read(neededKeyId);
    if (needed === null) this.#parts.keyring.rememberState();
    await this.#parts.keyring.prepare(needed);
    return await this.#write((tx) => change(tx, this.#key(tx)));
  }

  #transaction(db: VaultTransaction["db"]): VaultTransaction {
    return { db, service: this.service, uuid: this.uuid, at: new Date(this.#parts.clock.now()).toISOString() };
  }

  /** Raises `state` if the lock was taken again since this session got it: it is not ours any more. */
  #fence({ db }: VaultTransaction): void {
    if (this.#released) throw new VaultError("internal", `vault ${this.uuid} was written to after it had been let go`);
    const { slot, epoch } = this.#parts.lock;
    const found = one<{ epoch: number }>(db, "SELECT epoch FROM locks WHERE slot = ?", slot)?.epoch;
    if (found !== epoch) throw takenOver(this.uuid, `the lock is at epoch ${found ?? 0}, this process had ${epoch}`);
  }
}
