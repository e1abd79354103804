import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { refuseNetwork } from "../../files/disk.ts";
import {
  checkPrivateDirectory,
  ensurePrivateDirectory,
  statIfThere,
} from "../../files/private-directory.ts";
import { asStateError, onState, unusable } from "../../files/state-error.ts";
import type { StoreOptions } from "../stored-state.ts";
import type { Durability } from "../vault-session.ts";
import {
  checkUsable,
  createDatabase,
  isOlder,
  migrate,
  openDatabase,
  retryBusyDatabase,
} from "./database.ts";
import { VaultLocks } from "./vault-lock.ts";

interface Pending {
  change: (db: DatabaseSync) => unknown;
  durability: Durability;
  settle: PromiseWithResolvers<unknown>;
}

/**
 * The database of a state and its locks. Keeps one connection, to one file, for short transactions
 * that never span an await; each checks that the state is in use. SQLite does not wait, which
 * would block signals: this class retries while it is busy. The connection is never closed: the WAL
 * stays when the process ends, and the next one continues with it.
 */
export class StateDatabase {
  readonly path: string;
  readonly locks: VaultLocks;
  /** Inode number of the connected file; null while there is none. */
  file: number | null = null;
  isNew = false;
  readonly #options: StoreOptions;
  #connection: Promise<DatabaseSync | null> | null = null;
  readonly #pending: Pending[] = [];
  #isWriting = false;

  constructor(options: StoreOptions) {
    const { directory, clock, by } = options;
    this.#options = options;
    this.path = join(directory, "vault.db");
    this.locks = new VaultLocks(join(directory, "locks"), clock, by);
  }

  /** The connection; the database is created if there is none. */
  async ensure(): Promise<DatabaseSync> {
    // Again: somebody else in this process may have begun to look before it was there.
    for (;;) {
      const connection = await this.open();
      if (connection !== null) return connection;
      ensurePrivateDirectory(this.#options.directory);
      createDatabase(this.path);
      this.isNew = true;
    }
  }

  /**
   * The connection, or null if there is no database. After a failure the next call tries again.
   * @throws `state` if another file, or none, is in the place of the connected one
   */
  async open(): Promise<DatabaseSync | null> {
    const opening = (this.#connection ??= this.#connect());
    let connection: DatabaseSync | null = null;
    try {
      connection = await opening;
    } finally {
      if (connection === null && this.#connection === opening) this.#connection = null;
    }
    if (connection !== null && this.#fileNow() !== this.file)
      throw unusable(this.path, "it was moved aside while it was in use", {
        hint: "nothing more was written; run it again",
      });
    return connection;
  }

  async #connect(): Promise<DatabaseSync | null> {
    refuseNetwork(this.#options.directory);
    if (!checkPrivateDirectory(this.#options.directory)) return null;
    const connection = await this.#retryBusy(() => openDatabase(this.path));
    const file = this.#fileNow();
    if (connection === null || file === undefined) return null;
    this.file = file;
    if (isOlder(connection)) {
      const { clock, waiting } = this.#options;
      const signal = waiting?.signal ?? new AbortController().signal;
      await this.locks.withAll({ deadline: clock.elapsed() + 30_000, signal }, async () => {
        await this.converse("BEGIN IMMEDIATE", migrate);
      });
    }
    return connection;
  }

  #fileNow(): number | undefined {
    return onState(this.path, () => statIfThere(this.path))?.ino;
  }

  /** Does the work in one transaction of its own connection, whether the state is in use or not. */
  async converse<T>(begin: string, work: (db: DatabaseSync) => T | Promise<T>): Promise<T> {
    const db = await this.#retryBusy(() => openDatabase(this.path));
    if (db === null) throw unusable(this.path, "it was removed meanwhile");
    try {
      await this.#retryBusy(() => db.exec(begin));
      const result = await work(db);
      await this.#retryBusy(() => db.exec("COMMIT"));
      return result;
    } catch (error) {
      throw asStateError(this.path, error);
    } finally {
      db.close();
    }
  }

  /** Runs queries on one snapshot. */
  async read<T>(query: (db: DatabaseSync) => T): Promise<T> {
    const connection = await this.ensure();
    return await this.#retryBusy(() => this.#transaction(connection, "BEGIN", query));
  }

  /**
   * Makes a change wholly or, if it throws, not at all; resolves when committed. Repeats it if
   * busy. Changes of one turn of the event loop share a transaction and its sync.
   */
  async write<T>(change: (db: DatabaseSync) => T, durability: Durability = "synced"): Promise<T> {
    const settle = Promise.withResolvers<unknown>();
    this.#pending.push({ change, durability, settle });
    if (!this.#isWriting) {
      this.#isWriting = true;
      setImmediate(() => void this.#writePending());
    }
    return (await settle.promise) as T;
  }

  async #writePending(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0);
      /** Whose change is being made. */
      let at: Pending | undefined;
      const make = (db: DatabaseSync): unknown[] => {
        const results = batch.map((each) => (at = each).change(db));
        at = undefined;
        return results;
      };
      const isSynced = batch.some(({ durability }) => durability === "synced");
      try {
        const db = await this.ensure();
        const results = await this.#retryBusy(() => this.#commit(db, make, isSynced));
        batch.forEach(({ settle }, n) => settle.resolve(results[n]));
      } catch (error) {
        // One whose change fails leaves the others alone: they are made anew.
        for (const each of batch) if (at === undefined || at === each) each.settle.reject(error);
        if (at !== undefined) this.#pending.unshift(...batch.filter((each) => each !== at));
      }
    }
    this.#isWriting = false;
  }

  #commit<T>(db: DatabaseSync, make: (db: DatabaseSync) => T, isSynced: boolean): T {
    if (!isSynced) db.exec("PRAGMA synchronous = NORMAL");
    try {
      return this.#transaction(db, "BEGIN IMMEDIATE", make);
    } finally {
      if (!isSynced) db.exec("PRAGMA synchronous = FULL");
    }
  }

  /** Rewrites the database without removed data, and empties the WAL if readers permit. */
  async compact(): Promise<void> {
    const connection = await this.ensure();
    await this.#retryBusy(() => connection.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  #transaction<T>(db: DatabaseSync, begin: string, work: (db: DatabaseSync) => T): T {
    db.exec(begin);
    try {
      checkUsable(db, this.path);
      const result = work(db);
      db.exec("COMMIT");
      return result;
    } catch (error) {
      // A failed write may have ended the transaction already.
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  async #retryBusy<T>(attempt: () => T): Promise<T> {
    return await retryBusyDatabase(this.#options.clock, this.path, attempt);
  }
}
