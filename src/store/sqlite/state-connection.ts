import type { Actor } from "../../actor.ts";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import {
  checkPrivateDirectory,
  ensurePrivateDirectory,
  statIfThere,
} from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { Lock } from "../state.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { prune } from "../journal/journal.ts";
import type { Opening } from "./open-database.ts";
import {
  checkNotNewer,
  createDatabase,
  migrate,
  openDatabase,
  raiseEpochs,
  schemaVersion,
} from "./open-database.ts";
import { one } from "./query.ts";
import { retryBusyDatabase, StateDatabase } from "./state-database.ts";
import type { VaultLock } from "./vault-lock.ts";
import { VaultLocks } from "./vault-lock.ts";

/** The lock of a vault, fenced against those who had it before. */
export interface FencedLock extends VaultLock {
  /** New each time that a process takes the lock. */
  epoch: number;
}

export interface StoreOptions {
  directory: string;
  /** Where this machine keeps what it knows of shared states; by default the directory of the state. */
  machineDirectory?: () => string;
  keySource: KeySource;
  clock: Clock;
  /** As Node names it. */
  platform: string;
  /** This process. */
  by: Actor;
  /** Receives problems that do not stop the command, like a key file that others can read; each once. */
  warn: (message: string) => void;
  /** Cached keys by id, shared by everything that uses the state in one run. */
  keys?: Map<string, SealingKey>;
}

/** The database of a state and its locks. Keeps one connection until another file is in its place. */
export class StateConnection {
  readonly locks: VaultLocks;
  readonly #options: StoreOptions;
  readonly #opening: Opening;
  #database: Promise<StateDatabase | null> | null = null;
  /** Inode number of the connected file, which changes where a damaged one is moved aside. */
  #file: number | null = null;
  /** Whether this process has made the database. */
  isNew = false;

  /** `scripts` are the migrations. */
  constructor(options: StoreOptions, scripts: readonly string[]) {
    this.#options = options;
    this.#opening = {
      path: join(options.directory, "vault.db"),
      platform: options.platform,
      migrations: scripts,
    };
    const { directory, clock, by } = options;
    this.locks = new VaultLocks(join(directory, "locks"), clock, by);
  }

  /** Inode number of the connected file; null while there is none. */
  get file(): number | null {
    return this.#file;
  }

  /** The database, created if there is none. */
  async ensure(): Promise<StateDatabase> {
    const database = await this.open();
    if (database !== null) return database;
    ensurePrivateDirectory(this.#options.directory);
    createDatabase(this.#opening);
    this.isNew = true;
    const made = await this.open();
    if (made !== null) return made;
    throw new VaultError(
      "state",
      `the state cannot be used: ${this.#opening.path}: it is a broken link, or was removed immediately`,
      {
        hint: "if it is a symbolic link, fix or remove it, then run it again",
      },
    );
  }

  /** Makes a change without a lock: one of the state that is in use, and not of one that was moved meanwhile. */
  async write<T>(change: (db: DatabaseSync) => T): Promise<T> {
    const database = await this.ensure();
    return await database.write((db) => {
      checkNotNewer(db, this.#opening.path, this.#opening.migrations.length);
      return change(db);
    });
  }

  /** The database, or null if there is none. After a failure the next call tries again. */
  async open(): Promise<StateDatabase | null> {
    if (this.#file !== null && this.#fileNow() !== this.#file) {
      this.#database = null;
      this.#file = null;
    }
    this.#database ??= this.#connect().then(
      (database) => {
        if (database === null) this.#database = null;
        return database;
      },
      (error: unknown) => {
        this.#database = null;
        throw error;
      },
    );
    return await this.#database;
  }

  async #connect(): Promise<StateDatabase | null> {
    refuseNetwork(this.#options.directory);
    if (!checkPrivateDirectory(this.#options.directory)) return null;
    const { path } = this.#opening;
    const connection = await retryBusyDatabase(this.#options.clock, path, () =>
      openDatabase(this.#opening),
    );
    const file = this.#fileNow();
    if (connection === null || file === undefined) return null;
    this.#file = file;
    const database = new StateDatabase(connection, path, this.#options.clock);
    if (schemaVersion(connection) < this.#opening.migrations.length) await this.#migrate(database);
    return database;
  }

  #fileNow(): number | undefined {
    return onState(this.#opening.path, () => statIfThere(this.#opening.path))?.ino;
  }

  /** Migrates with every vault locked: no process may be between ① and ④ while the tables change. */
  async #migrate(database: StateDatabase): Promise<void> {
    const waiting = {
      deadline: this.#options.clock.elapsed() + 30_000,
      signal: new AbortController().signal,
    };
    await this.locks.withAll(
      waiting,
      async () =>
        await database.write((db) => {
          checkNotNewer(db, this.#opening.path, this.#opening.migrations.length);
          migrate(db, this.#opening.migrations);
          raiseEpochs(db);
        }),
    );
  }

  /** Who has locked which vault. */
  async holders(): Promise<Lock[]> {
    return (await this.open()) === null ? [] : this.locks.holders();
  }

  /** Locks a vault as `VaultLocks.take`, which ends the right of every earlier holder to write. Not synced. */
  async lock(uuid: string, waiting: Waiting): Promise<FencedLock> {
    const lock = await this.locks.take(uuid, waiting);
    try {
      const database = await this.ensure();
      const epoch = await database.write((db) => {
        checkNotNewer(db, this.#opening.path, this.#opening.migrations.length);
        prune(db, this.#options.clock.now());
        const sql =
          "INSERT INTO locks (slot, epoch) VALUES (?, 1) ON CONFLICT (slot) DO UPDATE SET epoch = epoch + 1 RETURNING epoch";
        return one<{ epoch: number }>(db, sql, lock.slot)?.epoch ?? 0;
      }, "unsynced");
      return { ...lock, epoch };
    } catch (error) {
      lock.release();
      throw error;
    }
  }
}
