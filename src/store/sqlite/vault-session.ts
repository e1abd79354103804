import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock, VaultSession } from "../../exchange/ports.ts";
import type { Credentials, VaultRecord } from "../../exchange/records.ts";
import type { Pair } from "../../protocol/answers.ts";
import { fingerprint } from "../../secrets/fingerprints.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { Keyring } from "../keys/keyring.ts";
import { neededKeyId } from "../keys/keyring.ts";
import * as ends from "../steps/end.ts";
import { findExchange, openToken } from "../steps/exchange-rows.ts";
import { keptGeneration, openCredentials } from "../steps/generations.ts";
import { adopt, recordPair } from "../steps/import.ts";
import * as vaults from "../steps/vault.ts";
import type { Place, VaultRows } from "../steps/rows.ts";
import { lockLost, vaultOf } from "../steps/rows.ts";
import * as starts from "../steps/start.ts";
import { one } from "./query.ts";
import type { About } from "./read-vaults.ts";
import { findRecord, findVault, readVault } from "./read-vaults.ts";
import { runStep } from "./run-step.ts";
import type { Durability, StateDatabase } from "./state-database.ts";
import type { VaultLock } from "./vault-lock.ts";

interface SessionParts {
  service: string;
  uuid: string;
  database: StateDatabase;
  keyring: Keyring;
  lock: VaultLock;
  clock: Clock;
}

/** Finds in the input of a step what to read for it. */
type Naming<Input extends unknown[]> = (...input: Input) => About;

const nothing = (): About => ({});
const exchange = (id: string): About => ({ exchange: id });

/** A vault that this process has locked. Every write first checks that the lock is still its own. */
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

  readonly recordIntent = this.#step(starts.recordIntent, ({ exchangeId }) => exchange(exchangeId));
  readonly revertIntent = this.#step(starts.revertIntent, exchange);
  readonly noteUnanswered = this.#step(starts.noteUnanswered, exchange, "unsynced");
  readonly noteServiceBack = this.#step(starts.noteServiceBack, nothing, "unsynced");
  readonly reject = this.#step(starts.reject, exchange);
  readonly recordStarted = this.#sealing(starts.recordStarted, (id, { pair }) => ({ exchange: id, pairs: [pair] }));
  readonly hold = this.#step(ends.hold, exchange);
  readonly recordEnding = this.#step(ends.recordEnding, exchange);
  readonly noteEndAnswered = this.#step(ends.noteEndAnswered, exchange);
  readonly acknowledge = this.#step(ends.acknowledge, exchange);
  readonly expire = this.#step(ends.expire, exchange);
  readonly markInDoubt = this.#step(ends.markInDoubt, exchange);
  readonly recordPair = this.#sealing(recordPair, ({ credentials }) => ({ pairs: [credentials] }));
  readonly adopt = this.#sealing(adopt, (document) => ({ exchange: document.exchangeId, pairs: [document.old, document.new] }));
  readonly mergeAttempts = this.#step(vaults.mergeAttempts, nothing);
  readonly markElsewhere = this.#step(vaults.markElsewhere, nothing);
  readonly noteDates = this.#step(vaults.noteDates, nothing, "unsynced");
  readonly resetCounters = this.#step(vaults.resetCounters, nothing);
  readonly setLabel = this.#step(vaults.setLabel, nothing);
  readonly recordDeleted = this.#step(vaults.recordDeleted, exchange);
  readonly forget = this.#step(vaults.forget, nothing);

  async rebindFrom(service: string): Promise<void> {
    await this.#prepareKey();
    await this.#write((db) => {
      const key = this.#key(db);
      const here = findVault(db, this.service, this.uuid)?.row ?? null;
      runStep(db, { ...this.#place(), service }, {}, (rows) => vaults.rebind(rows, key, this.service, here));
    });
  }

  async read(): Promise<VaultRecord | null> {
    return await this.#parts.database.read((db) => findRecord(db, this.service, this.uuid));
  }

  async credentials(generation: number): Promise<Credentials> {
    return await this.#read((rows, db) => openCredentials(this.#key(db), this, keptGeneration(rows, generation)));
  }

  async token(exchangeId: string): Promise<string> {
    return await this.#read((rows, db) => {
      vaultOf(rows);
      const row = findExchange(rows, exchangeId);
      if (row === undefined) throw lockLost(this.uuid, `exchange ${exchangeId} is gone`);
      return openToken(this.#key(db), this, row);
    }, exchange(exchangeId));
  }

  async isSuperseded(pair: Pair): Promise<boolean> {
    return await this.#read((rows) => rows.superseded.has(fingerprint(this.uuid, pair)), { pairs: [pair] });
  }

  async refusals(): Promise<string[]> {
    return await this.#read((rows) => [...rows.refusals.keys()]);
  }

  async isServiceOut(): Promise<boolean> {
    return await this.#read((rows) => rows.outage !== null);
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#parts.lock.release();
    await Promise.resolve();
  }

  #place(): Place {
    return { service: this.service, uuid: this.uuid, at: new Date(this.#parts.clock.now()).toISOString() };
  }

  #key(db: DatabaseSync): SealingKey {
    return this.#parts.keyring.fitting(db);
  }

  async #read<T>(query: (rows: VaultRows, db: DatabaseSync) => T, about: About = {}): Promise<T> {
    return await this.#parts.database.read((db) => query(readVault(db, this.#place(), about).rows, db));
  }

  /** Makes a method of a step. */
  #step<Input extends unknown[], T>(step: (rows: VaultRows, ...input: Input) => T, about: Naming<Input>, durability?: Durability) {
    return async (...input: Input): Promise<T> =>
      await this.#write((db) => runStep(db, this.#place(), about(...input), (rows) => step(rows, ...input)), durability);
  }

  /** Makes a method of a step that seals values, with the key of the database, or a new one if nothing is sealed yet. */
  #sealing<Input extends unknown[], T>(step: (rows: VaultRows, key: SealingKey, ...input: Input) => T, about: Naming<Input>) {
    return async (...input: Input): Promise<T> => {
      await this.#prepareKey();
      return await this.#write((db) => {
        const key = this.#key(db);
        return runStep(db, this.#place(), about(...input), (rows) => step(rows, key, ...input));
      });
    };
  }

  async #prepareKey(): Promise<void> {
    await this.#parts.keyring.prepareState(await this.#parts.database.read(neededKeyId));
  }

  /**
   * Runs a change as one transaction.
   * @throws `state` if the lock was lost to another process
   */
  async #write<T>(change: (db: DatabaseSync) => T, durability?: Durability): Promise<T> {
    return await this.#parts.database.write((db) => {
      if (this.#released) throw new VaultError("internal", `vault ${this.uuid} was written to after it had been released`);
      const { slot, epoch } = this.#parts.lock;
      const found = one<{ epoch: number }>(db, "SELECT epoch FROM locks WHERE slot = ?", slot)?.epoch;
      if (found !== epoch) throw lockLost(this.uuid, `the lock is at epoch ${found ?? 0}, this process had ${epoch}`);
      return change(db);
    }, durability);
  }
}
