import { existsSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { asStateError, isBusy, isDamaged, onState } from "../../files/state-error.ts";
import { checkTarget, writeBackup } from "../backup/backup.ts";
import type { Holdings } from "../backup/check.ts";
import { checkBackup } from "../backup/check.ts";
import { prepareRestore } from "../backup/restore.ts";
import { localSealing } from "../contents.ts";
import type { StateHistory } from "../journal/history.ts";
import { openHistory } from "../journal/history.ts";
import { append } from "../journal/journal.ts";
import { Keyring, neededKeyId } from "../keys/keyring.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { BackupFacts, Restore, RestoreOptions, StateFacts, WholeState } from "../state.ts";
import { claimMoved } from "../whole/claim.ts";
import { notHere } from "../whole/marks.ts";
import { OpenReader, OpenWhole } from "../whole/open-whole.ts";
import type { Whole, WholeOperation, WholeReader } from "../whole/whole.ts";
import { isUnreadable, moveAside } from "./damaged.ts";
import { inspectState } from "./inspect.ts";
import type { Opening } from "./open-database.ts";
import {
  checkOurs,
  configure,
  createDatabase,
  marksOf,
  migrate,
  openDatabase,
  raiseEpochs,
  schemaVersion,
  withMode,
} from "./open-database.ts";
import { run } from "./query.ts";
import { migrations } from "./schema.ts";
import { unusableVersion } from "../schema.ts";
import type { StoreOptions } from "./state-connection.ts";
import { retryBusyDatabase, StateDatabase } from "./state-database.ts";
import { engineOf } from "./state-file.ts";
import { VaultLocks } from "./vault-lock.ts";

/** The whole of the state in a directory of this machine. Paths are absolute. */
export class SqliteWhole implements WholeState {
  readonly shown: string;
  readonly #options: StoreOptions;
  readonly #keyring: Keyring;
  readonly #opening: Opening;
  readonly #locks: VaultLocks;

  constructor(given: StoreOptions) {
    const {
      directory,
      keySource,
      clock,
      platform,
      warn,
      keys = new Map<string, SealingKey>(),
    } = given;
    this.shown = directory;
    this.#options = { ...given, keys };
    this.#keyring = new Keyring(keySource, directory, warn, keys);
    this.#opening = { path: join(directory, "vault.db"), platform, migrations };
    // Takes only all locks together, which needs no epoch.
    this.#locks = new VaultLocks(join(directory, "locks"), clock, async () => Promise.resolve(0));
  }

  async read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T | null> {
    if (!checkPrivateDirectory(this.shown) || !existsSync(this.#opening.path)) return null;
    return await this.#using(
      "BEGIN",
      async (db) =>
        await work(new OpenReader(engineOf(db), marksOf(db), localSealing, this.#keyring)),
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
        if (!isUnused) migrate(db, migrations);
        // Who was stopped while it had a vault has lost it.
        raiseEpochs(db);
        const needed = neededKeyId(db);
        const own = async () => {
          this.#keyring.rememberState();
          return await this.#keyring.forSecret(needed);
        };
        return await work(
          new OpenWhole(engineOf(db), marksOf(db), localSealing, this.#keyring, needed, own),
        );
      });
    });
  }

  /** As `backup` says, by VACUUM INTO, which reads one snapshot, WAL included, and leaves out what was erased. */
  async backup(file: string, force: boolean): Promise<BackupFacts> {
    const { clock, warn } = this.#options;
    checkTarget(this.#options, file, force);
    const isThere = checkPrivateDirectory(this.shown);
    const connection = isThere
      ? await retryBusyDatabase(clock, this.#opening.path, () => openDatabase(this.#opening))
      : null;
    if (connection === null) {
      throw new VaultError("state", `there is no state in ${this.shown}; nothing to back up`, {
        hint: "use another directory with --state",
      });
    }
    return await writeBackup({
      file,
      now: clock.now(),
      warn,
      copy: async (temporary) =>
        await retryBusyDatabase(clock, file, () => this.#vacuum(connection, file, temporary)),
      record: async (entry) =>
        await new StateDatabase(connection, this.#opening.path, clock).write((db) => {
          append(db, entry);
          run(db, "UPDATE credentials SET elsewhere = 1");
        }),
    });
  }

  #vacuum(connection: DatabaseSync, file: string, temporary: string): Holdings {
    try {
      truncateSync(temporary);
      connection.prepare("VACUUM INTO ?").run(temporary);
      return checkBackup(temporary, Number.POSITIVE_INFINITY, null);
    } catch (error) {
      if (isBusy(error)) throw error;
      throw isDamaged(error)
        ? asStateError(this.#opening.path, error)
        : asStateError(file, error, "the backup cannot be written");
    }
  }

  async prepareRestore(options: RestoreOptions): Promise<Restore> {
    const { keySource, warn, keys, clock } = this.#options;
    const keyring = new Keyring(keySource, options.file, warn, keys);
    return await prepareRestore(this, keyring, () => clock.now(), options);
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
    return await inspectState(this.#options, this.#opening);
  }

  async claim(waiting: Waiting): Promise<void> {
    await claimMoved(this, waiting, this.#options.clock.now());
  }

  async history(): Promise<StateHistory | null> {
    return await openHistory(this.shown, this.#options.clock);
  }

  async resealing(): Promise<readonly []> {
    return await Promise.resolve([]);
  }

  /** Does the work in one transaction of a connection of its own, whatever the version of the database. */
  async #using<T>(begin: string, work: (db: DatabaseSync) => Promise<T>): Promise<T> {
    const { clock, platform } = this.#options;
    const { path } = this.#opening;
    const db = new DatabaseSync(withMode(path, "rw"));
    try {
      await retryBusyDatabase(clock, path, () => {
        configure(db, platform);
        if (schemaVersion(db) !== unusableVersion) checkOurs(db, path, migrations.length);
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
