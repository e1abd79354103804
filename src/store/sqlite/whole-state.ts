import { existsSync, mkdtempSync, readdirSync, renameSync, statSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspectState } from "./inspect.ts";
import type { Opening } from "./open-database.ts";
import {
  withMode,
  checkOurs,
  configure,
  createDatabase,
  isOlder,
  isOurs,
  marksOf,
  migrate,
  schemaVersion,
} from "./open-database.ts";
import { dialect } from "./query.ts";
import type { StateConnection, StoreOptions } from "./state-connection.ts";
import { retryBusyDatabase } from "./state-database.ts";
import { engineOf } from "./state-file.ts";
import type { VaultLocks } from "./vault-lock.ts";
import { checkTarget, problemsOf, writeBackup } from "../backup/backup.ts";
import type { BackupFacts, Restore, StateFacts, WholeState } from "../state.ts";
import { prepareRestore } from "../backup/restore.ts";
import type { StateHistory } from "../journal/history.ts";
import { openHistory } from "../journal/history.ts";
import type { Rekeyed } from "../keys/rekey.ts";
import { rekey } from "../keys/rekey.ts";
import { Keyring, neededKeyId } from "../keys/keyring.ts";
import { unusableVersion } from "../schema.ts";
import type { Statement } from "../statement.ts";
import type { StoredState } from "../stored-state.ts";
import type { StoredVaultSession } from "../vault-session.ts";
import { expectMoved, useAgain } from "../whole/claim.ts";
import type { Moves } from "../whole/marks.ts";
import { notHere } from "../whole/marks.ts";
import type { WholeOperation } from "../whole/whole.ts";
import { Whole, WholeReader } from "../whole/whole.ts";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { syncFolder } from "../../files/durable-file.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { isDamaged, asStateError, onState } from "../../files/state-error.ts";
import type { GivenKey } from "../../secrets/key-source.ts";
import { ofBackup } from "../../secrets/key-source.ts";
import type { SealingKey } from "../../secrets/sealing.ts";

/** What the whole of a local state takes of its store. */
export interface WholeStore extends Pick<StoredState, "lock"> {
  readonly state: StateConnection;
  readonly keyring: Keyring;
  /** Changes it durably in one transaction, without the lock of a vault. Makes a state if there is none. */
  changeAll(statements: readonly Statement[]): Promise<void>;
}

/** The whole of the state in a directory of this machine. Paths are absolute. */
export class SqliteWhole implements WholeState {
  readonly shown: string;
  readonly dialect = dialect;
  readonly #store: WholeStore;
  readonly #options: StoreOptions;
  readonly #keyring: Keyring;
  readonly #opening: Opening;
  readonly #locks: VaultLocks;

  constructor(options: StoreOptions, store: WholeStore) {
    this.shown = options.directory;
    this.#store = store;
    this.#options = options;
    this.#keyring = store.keyring;
    this.#opening = store.state.opening;
    this.#locks = store.state.locks;
  }

  async read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T | null> {
    if (!checkPrivateDirectory(this.shown) || !existsSync(this.#opening.path)) return null;
    // Whoever is to claim it or finish its move reads it, too.
    if (await this.#using("BEGIN", async (db) => await Promise.resolve(isOlder(db))))
      await this.transact("move", this.#store.state.migrating(), async () => Promise.resolve());
    return await this.#using(
      "BEGIN",
      async (db) => await work(new WholeReader(engineOf(db), marksOf(db), this.#keyring)),
    );
  }

  async transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T> {
    refuseNetwork(this.shown);
    ensurePrivateDirectory(this.shown);
    return await this.#locks.withAll(waiting, async () => {
      createDatabase(this.#opening);
      return await this.#using("BEGIN IMMEDIATE", async (db) => {
        const isUnused = schemaVersion(db) === unusableVersion;
        if (isUnused && operation !== "claim" && operation !== "move")
          throw notHere(this.shown, marksOf(db));
        migrate(db);
        return await work(new Whole(engineOf(db), marksOf(db), this.#keyring, neededKeyId(db)));
      });
    });
  }

  /** As `backup` says, by VACUUM INTO, which reads one snapshot, WAL included, and leaves out what was erased. */
  async backup(file: string, force: boolean): Promise<BackupFacts> {
    const { clock, warn } = this.#options;
    checkTarget(this.#options, file, force);
    const database = await this.#store.state.open();
    if (database === null) {
      throw new VaultError("state", `there is no state in ${this.shown}; nothing to back up`, {
        hint: "use another directory with --state",
      });
    }
    await this.#keyring.ensure(await database.read(neededKeyId));
    return await writeBackup({
      file,
      now: clock.now(),
      warn,
      copy: async (temporary) => {
        truncateSync(temporary);
        await database.copyInto(temporary, file);
      },
      keyring: this.#keyring,
      dialect,
      change: async (statements) => await this.change(statements),
    });
  }

  async lock(service: string, uuid: string, waiting: Waiting): Promise<StoredVaultSession> {
    return await this.#store.lock(service, uuid, waiting, false);
  }

  async change(statements: readonly Statement[]): Promise<void> {
    await this.#store.changeAll(statements);
  }

  async prepareRestore(file: string, key?: GivenKey): Promise<Restore> {
    const { keySource, warn, keys, clock } = this.#options;
    const keyring = new Keyring(ofBackup(keySource, key), file, warn, keys);
    return await prepareRestore(this, keyring, () => clock.now(), file);
  }

  async isDamaged(): Promise<boolean> {
    return await Promise.resolve(
      onState(this.shown, () => checkPrivateDirectory(this.shown)) &&
        onState(this.shown, () => isUnreadable(this.#opening.path)),
    );
  }

  async moveAside(waiting: Waiting): Promise<string | null> {
    refuseNetwork(this.shown);
    ensurePrivateDirectory(this.shown);
    const moved = (): string | null =>
      isUnreadable(this.#opening.path) ? moveAside(this.shown, this.#options.clock.now()) : null;
    return await this.#locks.withAll(waiting, async () =>
      Promise.resolve(onState(this.shown, moved)),
    );
  }

  async inspect(): Promise<StateFacts> {
    return await inspectState(this.#options, this.#opening, this.#locks);
  }

  async claim(waiting: Waiting, seen: Moves | null): Promise<void> {
    expectMoved(this.shown, seen);
    await this.transact("claim", waiting, async (whole) => {
      await useAgain(whole, this.shown, seen, this.#options.clock.now());
    });
  }

  async history(): Promise<StateHistory | null> {
    return await openHistory(this.shown, this.#options.clock);
  }

  async rekey(to: SealingKey | undefined, waiting: Waiting): Promise<Rekeyed> {
    const { clock, by, warn } = this.#options;
    const keyring = this.#keyring;
    const rekeyed = await rekey({ place: this, keyring, by, now: clock.now(), given: to, waiting });
    try {
      // Unused parts of the file must not keep what the old key opens.
      await (await this.#store.state.open())?.compact();
    } catch (error) {
      warn(
        `unused parts of ${this.#opening.path} may still hold what the old key opens: ${(error as Error).message}`,
      );
    }
    return rekeyed;
  }

  /** Does the work in one transaction of a connection of its own, whatever the version of the database. */
  async #using<T>(begin: string, work: (db: DatabaseSync) => Promise<T>): Promise<T> {
    const { clock, platform } = this.#options;
    const { path } = this.#opening;
    const db = new DatabaseSync(withMode(path, "rw"));
    try {
      await retryBusyDatabase(clock, path, () => {
        configure(db, platform);
        if (schemaVersion(db) !== unusableVersion) checkOurs(db, path);
        db.exec(begin);
      });
      const result = await work(db);
      await retryBusyDatabase(clock, path, () => db.exec("COMMIT"));
      return result;
    } catch (error) {
      throw asStateError(path, error);
    } finally {
      db.close();
    }
  }
}

/** Whether the database is damaged, or no database of this program, or was just being moved aside. */
function isUnreadable(path: string): boolean {
  if (!existsSync(path)) return false;
  if (begunAside(dirname(path)) !== undefined) return true;
  try {
    if (!statSync(path).isFile()) return true;
    // Others may write meanwhile, so it is not opened as immutable. The file alone may be torn, and its WAL have what it lacks.
    const db = new DatabaseSync(withMode(path, "ro"), { readOnly: true });
    try {
      return !isOurs(db) || problemsOf(db).length > 0;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDamaged(error)) return true;
    throw error;
  }
}

/** A folder to which the WAL of a damaged state was moved, and the database was not. */
function begunAside(directory: string): string | undefined {
  const folders = readdirSync(directory).filter((name) => name.startsWith("damaged-"));
  const has = (folder: string, name: string): boolean => existsSync(join(directory, folder, name));
  const begun = folders.find((folder) => has(folder, "vault.db-wal") && !has(folder, "vault.db"));
  return begun && join(directory, begun);
}

/**
 * Moves a damaged database into a folder beside it, and returns that. Its WAL goes first, because a new database must not meet
 * it. Call it with every vault locked.
 */
function moveAside(directory: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const folder = begunAside(directory) ?? mkdtempSync(join(directory, `damaged-${stamp}-`));
  syncFolder(directory);
  for (const name of ["vault.db-shm", "vault.db-wal", "vault.db"]) {
    if (!existsSync(join(directory, name))) continue;
    renameSync(join(directory, name), join(folder, name));
    syncFolder(folder);
    syncFolder(directory);
  }
  return folder;
}
