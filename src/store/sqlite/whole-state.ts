import { existsSync, mkdtempSync, readdirSync, renameSync, statSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspectState } from "./inspect.ts";
import {
  withMode,
  checkOurs,
  configure,
  createDatabase,
  isOlder,
  isOurs,
  marksOf,
  migrate,
  retryBusyDatabase,
  schemaVersion,
} from "./open-database.ts";
import type { LocalStore } from "./state-database.ts";
import { engineOf, readerOf } from "./state-file.ts";
import { problemsOf } from "../backup/backup.ts";
import type { Rekeyed, StateFacts } from "../state.ts";
import type { StateHistory } from "../journal/history.ts";
import { openHistory } from "../journal/history.ts";
import { neededKeyId } from "../keys/keyring.ts";
import { unusableVersion } from "../schema.ts";
import { notHere } from "../whole/marks.ts";
import { StoredWhole } from "../whole/stored-whole.ts";
import type { WholeOperation, WholeReader } from "../whole/whole.ts";
import { Whole } from "../whole/whole.ts";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { syncFolder } from "../../files/durable-file.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { isDamaged, asStateError, onState } from "../../files/state-error.ts";
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
        const isUnused = schemaVersion(db) === unusableVersion;
        if (isUnused && operation !== "claim" && operation !== "move")
          throw notHere(this.shown, marksOf(db));
        migrate(db);
        return await work(
          new Whole(engineOf(db), marksOf(db), this.store.parts.keyring, neededKeyId(db)),
        );
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
    await parts.keyring.ensure(await database.read(neededKeyId));
  }

  /** By VACUUM INTO, which reads one snapshot, WAL included, and leaves out what was erased. */
  protected async copy(empty: string, file: string): Promise<void> {
    truncateSync(empty);
    await this.store.database.copyInto(empty, file);
  }

  override async isDamaged(): Promise<boolean> {
    return await Promise.resolve(
      onState(this.shown, () => checkPrivateDirectory(this.shown)) &&
        onState(this.shown, () => isUnreadable(this.store.database.opening.path)),
    );
  }

  override async moveAside(waiting: Waiting): Promise<string | null> {
    refuseNetwork(this.shown);
    ensurePrivateDirectory(this.shown);
    const moved = (): string | null =>
      isUnreadable(this.store.database.opening.path)
        ? moveAside(this.shown, this.store.parts.clock.now())
        : null;
    return await this.store.database.locks.withAll(waiting, async () =>
      Promise.resolve(onState(this.shown, moved)),
    );
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
