import { existsSync, truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { inspectState } from "./inspect.ts";
import {
  withMode,
  checkOurs,
  configure,
  createDatabase,
  isOlder,
  marksOf,
  migrate,
  retryBusyDatabase,
} from "./open-database.ts";
import type { LocalStore } from "./state-database.ts";
import { engineOf, readerOf } from "./state-file.ts";
import { problemsOf } from "../backup/backup.ts";
import type { Rekeyed, StateFacts } from "../state.ts";
import type { StateHistory } from "../journal/history.ts";
import { openHistory } from "../journal/history.ts";
import { keyIdIn } from "../keys/keyring.ts";
import { notHere } from "../whole/marks.ts";
import { StoredWhole } from "../whole/stored-whole.ts";
import type { WholeOperation, WholeReader } from "../whole/whole.ts";
import { Whole } from "../whole/whole.ts";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { asStateError, damagedState } from "../../files/state-error.ts";
import type { SealingKey } from "../../secrets/sealing.ts";

/** The whole of the state in a directory of this machine. Paths are absolute. */
export class SqliteWhole extends StoredWhole<LocalStore> {
  async read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T | null> {
    if (!checkPrivateDirectory(this.shown) || !existsSync(this.store.database.opening.path))
      return null;
    // Whoever is to claim it or finish its move reads it, too.
    if (await this.#using("BEGIN", async (db) => await Promise.resolve(isOlder(db))))
      await this.transact("move", this.store.database.migrating(), async () => Promise.resolve());
    return await this.#using(
      "BEGIN",
      async (db) => await work(readerOf(db, this.store.parts.keyring)),
    );
  }

  async transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T> {
    refuseNetwork(this.shown);
    ensurePrivateDirectory(this.shown);
    return await this.store.database.locks.withAll(waiting, async () => {
      createDatabase(this.store.database.opening);
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

  /** By VACUUM INTO, which reads one snapshot, WAL included, and leaves out what was erased. */
  protected async copy(empty: string, file: string): Promise<void> {
    truncateSync(empty);
    await this.store.database.copyInto(empty, file);
  }

  override async expectWhole(): Promise<void> {
    const { path } = this.store.database.opening;
    if (!checkPrivateDirectory(this.shown) || !existsSync(path)) return;
    const [problem] = await this.#using(
      "BEGIN",
      async (db) => await Promise.resolve(problemsOf(db)),
    );
    if (problem !== undefined) throw damagedState(path, problem);
  }

  async inspect(): Promise<StateFacts> {
    return await inspectState(this.store);
  }

  async history(): Promise<StateHistory | null> {
    return await openHistory(this.shown, this.store.parts.clock);
  }

  override async rekey(to: SealingKey | undefined, waiting: Waiting): Promise<Rekeyed> {
    const rekeyed = await super.rekey(to, waiting);
    try {
      // Unused parts of the file must not keep what the old key opens.
      await this.store.database.compact();
    } catch (error) {
      this.store.parts.warn(
        `unused parts of ${this.store.database.opening.path} may still hold what the old key opens: ${(error as Error).message}`,
      );
    }
    return rekeyed;
  }

  /** Does the work in one transaction of a connection of its own, whatever the version of the database. */
  async #using<T>(begin: string, work: (db: DatabaseSync) => Promise<T>): Promise<T> {
    const { clock, platform } = this.store.parts;
    const { path } = this.store.database.opening;
    const db = new DatabaseSync(withMode(path, "rw"));
    try {
      await retryBusyDatabase(clock, path, () => {
        configure(db, platform);
        checkOurs(db, path);
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
