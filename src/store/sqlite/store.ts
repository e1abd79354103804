import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { VaultSession, Waiting } from "../../exchange/ports.ts";
import type { CreatedVault, Creation, ErrorNote, ExchangeRecord, LeftCreation, VaultRecord } from "../../exchange/records.ts";
import * as creations from "../journal/creations.ts";
import { refuseNetwork } from "../../files/disk.ts";
import type { LocalStore, StoreOptions } from "../local-store.ts";
import { prune } from "../journal/journal.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import { readKeyFile } from "../../secrets/key-file.ts";
import { Keyring, neededKeyId } from "../keys/keyring.ts";
import { keyFileOf, noteFile, noteKeyFile } from "../keys/known-states.ts";
import { reserveSlot } from "./limiter.ts";
import type { Opening } from "./open-database.ts";
import { checkNotNewer, createDatabase, migrate, schemaVersion } from "./open-database.ts";
import { checkPrivateDirectory, ensurePrivateDirectory, statIfThere } from "../../files/private-directory.ts";
import { one } from "./query.ts";
import { findVaults, listExchanges, listVaults } from "./read-vaults.ts";
import { runStep } from "./run-step.ts";
import { created } from "../steps/import.ts";
import type { Rekeyed, RekeyedStore, RekeyPlan } from "../keys/rekey.ts";
import { openFinished } from "../backup/install.ts";
import { migrations } from "./schema.ts";
import type { ProfilePlace } from "../../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import { StateDatabase } from "./state-database.ts";
import { onState } from "../../files/state-error.ts";
import type { VaultRows } from "../steps/rows.ts";
import { VaultLocks } from "./vault-lock.ts";
import { SqliteVaultSession } from "./vault-session.ts";

/**
 * The state in a directory of this machine. Nothing is read before the first call, and nothing is made before the first
 * one that writes. Raises `invalid-input` for a given key that is none; its methods raise `state` where the directory,
 * the database or the key cannot be used, with nothing overwritten. `scripts` make the tables.
 */
export function openStore(options: StoreOptions, scripts: readonly string[] = migrations): LocalStore {
  return new SqliteStore(options, scripts);
}

class SqliteStore implements LocalStore, RekeyedStore {
  readonly #options: StoreOptions;
  readonly #opening: Opening;
  readonly #keyring: Keyring;
  readonly #locks: VaultLocks;
  #database: Promise<StateDatabase | null> | null = null;
  /** The file that the connection is to: a restore puts another one in its place. */
  #file: number | null = null;

  constructor(options: StoreOptions, scripts: readonly string[]) {
    this.#options = options;
    this.#opening = { path: join(options.directory, "vault.db"), platform: options.platform, migrations: scripts };
    this.#keyring = new Keyring(options.keySource, options.directory, options.warn, options.keys);
    this.#locks = new VaultLocks(join(options.directory, "locks"), options.clock, async (slot) => await this.#takeEpoch(slot));
  }

  async lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession> {
    await this.#ready(await this.#ensure());
    const lock = await this.#locks.take(uuid, waiting);
    try {
      // While this one waited the state may have been restored, or its key changed; from here on that is out of the question.
      const database = await this.#ensure();
      await this.#ready(database);
      if ((await database.read(neededKeyId)) !== null) await this.#noteKeyFile(database);
      await noteFile(database, String(this.#file), this.#options);
      const parts = { uuid: uuid.toLowerCase(), database, keyring: this.#keyring, lock, clock: this.#options.clock };
      return new SqliteVaultSession({ service, ...parts });
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Before the first value is sealed, with a vault held. */
  async #prepare(database: StateDatabase): Promise<void> {
    const needed = await database.read(neededKeyId);
    if (needed === null) this.#keyring.rememberState();
    await this.#keyring.prepare(needed);
  }

  /** State and key file know each other, also after one of them was moved or copied: a rekey asks both. */
  async #noteKeyFile(database: StateDatabase): Promise<void> {
    this.#keyring.rememberState();
    const { keyFile } = this.#keyring;
    if (keyFile !== null && (await database.read(keyFileOf)) !== keyFile) await database.write((db) => noteKeyFile(db, keyFile));
  }

  async #ready(database: StateDatabase): Promise<void> {
    await this.#keyring.ensure(await database.read(neededKeyId));
  }

  async list(): Promise<VaultRecord[]> {
    return await this.#query(listVaults);
  }

  async find(uuid: string): Promise<VaultRecord[]> {
    return await this.#query((db) => findVaults(db, uuid));
  }

  async exchanges(service: string, uuid: string, limit: number): Promise<ExchangeRecord[]> {
    return await this.#query((db) => listExchanges(db, service, uuid, limit));
  }

  async creating(creation: Creation): Promise<void> {
    const database = await this.#ensure();
    await this.#prepare(database);
    await database.write((db) => creations.creating(db, creation, this.#now()));
  }

  async created(creation: Creation, vault: CreatedVault): ReturnType<LocalStore["created"]> {
    const { service } = creation;
    for (let tries = 3; ; tries -= 1) {
      const database = await this.#ensure();
      await this.#prepare(database);
      const place = { service, uuid: vault.uuid.toLowerCase(), at: this.#now() };
      const step = (db: DatabaseSync) => (rows: VaultRows) => created(rows, this.#keyring.fitting(db), creation, vault);
      const added = database.write((db) => runStep(db, place, { pairs: [vault.credentials] }, step(db)));
      // No lock is held: the key may have been changed just now, and is had anew.
      const generation = await (tries > 0 ? added.catch(() => null) : added);
      if (generation === null) continue;
      // Where the state was restored just now, the pair belongs in that one too.
      if (database === (await this.#ensure())) return generation;
    }
  }

  async notCreated(creation: Creation, outcome: "create-refused" | "create-unanswered", error: ErrorNote): Promise<void> {
    const database = await this.#ensure();
    await database.write((db) => creations.notCreated(db, creation, outcome, error, this.#now()));
  }

  async leftCreations(service: string): Promise<LeftCreation[]> {
    return await this.#query((db) => creations.leftCreations(db, service));
  }

  async toldOf(creation: LeftCreation): Promise<void> {
    const database = await this.#ensure();
    await database.write((db) => creations.toldOf(db, creation, this.#now()));
  }

  async reserveSlot(application: string, now: number, intervalMs: number, longestMs?: number): Promise<number> {
    if (intervalMs === 0) return 0;
    const database = await this.#ensure();
    return await database.write((db) => reserveSlot(db, application, now, intervalMs, longestMs), "unsynced");
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  async sealSecret(place: ProfilePlace, text: string): Promise<string> {
    const database = await this.#open();
    const needed = database === null ? null : await database.read(neededKeyId);
    return seal(await this.#keyring.forSecret(needed), place, text);
  }

  async openSecret(place: ProfilePlace, sealed: string): Promise<string> {
    return unseal(await this.#keyring.key(keyIdOf(sealed)), place, sealed);
  }

  keys(): Pick<KeyEntry, "id" | "source">[] | null {
    const { path } = this.#options.keySource;
    return path === undefined ? null : readKeyFile(path, this.#options.warn);
  }

  async rekey(plan: RekeyPlan): Promise<Rekeyed> {
    const { rekeyStates } = await import("../keys/rekey-states.ts");
    const open = (directory: string): RekeyedStore =>
      directory === this.#options.directory ? this : new SqliteStore({ ...this.#options, directory }, this.#opening.migrations);
    return await rekeyStates(this.#options, this.#keyring, open, plan);
  }

  async exclusively<T>(waiting: Waiting, work: (database: StateDatabase) => Promise<T>): Promise<T> {
    return await this.#locks.withAll(waiting, async () => await work(await this.#ensure()));
  }

  async look<T>(query: (database: StateDatabase) => Promise<T>): Promise<T> {
    return await query(await this.#ensure());
  }

  /** A state that is not there knows nothing, and is not made by asking. */
  async #query<T>(query: (db: DatabaseSync) => T[]): Promise<T[]> {
    const database = await this.#open();
    return database === null ? [] : await database.read(query);
  }

  async #ensure(): Promise<StateDatabase> {
    const database = await this.#open();
    if (database !== null) return database;
    ensurePrivateDirectory(this.#options.directory);
    createDatabase(this.#opening);
    const made = await this.#open();
    if (made !== null) return made;
    throw new VaultError("state", `the state cannot be used: ${this.#opening.path}: it leads nowhere, or was removed at once`, {
      hint: "if it is a symbolic link, mend or remove it; then run it again",
    });
  }

  /** One connection for all calls, as long as its file is the state; what could not be opened is tried again by the next one. */
  async #open(): Promise<StateDatabase | null> {
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
    const opened = await openFinished(this.#opening, this.#locks, this.#options.clock);
    if (opened === null) return null;
    this.#file = opened.file;
    const database = new StateDatabase(opened.connection, this.#opening.path, this.#options.clock);
    if (schemaVersion(opened.connection) < this.#opening.migrations.length) await this.#migrate(database);
    return database;
  }

  #fileNow(): number | undefined {
    return onState(this.#opening.path, () => statIfThere(this.#opening.path))?.ino;
  }

  /** With every vault held: no process may be between ① and ④ while the tables change. */
  async #migrate(database: StateDatabase): Promise<void> {
    const waiting = { deadline: this.#options.clock.elapsed() + 30_000, signal: new AbortController().signal };
    await this.#locks.withAll(waiting, async () => await database.write((db) => migrate(db, this.#opening.migrations)));
  }

  /** Counts that a slot was taken, which ends the right of every earlier holder to write. Not synced. */
  async #takeEpoch(slot: number): Promise<number> {
    const database = await this.#ensure();
    return await database.write((db) => {
      checkNotNewer(db, this.#opening.path, this.#opening.migrations.length);
      prune(db, this.#options.clock.now());
      const sql = "INSERT INTO locks (slot, epoch) VALUES (?, 1) ON CONFLICT (slot) DO UPDATE SET epoch = epoch + 1 RETURNING epoch";
      return one<{ epoch: number }>(db, sql, slot)?.epoch ?? 0;
    }, "unsynced");
  }
}
