import { join } from "node:path";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import {
  checkPrivateDirectory,
  ensurePrivateDirectory,
  statIfThere,
} from "../../files/private-directory.ts";
import { onState } from "../../files/state-error.ts";
import type { StateParts, StoredState } from "../stored-state.ts";
import type { Opening } from "./open-database.ts";
import { createDatabase, isOlder, migrate, openDatabase } from "./open-database.ts";
import { retryBusyDatabase, StateDatabase } from "./state-database.ts";
import { VaultLocks } from "./vault-lock.ts";

export interface StoreOptions extends Omit<StateParts, "keyring"> {
  /** Where this machine keeps what it knows of shared states; by default the directory of the state. */
  machineDirectory?: () => string;
  /** Of the command. */
  waiting?: Waiting;
  /** As Node names it. */
  platform: string;
}

/** A state on this machine, as the whole of it takes it. */
export interface LocalStore extends StoredState {
  readonly parts: StateParts & StoreOptions;
  readonly state: StateConnection;
}

/** The database of a state and its locks. Keeps one connection until another file is in its place. */
export class StateConnection {
  readonly locks: VaultLocks;
  readonly #options: StoreOptions;
  readonly opening: Opening;
  #database: Promise<StateDatabase | null> | null = null;
  /** Inode number of the connected file, which changes where a damaged one is moved aside; null while there is none. */
  file: number | null = null;
  /** Whether this process has made the database. */
  isNew = false;

  constructor(options: StoreOptions) {
    const { directory, platform, clock, by } = options;
    this.#options = options;
    this.opening = { path: join(directory, "vault.db"), platform };
    this.locks = new VaultLocks(join(directory, "locks"), clock, by);
  }

  /** The database, created if there is none. */
  async ensure(): Promise<StateDatabase> {
    const database = await this.open();
    if (database !== null) return database;
    ensurePrivateDirectory(this.#options.directory);
    createDatabase(this.opening);
    this.isNew = true;
    const made = await this.open();
    if (made !== null) return made;
    throw new VaultError(
      "state",
      `the state cannot be used: ${this.opening.path}: it is a broken link, or was removed immediately`,
      {
        hint: "if it is a symbolic link, fix or remove it, then run it again",
      },
    );
  }

  /** The database, or null if there is none. After a failure the next call tries again. */
  async open(): Promise<StateDatabase | null> {
    if (this.file !== null && this.#fileNow() !== this.file) {
      this.#database = null;
      this.file = null;
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
    const { path } = this.opening;
    const connection = await retryBusyDatabase(this.#options.clock, path, () =>
      openDatabase(this.opening),
    );
    const file = this.#fileNow();
    if (connection === null || file === undefined) return null;
    this.file = file;
    const database = new StateDatabase(connection, path, this.#options.clock);
    if (isOlder(connection))
      await this.locks.withAll(this.migrating(), async () => await database.write(migrate));
    return database;
  }

  #fileNow(): number | undefined {
    return onState(this.opening.path, () => statIfThere(this.opening.path))?.ino;
  }

  /** How long a migration waits for who uses a vault. */
  migrating(): Waiting {
    const { clock, waiting } = this.#options;
    const signal = waiting?.signal ?? new AbortController().signal;
    return { deadline: clock.elapsed() + 30_000, signal };
  }
}
