import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import type { Keyring } from "../keys/keyring.ts";
import { neededKeyId } from "../keys/keyring.ts";
import type { About, Place } from "../steps/rows.ts";
import { lockLost } from "../steps/rows.ts";
import { rebind } from "../steps/vault.ts";
import type { Durability, Step } from "../stored-session.ts";
import { StoredVaultSession } from "../stored-session.ts";
import { one } from "./query.ts";
import { findVault, readVault } from "./read-vaults.ts";
import { runStep } from "./run-step.ts";
import type { StateDatabase } from "./state-database.ts";
import type { VaultLock } from "./vault-lock.ts";

interface SessionParts {
  service: string;
  uuid: string;
  database: StateDatabase;
  keyring: Keyring;
  lock: VaultLock;
  clock: Clock;
}

/** A vault that this process has locked. Every write first checks that the lock is still its own. */
export class SqliteVaultSession extends StoredVaultSession {
  readonly #parts: SessionParts;
  #released = false;

  constructor(parts: SessionParts) {
    super(parts.service, parts.uuid);
    this.#parts = parts;
  }

  async rebindFrom(service: string): Promise<void> {
    await this.#prepareKey();
    await this.#transaction((db) => {
      const key = this.#parts.keyring.fitting(db);
      const here = findVault(db, this.service, this.uuid)?.row ?? null;
      runStep(db, { ...this.#place(), service }, {}, (rows) => rebind(rows, key, this.service, here));
    });
  }

  /** The operating system holds the lock as long as this process lives. */
  async ensureHeld(): Promise<void> {
    await Promise.resolve();
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#parts.lock.release();
    await Promise.resolve();
  }

  protected async query<T>(query: Step<T>, about: About = {}): Promise<T> {
    const { database, keyring } = this.#parts;
    return await database.read((db) => query(readVault(db, this.#place(), about).rows, () => keyring.fitting(db)));
  }

  protected async write<T>(step: Step<T>, about: About, durability?: Durability): Promise<T> {
    const { keyring } = this.#parts;
    return await this.#transaction((db) => runStep(db, this.#place(), about, (rows) => step(rows, () => keyring.fitting(db))), durability);
  }

  protected override async seal<T>(step: Step<T>, about: About): Promise<T> {
    await this.#prepareKey();
    return await this.write(step, about);
  }

  #place(): Place {
    return { service: this.service, uuid: this.uuid, at: new Date(this.#parts.clock.now()).toISOString() };
  }

  async #prepareKey(): Promise<void> {
    await this.#parts.keyring.prepareState(await this.#parts.database.read(neededKeyId));
  }

  /** @throws `state` if the lock was lost to another process */
  async #transaction<T>(change: (db: DatabaseSync) => T, durability?: Durability): Promise<T> {
    return await this.#parts.database.write((db) => {
      if (this.#released) throw new VaultError("internal", `vault ${this.uuid} was written to after it had been released`);
      const { slot, epoch } = this.#parts.lock;
      const found = one<{ epoch: number }>(db, "SELECT epoch FROM locks WHERE slot = ?", slot)?.epoch;
      if (found !== epoch) throw lockLost(this.uuid, `the lock is at epoch ${found ?? 0}, this process had ${epoch}`);
      return change(db);
    }, durability);
  }
}
