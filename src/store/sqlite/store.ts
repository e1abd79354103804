import type { DatabaseSync } from "node:sqlite";
import type { Breaker } from "../../exchange/breaker.ts";
import { VaultError } from "../../errors.ts";
import type { VaultSession, Waiting } from "../../exchange/ports.ts";
import type {
  CreatedVault,
  Creation,
  RunExchange,
  VaultRecord,
  VaultSummary,
} from "../../exchange/records.ts";
import type { JournalEntry } from "../journal/journal.ts";
import { append } from "../journal/journal.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import { readKeyFile } from "../../secrets/key-file.ts";
import { Keyring, neededKeyId } from "../keys/keyring.ts";
import { keyFileOf, noteFile, noteKeyFile } from "../keys/known-states.ts";
import { runExchangesOf, StoredState } from "../stored-state.ts";
import { changeBreaker } from "./breakers.ts";
import { one, rowsIn, run } from "./query.ts";
import { findVaults, listVaults, readVault, summaries } from "./read-vaults.ts";
import { runStep } from "./run-step.ts";
import type { Statement } from "../steps/changes.ts";
import { openDigest } from "../steps/exchange-rows.ts";
import { completeCreation } from "../steps/import.ts";
import type { ExchangeRow } from "../steps/rows.ts";
import { runExchange } from "../steps/vault-record.ts";
import type { Rekeyed, RekeyedStore, RekeyPlan } from "../keys/rekey.ts";
import { migrations } from "./schema.ts";
import type { ProfilePlace } from "../../secrets/sealing.ts";
import { keyIdOf, seal, unseal } from "../../secrets/sealing.ts";
import type { Created, State, WholeState } from "../state.ts";
import type { StoreOptions } from "./state-connection.ts";
import { StateConnection } from "./state-connection.ts";
import type { StateDatabase } from "./state-database.ts";
import { SqliteVaultSession } from "./vault-session.ts";

/**
 * The state in a directory of this machine. Reads nothing before the first call, and creates nothing before the first one that
 * writes. `scripts` are the migrations. Its methods throw `state` if the directory, the database or the key cannot be used, and
 * then overwrite nothing.
 * @throws `invalid-input` if the given key is not a key
 */
export function openStore(
  options: StoreOptions,
  scripts: readonly string[] = migrations,
): LocalState {
  return new SqliteState(options, scripts);
}

/** A state on this machine, with the key that it shares with the secrets of the configuration. */
export interface LocalState extends State {
  /** Seals a secret of the configuration. Creates a key if there is none, so the caller must hold the configuration's lock. */
  sealSecret(place: ProfilePlace, text: string): Promise<string>;
  openSecret(place: ProfilePlace, sealed: string): Promise<string>;
  /** The keys that the key file names; null if there is no key file. */
  keyEntries(): Pick<KeyEntry, "id" | "source">[] | null;
  /** Seals everything with a new key, as `rekey`. */
  rekey(plan: RekeyPlan): Promise<Rekeyed>;
}

class SqliteState extends StoredState implements LocalState, RekeyedStore {
  protected readonly prefix = "";
  readonly shown: string;
  readonly isShared = false;
  readonly #options: StoreOptions;
  readonly #scripts: readonly string[];
  readonly #keyring: Keyring;
  readonly #state: StateConnection;
  #noted: StateDatabase | null = null;

  constructor(options: StoreOptions, scripts: readonly string[]) {
    super();
    this.shown = options.directory;
    this.#options = options;
    this.#scripts = scripts;
    this.#keyring = new Keyring(options.keySource, options.directory, options.warn, options.keys);
    this.#state = new StateConnection(options, scripts);
  }

  async create(grant?: string): Promise<Created> {
    if (grant !== undefined)
      throw new VaultError(
        "usage",
        "--grant: is for a shared state; the operating system guards this one",
      );
    const created = (await this.#state.open()) === null;
    const database = await this.#state.ensure();
    await this.#keyring.prepareState(await database.read(neededKeyId));
    return { created, updated: false, keyId: null };
  }

  async locks(): Promise<null> {
    return await Promise.resolve(null);
  }

  async whole(): Promise<WholeState> {
    return new (await import("./whole-state.ts")).SqliteWhole(this.#options);
  }

  async lock(service: string, uuid: string, waiting: Waiting): Promise<VaultSession> {
    await this.#ready(await this.#state.ensure());
    const lock = await this.#state.locks.take(uuid, waiting);
    try {
      // During the wait the key of the state may have changed, or a damaged state have made room for a backup. The lock prevents both from here on.
      const database = await this.#state.ensure();
      await this.#ready(database);
      await this.#note(database);
      const { clock } = this.#options;
      const parts = {
        uuid: uuid.toLowerCase(),
        database,
        keyring: this.#keyring,
        lock,
        clock,
        breakers: this.breakersKnown,
      };
      return new SqliteVaultSession({ service, ...parts });
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /**
   * Records, once for each database that this process opens, state and key file with each other, and the file: one of them may have been
   * moved, copied or restored, and a rekey reads both.
   */
  async #note(database: StateDatabase): Promise<void> {
    if (this.#noted === database) return;
    const isSealed = (await database.read(neededKeyId)) !== null;
    const { keyFile } = this.#keyring;
    if (isSealed) this.#keyring.rememberState();
    if (isSealed && keyFile !== null && (await database.read(keyFileOf)) !== keyFile)
      await database.write((db) => noteKeyFile(db, keyFile));
    await noteFile(database, String(this.#state.file), this.#options);
    if (isSealed) this.#noted = database;
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

  async summaries(service: string): Promise<VaultSummary[]> {
    return await this.#query((db) => summaries(db, service));
  }

  async run(service: string, name: string, uuid?: string): Promise<RunExchange[]> {
    const rows = await this.#query((db) =>
      rowsIn<ExchangeRow & { uuid: string }>(db, runExchangesOf("", service, name, uuid)),
    );
    const open = async (row: (typeof rows)[number]): Promise<string | null> =>
      row.digest === null
        ? null
        : openDigest(
            await this.#keyring.key(keyIdOf(row.digest)),
            { service, uuid: row.uuid },
            row.id,
            row.digest,
          );
    return await Promise.all(rows.map(async (row) => runExchange(row, await open(row))));
  }

  async completeCreation(
    creation: Creation,
    vault: CreatedVault,
  ): ReturnType<State["completeCreation"]> {
    const { service } = creation;
    for (let tries = 3; ; tries -= 1) {
      const database = await this.#state.ensure();
      await this.#keyring.prepareState(await database.read(neededKeyId));
      const added = this.#state.write((db) => {
        const place = { service, uuid: vault.uuid.toLowerCase(), at: this.time() };
        const key = this.#keyring.fitting(db);
        const here = readVault(db, place, { pairs: [vault.credentials] });
        // A label that another vault has taken meanwhile is no reason to lose the credentials.
        const labelled = tries > 1 ? vault : { ...vault, label: undefined };
        return runStep(db, here, (rows) => completeCreation(rows, key, creation, labelled)).result;
      });
      // Without a lock, the key may have changed in between; the next try obtains it again.
      const generation = await (tries > 0 ? added.catch(() => null) : added);
      if (generation === null) continue;
      // If a damaged state was moved aside in between, the new one needs the pair too.
      if (database === (await this.#state.ensure())) return generation;
    }
  }

  async reserveSlot(
    application: string,
    now: number,
    intervalMs: number,
    longestMs?: number,
  ): Promise<number> {
    if (intervalMs === 0) return 0;
    const database = await this.#state.ensure();
    return await database.write(
      (db) => reserveSlot(db, application, now, intervalMs, longestMs),
      "unsynced",
    );
  }

  now(): number {
    return this.#options.clock.now();
  }

  async latencyMs(): Promise<number> {
    return Promise.resolve(0);
  }

  async sealSecret(place: ProfilePlace, text: string): Promise<string> {
    const database = await this.#state.open();
    const needed = database === null ? null : await database.read(neededKeyId);
    return seal(await this.#keyring.forSecret(needed), place, text);
  }

  async openSecret(place: ProfilePlace, sealed: string): Promise<string> {
    return unseal(await this.#keyring.keyOf(place, keyIdOf(sealed)), place, sealed);
  }

  keyEntries(): Pick<KeyEntry, "id" | "source">[] | null {
    const { path } = this.#options.keySource;
    return path === undefined ? null : readKeyFile(path, this.#options.warn);
  }

  async rekey(plan: RekeyPlan): Promise<Rekeyed> {
    const { rekey } = await import("../keys/rekey.ts");
    const open = (directory: string): RekeyedStore =>
      directory === this.#options.directory
        ? this
        : new SqliteState({ ...this.#options, directory }, this.#scripts);
    return await rekey(this.#options, this.#keyring, open, plan);
  }

  async exclusively<T>(
    waiting: Waiting,
    work: (database: StateDatabase) => Promise<T>,
  ): Promise<T> {
    return await this.#state.locks.withAll(
      waiting,
      async () => await work(await this.#state.ensure()),
    );
  }

  async using<T>(query: (database: StateDatabase) => Promise<T>): Promise<T> {
    return await query(await this.#state.ensure());
  }

  protected async query(statement: Statement): Promise<unknown[]> {
    return await this.#query((db) => rowsIn(db, statement));
  }

  protected async append(entry: JournalEntry): Promise<void> {
    await this.#state.write((db) => append(db, entry));
  }

  protected async prepareKey(): Promise<void> {
    const database = await this.#state.ensure();
    await this.#keyring.prepareState(await database.read(neededKeyId));
  }

  protected async changeBreaker(
    service: string,
    change: (breaker: Breaker) => Breaker,
  ): Promise<Breaker> {
    const database = await this.#state.ensure();
    return await database.write((db) => changeBreaker(db, service, change), "unsynced");
  }

  /** Runs a query; without a state the result is empty, and none is created. */
  async #query<T>(query: (db: DatabaseSync) => T[]): Promise<T[]> {
    const database = await this.#state.open();
    return database === null ? [] : await database.read(query);
  }
}

/** A reservation that was made this far in the future, in milliseconds, shows that the clock was set back. */
const clockJump = 60_000;

/**
 * GCRA with burst 1: the next free slot is one interval after the last reserved one, or now. Returns the milliseconds until it; one
 * that is more than `longestMs` away is not reserved. A queue may grow longer than any clock jump, so the time of the last
 * reservation reveals a jump.
 */
function reserveSlot(
  db: DatabaseSync,
  application: string,
  now: number,
  intervalMs: number,
  longestMs = Number.POSITIVE_INFINITY,
): number {
  const stored = one<{ next: number; reserved_at: number }>(
    db,
    "SELECT next, reserved_at FROM limiter WHERE application = ?",
    application,
  );
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
