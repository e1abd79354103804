import type { DatabaseSync } from "node:sqlite";
import type { VaultSession, Waiting } from "../../exchange/ports.ts";
import type { CreatedVault, Creation, ErrorNote, ExchangeRecord, LeftCreation, VaultRecord } from "../../exchange/records.ts";
import * as creations from "../journal/creations.ts";
import type { LocalStore, StoreOptions } from "../local-store.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import { readKeyFile } from "../../secrets/key-file.ts";
import { Keyring, neededKeyId } from "../keys/keyring.ts";
import { keyFileOf, noteFile, noteKeyFile } from "../keys/known-states.ts";
import { one, run } from "./query.ts";
import { findVaults, listExchanges, listVaults } from "./read-vaults.ts";
import { runStep } from "./run-step.ts";
import { created } from "../steps/import.ts";
import type { Rekeyed, RekeyedStore, RekeyPlan } from "../keys/rekey.ts";
import { migrations } from "./schema.ts";
import type { ProfilePlace } from "../../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import { StateConnection } from "./state-connection.ts";
import type { StateDatabase } from "./state-database.ts";
import { SqliteVaultSession } from "./vault-session.ts";

/**
 * The state in a directory of this machine. Nothing is read before the first call, and nothing is made before the first one that
 * writes. `scripts` make the tables.
 * @throws `invalid-input` for a given key that is none; its methods throw `state` where the directory, the database or the key
 * cannot be used, with nothing overwritten
 */
export function openStore(options: StoreOptions, scripts: readonly string[] = migrations): LocalStore {
  return new SqliteStore(options, scripts);
}

class SqliteStore implements LocalStore, RekeyedStore {
  readonly #options: StoreOptions;
  readonly #scripts: readonly string[];
  readonly #keyring: Keyring;
  readonly #state: StateConnection;

  constructor(options: StoreOptions, scripts: readonly string[]) {
    this.#options = options;
    this.#scripts = scripts;
    this.#keyring = new Keyring(options.keySource, options.directory, options.warn, options.keys);
    this.#state = new StateConnection(options, scripts);
  }

  async lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession> {
    await this.#ready(await this.#state.ensure());
    const lock = await this.#state.locks.take(uuid, waiting);
    try {
      // While this one waited the state may have been restored, or its key changed; from here on that is out of the question.
      const database = await this.#state.ensure();
      await this.#ready(database);
      if ((await database.read(neededKeyId)) !== null) await this.#noteKeyFile(database);
      await noteFile(database, String(this.#state.file), this.#options);
      const parts = { uuid: uuid.toLowerCase(), database, keyring: this.#keyring, lock, clock: this.#options.clock };
      return new SqliteVaultSession({ service, ...parts });
    } catch (error) {
      lock.release();
      throw error;
    }
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
    const database = await this.#state.ensure();
    await this.#keyring.prepareState(await database.read(neededKeyId));
    await database.write((db) => creations.creating(db, creation, this.#now()));
  }

  async created(creation: Creation, vault: CreatedVault): ReturnType<LocalStore["created"]> {
    const { service } = creation;
    for (let tries = 3; ; tries -= 1) {
      const database = await this.#state.ensure();
      await this.#keyring.prepareState(await database.read(neededKeyId));
      const added = database.write((db) => {
        const place = { service, uuid: vault.uuid.toLowerCase(), at: this.#now() };
        const key = this.#keyring.fitting(db);
        return runStep(db, place, { pairs: [vault.credentials] }, (rows) => created(rows, key, creation, vault));
      });
      // No lock is held: the key may have been changed just now, and is had anew.
      const generation = await (tries > 0 ? added.catch(() => null) : added);
      if (generation === null) continue;
      // Where the state was restored just now, the pair belongs in that one too.
      if (database === (await this.#state.ensure())) return generation;
    }
  }

  async notCreated(creation: Creation, outcome: "create-refused" | "create-unanswered", error: ErrorNote): Promise<void> {
    const database = await this.#state.ensure();
    await database.write((db) => creations.notCreated(db, creation, outcome, error, this.#now()));
  }

  async leftCreations(service: string): Promise<LeftCreation[]> {
    return await this.#query((db) => creations.leftCreations(db, service));
  }

  async toldOf(creation: LeftCreation): Promise<void> {
    const database = await this.#state.ensure();
    await database.write((db) => creations.toldOf(db, creation, this.#now()));
  }

  async reserveSlot(application: string, now: number, intervalMs: number, longestMs?: number): Promise<number> {
    if (intervalMs === 0) return 0;
    const database = await this.#state.ensure();
    return await database.write((db) => reserveSlot(db, application, now, intervalMs, longestMs), "unsynced");
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  async sealSecret(place: ProfilePlace, text: string): Promise<string> {
    const database = await this.#state.open();
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
      directory === this.#options.directory ? this : new SqliteStore({ ...this.#options, directory }, this.#scripts);
    return await rekeyStates(this.#options, this.#keyring, open, plan);
  }

  async exclusively<T>(waiting: Waiting, work: (database: StateDatabase) => Promise<T>): Promise<T> {
    return await this.#state.locks.withAll(waiting, async () => await work(await this.#state.ensure()));
  }

  async look<T>(query: (database: StateDatabase) => Promise<T>): Promise<T> {
    return await query(await this.#state.ensure());
  }

  /** A state that is not there knows nothing, and is not made by asking. */
  async #query<T>(query: (db: DatabaseSync) => T[]): Promise<T[]> {
    const database = await this.#state.open();
    return database === null ? [] : await database.read(query);
  }
}

/** A stored reservation that lies further ahead than this was made before the clock was set back. */
const clockJump = 60_000;

/**
 * GCRA with burst 1: the next free slot is one interval after the last one given out, or now. Returns the milliseconds
 * until it; one further away than `longestMs` is left to others. A queue may grow longer than any clock jump, so it is the
 * time of the last reservation that tells one.
 */
function reserveSlot(db: DatabaseSync, application: string, now: number, intervalMs: number, longestMs = Number.POSITIVE_INFINITY): number {
  const stored = one<{ next: number; reserved_at: number }>(db, "SELECT next, reserved_at FROM limiter WHERE application = ?", application);
  const next = stored === undefined || stored.reserved_at > now + clockJump ? now : stored.next;
  const slot = Math.max(now, next);
  if (slot - now > longestMs) return slot - now;
  run(
    db,
    "INSERT INTO limiter (application, next, reserved_at) VALUES (?, ?, ?) " +
      "ON CONFLICT (application) DO UPDATE SET next = excluded.next, reserved_at = excluded.reserved_at",
    application,
    slot + intervalMs,
    now,
  );
  return slot - now;
}
