import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { KnownBreakers } from "../breakers.ts";
import type { Keyring } from "../keys/keyring.ts";
import { neededKeyId } from "../keys/keyring.ts";
import type { About, Place, VaultRows } from "../steps/rows.ts";
import { lockLost } from "../steps/rows.ts";
import { rebind } from "../steps/vault.ts";
import type { Durability, Step } from "../stored-session.ts";
import { covers, StoredVaultSession, withRevived } from "../stored-session.ts";
import { breakerNow } from "./breakers.ts";
import { one } from "./query.ts";
import type { StoredVault } from "./read-vaults.ts";
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
  breakers: KnownBreakers;
}

const hasSealed = ({ credentials }: VaultRows): boolean =>
  credentials.some(({ sealed }) => sealed !== null);

/**
 * A vault that this process has locked. Every write first checks that the lock is still its own, so that nobody else changes the rows
 * of the vault: they are read once, and again only for what a step names and the first reading lacks. The key stays the same, too.
 */
export class SqliteVaultSession extends StoredVaultSession {
  readonly #parts: SessionParts;
  /** As of the last step that was written; null before the first reading, and after a failure. */
  #vault: StoredVault | null = null;
  #key: SealingKey | null = null;
  /** Settles when no step is being written. */
  #written: Promise<unknown> = Promise.resolve();
  #released = false;

  constructor(parts: SessionParts) {
    super(parts.service, parts.uuid);
    this.#parts = parts;
  }

  async rebindFrom(service: string): Promise<void> {
    await this.#prepareKey();
    await this.#transaction((db) => {
      const here = findVault(db, this.service, this.uuid)?.row ?? null;
      const there = readVault(db, { ...this.#place(), service });
      runStep(db, there, (rows) => rebind(rows, this.#keyFor(db, rows), this.service, here));
    });
    this.#vault = null;
  }

  /** The operating system holds the lock as long as this process lives. */
  now(): number {
    return this.#parts.clock.now();
  }

  async ensureHeld(): Promise<void> {
    await Promise.resolve();
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#parts.lock.release();
    await Promise.resolve();
  }

  protected async query<T>(query: Step<T>, about: About = {}): Promise<T> {
    const [vault, key] = [this.#vault, this.#key];
    if (vault !== null && key !== null && covers(vault.rows, about))
      return query(vault.rows, () => key);
    return await this.#parts.database.read((db) => {
      this.#vault = this.#with(db, about);
      const { rows } = this.#vault;
      // Then later queries need the database no more.
      if (hasSealed(rows)) this.#keyFor(db, rows);
      return query(rows, () => this.#keyFor(db, rows));
    });
  }

  protected async write<T>(step: Step<T>, about: About, durability?: Durability): Promise<T> {
    return await this.#inTurn(async () => await this.#write(step, about, durability));
  }

  protected override async seal<T>(step: Step<T>, about: About): Promise<T> {
    return await this.#inTurn(async () => {
      await this.#prepareKey();
      return await this.#write(step, about);
    });
  }

  /** A step begins with the rows that the one before it has left. */
  async #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#written.then(write);
    this.#written = written.catch(() => undefined);
    return await written;
  }

  async #write<T>(step: Step<T>, about: About, durability?: Durability): Promise<T> {
    try {
      const { result, vault } = await this.#transaction((db) => {
        const { id, rows } = this.#with(db, about);
        const before = { ...withRevived(rows, about), at: this.#place().at };
        return runStep(db, { id, rows: before }, (after) =>
          step(after, () => this.#keyFor(db, rows)),
        );
      }, durability);
      this.#vault = vault;
      return result;
    } catch (error) {
      this.#vault = null;
      throw error;
    }
  }

  #with(db: DatabaseSync, about: About): StoredVault {
    if (this.#vault !== null && covers(this.#vault.rows, about)) return this.#vault;
    this.#parts.breakers.note(this.service, breakerNow(db, this.service));
    return readVault(db, this.#place(), about);
  }

  /** The key of the state; where it has sealed something of this vault, only a process with every lock replaces it. */
  #keyFor(db: DatabaseSync, rows: VaultRows): SealingKey {
    const key = this.#key ?? this.#parts.keyring.fitting(db);
    if (hasSealed(rows)) this.#key = key;
    return key;
  }

  #place(): Place {
    return {
      service: this.service,
      uuid: this.uuid,
      at: new Date(this.#parts.clock.now()).toISOString(),
    };
  }

  async #prepareKey(): Promise<void> {
    if (this.#key !== null) return;
    await this.#parts.keyring.prepareState(await this.#parts.database.read(neededKeyId));
  }

  /** @throws `state` if the lock was lost to another process */
  async #transaction<T>(change: (db: DatabaseSync) => T, durability?: Durability): Promise<T> {
    return await this.#parts.database.write((db) => {
      if (this.#released)
        throw new VaultError(
          "internal",
          `vault ${this.uuid} was written to after it had been released`,
        );
      const { slot, epoch } = this.#parts.lock;
      const found = one<{ epoch: number }>(
        db,
        "SELECT epoch FROM locks WHERE slot = ?",
        slot,
      )?.epoch;
      if (found !== epoch)
        throw lockLost(this.uuid, `the lock is at epoch ${found ?? 0}, this process had ${epoch}`);
      return change(db);
    }, durability);
  }
}
