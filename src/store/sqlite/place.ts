import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { asStateError } from "../../files/state-error.ts";
import { localSealing } from "../contents.ts";
import { Keyring, neededKeyId } from "../keys/keyring.ts";
import type { StoreOptions } from "../local-store.ts";
import { notHere } from "../whole/marks.ts";
import { OpenReader, OpenWhole } from "../whole/open-whole.ts";
import type { Whole, WholeOperation, WholePlace, WholeReader } from "../whole/whole.ts";
import {
  checkOurs,
  configure,
  createDatabase,
  marksOf,
  migrate,
  raiseEpochs,
  schemaVersion,
  withMode,
} from "./open-database.ts";
import { migrations, unusableVersion } from "./schema.ts";
import { retryBusyDatabase } from "./state-database.ts";
import { engineOf } from "./state-file.ts";
import { VaultLocks } from "./vault-lock.ts";

/** A directory of this machine, as a place of whole states. */
export class DirectoryPlace implements WholePlace {
  readonly shown: string;
  readonly #options: StoreOptions;
  readonly #keyring: Keyring;
  readonly #path: string;

  constructor(options: StoreOptions) {
    this.shown = options.directory;
    this.#options = options;
    this.#keyring = new Keyring(options.keySource, options.directory, options.warn, options.keys);
    this.#path = join(options.directory, "vault.db");
  }

  async read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T | null> {
    if (!checkPrivateDirectory(this.shown) || !existsSync(this.#path)) return null;
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
    const { clock, platform } = this.#options;
    refuseNetwork(this.shown);
    ensurePrivateDirectory(this.shown);
    const locks = new VaultLocks(join(this.shown, "locks"), clock, async () => Promise.resolve(0));
    return await locks.withAll(waiting, async () => {
      createDatabase({ path: this.#path, platform, migrations });
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

  /** Does the work in one transaction of a connection of its own, whatever the version of the database. */
  async #using<T>(begin: string, work: (db: DatabaseSync) => Promise<T>): Promise<T> {
    const { clock, platform } = this.#options;
    const db = new DatabaseSync(withMode(this.#path, "rw"));
    try {
      await retryBusyDatabase(clock, this.#path, () => {
        configure(db, platform);
        if (schemaVersion(db) !== unusableVersion) checkOurs(db, this.#path, migrations.length);
        db.exec(begin);
      });
      const result = await work(db);
      await retryBusyDatabase(clock, this.#path, () => db.exec("COMMIT"));
      return result;
    } catch (error) {
      throw asStateError(this.#path, error);
    } finally {
      db.close();
    }
  }
}
