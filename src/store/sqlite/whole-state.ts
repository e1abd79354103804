import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  createDatabase,
  isOlder,
  keyIdIn,
  marksOf,
  migrate,
  one,
  openDatabase,
  retryBusyDatabase,
  snapshotIn,
} from "./database.ts";
import type { StateDatabase } from "./state-database.ts";
import { engineOf, problemOf, readerOf } from "../backup/backup.ts";
import { isListed } from "../document.ts";
import type { StoredState } from "../stored-state.ts";
import type { DirectoryFacts, Rekeyed, StateFacts } from "../whole/stored-whole.ts";
import { StoredWhole } from "../whole/stored-whole.ts";
import { notHere } from "../whole/marks.ts";
import { Whole, type WholeOperation, type WholeReader } from "../whole/whole.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { diskOf, refuseNetwork } from "../../files/disk.ts";
import {
  checkPrivateDirectory,
  checkWriters,
  ensurePrivateDirectory,
  statIfThere,
} from "../../files/private-directory.ts";
import { asStateError, damagedState, onState, unusable } from "../../files/state-error.ts";
import { keyPlace } from "../../secrets/keys.ts";
import type { SealingKey } from "../../secrets/sealing.ts";

/** The whole of the state in a directory of this machine. Paths are absolute. */
export class SqliteWhole extends StoredWhole<StoredState & { database: StateDatabase }> {
  async read<T>(work: (whole: WholeReader) => T | Promise<T>, isWhole = true): Promise<T | null> {
    if (!this.#isThere()) return null;
    // Whoever is to claim it or finish its move reads it, too.
    if (await this.#using("BEGIN", isOlder))
      await this.transact("move", this.store.database.migrating(), async () => Promise.resolve());
    return await this.#using("BEGIN", async (db) => {
      // A damaged state gives nothing away as whole, nor takes it in: it is moved aside.
      const problem = isWhole ? problemOf(db) : null;
      if (problem !== null) throw damagedState(this.store.database.path, problem);
      return await work(readerOf(db, this.store.parts.keyring));
    });
  }

  async transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T> {
    refuseNetwork(this.shown);
    ensurePrivateDirectory(this.shown);
    return await this.store.database.locks.withAll(waiting, async () => {
      createDatabase(this.store.database.path);
      return await this.#using("BEGIN IMMEDIATE", async (db) => {
        migrate(db);
        const marks = marksOf(db);
        const isUnused = marks.fence !== null || marks.moved !== null;
        if (isUnused && operation !== "claim" && operation !== "move")
          throw notHere(this.shown, marks);
        return await work(new Whole(engineOf(db), marks, this.store.parts.keyring));
      });
    });
  }

  protected async expectUsable(): Promise<void> {
    const { database, parts } = this.store;
    if ((await database.open()) === null) {
      throw new VaultError("state", `there is no state in ${this.shown}; nothing to back up`, {
        hint: "use another directory with --state",
      });
    }
    await parts.keyring.ensure(await database.read(keyIdIn));
  }

  /** Reads only, but may create a key file of version 0.2.0. */
  async inspect(): Promise<StateFacts> {
    const { directory, keySource, keyring, clock } = this.store.parts;
    const { given, folder } = keySource;
    let db: DatabaseSync | null = null;
    let problem: VaultError | null = null;
    let found: Found = { damage: null, keyId: null, vaults: null, lastBackup: null };
    try {
      db = await snapshotIn(directory, clock);
      if (db !== null) found = read(db);
    } catch (error) {
      problem = asVaultError(asStateError(this.store.database.path, error));
    }
    const { keyId, vaults, damage, lastBackup } = found;
    const key = { id: keyId, opened: 0, problem: null as VaultError | null };
    try {
      key.id ??= (await given?.read())?.id ?? null;
      await keyring.ensure(keyId);
      if (db !== null && problem === null && damage === null)
        key.opened = await readerOf(db, keyring).openAll();
      // Whoever can write there can take the key away.
      if (given === undefined)
        for (const each of [folder, dirname(folder)]) {
          const stats = onState(each, () => statIfThere(each));
          if (stats !== null) checkWriters(each, stats, "the folder of the key files");
        }
    } catch (error) {
      key.problem = asVaultError(error);
    }
    db?.close();
    const place: DirectoryFacts = {
      type: "directory",
      directory,
      damage,
      disk: diskOf(directory),
      keyDisk: given === undefined ? diskOf(folder) : null,
      key: { ...key, ...keyPlace(keySource, key.id) },
      lastBackup,
    };
    return { problem, vaults, place };
  }

  override async rekey(to: SealingKey | undefined, waiting: Waiting): Promise<Rekeyed> {
    const rekeyed = await super.rekey(to, waiting);
    const { database, parts } = this.store;
    // Unused parts of the file must not keep what the old key opens.
    await database.compact().catch((error: unknown) => {
      const what = `unused parts of ${database.path} may still hold what the old key opens`;
      parts.warn(`${what}: ${(error as Error).message}`);
    });
    return rekeyed;
  }

  #isThere(): boolean {
    return checkPrivateDirectory(this.shown) && existsSync(this.store.database.path);
  }

  /** Does the work in one transaction of its own connection, whatever the database's version. */
  async #using<T>(begin: string, work: (db: DatabaseSync) => T | Promise<T>): Promise<T> {
    const { clock } = this.store.parts;
    const { path } = this.store.database;
    const db = await retryBusyDatabase(clock, path, () => openDatabase(path));
    if (db === null) throw unusable(path, "it was removed meanwhile");
    try {
      await retryBusyDatabase(clock, path, () => db.exec(begin));
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

type Found = Pick<DirectoryFacts, "damage" | "lastBackup"> &
  Pick<StateFacts, "vaults"> & { keyId: string | null };

function read(db: DatabaseSync): Found {
  const count = one<{ n: number }>(db, `SELECT count(*) AS n FROM vaults WHERE ${isListed}`);
  const backup = "SELECT at, detail ->> 'file' AS file FROM journal WHERE event = 'backup'";
  return {
    damage: problemOf(db),
    keyId: keyIdIn(db),
    vaults: count?.n ?? 0,
    lastBackup:
      one<{ at: string; file: string }>(db, `${backup} ORDER BY seq DESC LIMIT 1`) ?? null,
  };
}
