import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { replaceWith } from "../../files/durable-file.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { finish, install, makeKeptFolder, prepared, removeUnused } from "../backup/install.ts";
import type { Contents } from "../contents.ts";
import { keyIdsOf, localSealing, opened, sealed } from "../contents.ts";
import { Keyring } from "../keys/keyring.ts";
import type { StoreOptions } from "../local-store.ts";
import type { MovablePlace, Standing } from "../move.ts";
import { readContents } from "./contents.ts";
import { checkOurs, migrate, movesOf, schemaVersion, withMode } from "./open-database.ts";
import { one, run } from "./query.ts";
import { migrations, unusableVersion } from "./schema.ts";
import { retryBusyDatabase } from "./state-database.ts";
import { writeStateFile } from "./state-file.ts";
import { VaultLocks } from "./vault-lock.ts";

/** A directory of this machine, as a place from or to which a state is moved. */
export class DirectoryPlace implements MovablePlace {
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

  async standing(): Promise<Standing> {
    if (!checkPrivateDirectory(this.shown) || !existsSync(this.#path)) return "empty";
    return await this.#using((db): Standing => {
      const { moved, incoming } = schemaVersion(db) === unusableVersion ? movesOf(db) : {};
      if (moved !== undefined) return { moved };
      if (incoming !== undefined) return { incoming };
      checkOurs(db, this.#path, migrations.length);
      const sql = "SELECT EXISTS (SELECT 1 FROM vaults) OR EXISTS (SELECT 1 FROM journal) AS used";
      return one<{ used: number }>(db, sql)?.used === 1 ? "active" : "empty";
    });
  }

  async exclusively<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
    ensurePrivateDirectory(this.shown);
    const locks = new VaultLocks(join(this.shown, "locks"), this.#options.clock, async () => Promise.resolve(0));
    return await locks.withAll(waiting, work);
  }

  async read(): Promise<Contents> {
    const contents = await this.#using((db) => {
      if (schemaVersion(db) < migrations.length) migrate(db, migrations);
      return readContents(db);
    });
    return opened(contents, localSealing, await this.#keyring.all(keyIdsOf(contents, localSealing)));
  }

  async receive(contents: Contents, from: string): Promise<void> {
    const { directory, clock } = this.#options;
    refuseNetwork(directory);
    finish(directory);
    removeUnused(directory);
    this.#keyring.rememberState();
    const own = sealed(contents, localSealing, await this.#keyring.forSecret(null));
    const folder = makeKeptFolder(directory, clock.now());
    replaceWith(join(folder, prepared), (path) => writeStateFile(path, own, { type: "incoming", from }));
    // What is replaced is empty, or was left by an interrupted move.
    const replaced = install(directory, folder);
    if (replaced !== null) rmSync(replaced, { recursive: true });
  }

  async markMoved(to: string): Promise<void> {
    await this.#using((db) => {
      run(db, "INSERT INTO meta VALUES ('moved', ?)", to);
      db.exec(`PRAGMA user_version = ${unusableVersion}`);
    });
  }

  async activate(): Promise<void> {
    await this.#using((db) => {
      run(db, "DELETE FROM meta WHERE name = 'incoming'");
      db.exec(`PRAGMA user_version = ${migrations.length}`);
    });
  }

  /** Does the work in one transaction, whatever the version of the database. */
  async #using<T>(work: (db: DatabaseSync) => T): Promise<T> {
    return await retryBusyDatabase(this.#options.clock, this.#path, () => {
      const db = new DatabaseSync(withMode(this.#path, "rw"));
      try {
        db.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE");
        const result = work(db);
        db.exec("COMMIT");
        return result;
      } finally {
        db.close();
      }
    });
  }
}
