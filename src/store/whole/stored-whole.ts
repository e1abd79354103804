import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import type { BackupFacts, RekeyFacts, RestoredVault } from "../../documents/state.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { UnsafeFileSystem } from "../../files/disk.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { asStateError, isDamaged, onState } from "../../files/state-error.ts";
import { Keyring, type GivenKey, type KeyPlace } from "../../secrets/keys.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { command, noted } from "../../way.ts";
import { checkBackup, contentsOf, copyInto, readerOf, type Holdings } from "../backup/backup.ts";
import { countedThere, restoreVault } from "../backup/restore-vault.ts";
import { mapSealed, nameOf, raising, resealing, rowsOf, type VaultColumns } from "../document.ts";
import { openSnapshot } from "../sqlite/database.ts";
import { StateHistory } from "../sqlite/history.ts";
import type { Owner, VaultRows } from "../steps/rows.ts";
import type { StoredState } from "../stored-state.ts";
import { appendingAlone, marking } from "../tables.ts";
import { afterwards, checkHere, type Marks } from "./marks.ts";
import { tables, type Whole, type WholeOperation, type WholeReader } from "./whole.ts";

/** A state, and operations on the whole of it. */
export type State = StoredState & { whole(): Promise<StoredWhole> };

/** What can be found out about a state without changing anything. */
export interface StateFacts {
  problem: VaultError | null;
  /** How many there are; null if there is no state yet, or it cannot be read. */
  vaults: number | null;
  /** What its place says of itself; null if it cannot be asked. */
  place: DirectoryFacts | ServerFacts | null;
}

export interface DirectoryFacts {
  type: "directory";
  directory: string;
  /** What SQLite finds wrong with the database first; null if nothing is. */
  damage: string | null;
  /** The file systems of the state and of its key file, where what is kept is not safe. */
  disk: UnsafeFileSystem | null;
  keyDisk: UnsafeFileSystem | null;
  /** Its id, if there is one; how many values it opens, and why it cannot be used or one does not open. */
  key: KeyPlace & { id: string | null; opened: number; problem: VaultError | null };
  /** The journal's newest backup. */
  lastBackup: { at: string; file: string } | null;
}

export interface ServerFacts {
  type: "server";
  location: string;
  hasTls: boolean;
  keyId: string;
}

export interface RestoreFacts {
  vaults: RestoredVault[];
  /** Vaults that others held for too long; nothing of them was restored. */
  failed: { service: string; uuid: string; label: string | null; error: VaultError }[];
}

/** A restore that was prepared: nothing is changed yet. */
export interface Restore {
  backup: Holdings;
  /** There is no state yet that holds anything. */
  isEmpty: boolean;
  /** @throws `interrupted`, `state`, with some of the vaults restored; `busy` before that */
  run: (waiting: Waiting) => Promise<RestoreFacts>;
}

const isUnwritable = "the backup cannot be written";

/** A place for a state, local or in a database. Methods throw `state` if it cannot be used. */
export type WholePlace = Pick<StoredWhole, "shown" | "read" | "transact">;

/** What a state says of its moves, also if a vault of it is damaged; null if nothing is there. */
export const marksAt = async (place: WholePlace): Promise<Marks | null> =>
  await place.read(({ marks }) => marks, false);

/** Operations on a whole state. Each engine's method does what only that engine needs. */
export abstract class StoredWhole<Store extends StoredState = StoredState> {
  /** For messages and marks: a directory, or an address without its password. */
  readonly shown: string;
  readonly store: Store;

  constructor(store: Store) {
    this.shown = store.shown;
    this.store = store;
  }

  /**
   * Reads a snapshot while others go on; null if nothing is there.
   * @throws `state` for a damaged one, unless `isWhole` is false
   */
  abstract read<T>(
    work: (whole: WholeReader) => T | Promise<T>,
    isWhole?: boolean,
  ): Promise<T | null>;
  /**
   * Does the work in one transaction once no vault is in use; if it throws, nothing is changed.
   * Nobody begins anything meanwhile; a stall does no harm. Makes a missing local state.
   * @throws `busy`, `interrupted`; `state` for one that was moved, unless the operation handles it
   */
  abstract transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T>;
  /** Finds out what it can without changing anything. A problem is a fact. */
  abstract inspect(): Promise<StateFacts>;

  /** What the journal tells, as of now: a copy in memory. @throws `state` as `backup` */
  async history(): Promise<StateHistory> {
    await this.store.breakers();
    const db = new DatabaseSync(":memory:");
    await this.read(async (whole) => await copyInto(db, whole, ["vaults", "journal"]));
    return new StateHistory(db);
  }

  /**
   * Writes a backup. Values stay sealed; the key is not copied. The file (mode 0600, alike for both
   * engines) is whole and durable when this resolves, or does not exist. Before, all credentials
   * count as known elsewhere; failing that is a warning.
   * @throws `state` if the state cannot be read, or the file not be written
   */
  async backup(file: string, signal?: AbortSignal): Promise<BackupFacts> {
    // Whatever it is asked, it says so if it is not used any more, or is a copy.
    await this.store.breakers();
    const { dialect, parts } = this.store;
    const { warn, keyring } = parts;
    const at = this.store.time();
    try {
      const holdings = await replaceLater(file, async (temporary) => {
        const isThere = await this.read(async (source) => {
          const db = new DatabaseSync(temporary);
          try {
            // It is synced as a whole, and nothing is left beside it.
            db.exec("PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE");
            await copyInto(db, source, tables, signal);
            db.exec("COMMIT");
            return true;
          } catch (error) {
            // A damaged source is told as that.
            throw isDamaged(error) ? error : asStateError(file, error, isUnwritable);
          } finally {
            db.close();
          }
        });
        if (isThere !== true)
          throw new VaultError("state", `there is no state in ${this.shown}; nothing to back up`, {
            hint: "use another directory with --state",
          });
        const copied = await contentsOf(temporary, keyring, warn);
        const { vaults, pending, keyId } = copied;
        const entry = { at, event: "backup", detail: { file, vaults, pending, keyId } };
        // After the snapshot, so that all in it is known elsewhere; and before the file is there: a
        // crash in between leaves none that the state does not know of.
        await this.store
          .record(raising(dialect, "copies"), appendingAlone(dialect, entry))
          .catch((error: unknown) =>
            warn(`the state could not record the backup: ${(error as Error).message}`),
          );
        return copied;
      });
      return { ...holdings, file, bytes: statSync(file).size, at };
    } catch (error) {
      throw asStateError(file, error, isUnwritable);
    }
  }

  /**
   * Prepares a restore; `given` is the key of the file if that is not this state's. Each vault is
   * restored under its own lock: killed at any instant and run again, it has the same result.
   * @throws `invalid-input`, `state` for a file that is no whole backup, or an unusable present state
   */
  async prepareRestore(file: string, given?: GivenKey): Promise<Restore> {
    const { keySource, warn } = this.store.parts;
    const source = { ...keySource, given: given ?? keySource.given, flag: "--backup-key" };
    const keyring = new Keyring(source, file, warn);
    const backup = await checkBackup(file, keyring, warn);
    const isEmpty = (await this.read(async (here) => await here.isEmpty())) ?? true;
    const run = async (waiting: Waiting): Promise<RestoreFacts> => {
      const db = onState(file, () => openSnapshot(file, "the backup"), "the backup cannot be used");
      try {
        return await this.#restoreAll(file, readerOf(db, keyring), waiting);
      } finally {
        db.close();
      }
    };
    return { backup, isEmpty, run };
  }

  async #restoreAll(file: string, source: WholeReader, waiting: Waiting): Promise<RestoreFacts> {
    const { store } = this;
    const { dialect } = store;
    const from = await source.key();
    const at = store.time();
    const rowsAt = (row: VaultColumns): VaultRows => rowsOf(row, source.marks, at);
    const counted: string[] = [];
    for await (const row of source.vaults()) counted.push(...countedThere(rowsAt(row)).ids);
    const past = new Set(await this.read(async (here) => await here.exchangesAmong(counted)));
    const vaults: RestoredVault[] = [];
    const failed: RestoreFacts["failed"] = [];
    const restoreOne = async (row: VaultColumns): Promise<void> => {
      const { service, uuid, label } = row;
      const { credentials, superseded } = rowsAt(row);
      const spent = new Set([...superseded, ...(await source.spent(row))]);
      const prints = [...spent, ...credentials.map(({ fingerprint }) => fingerprint)];
      try {
        const session = await store.lock(service, uuid, waiting, false);
        const restore = (rows: VaultRows, isLabelTaken: boolean): RestoredVault => {
          const theirs = rowsAt(mapSealed(row, resealing(from, rows.sealing)));
          theirs.superseded = spent;
          return restoreVault(rows, theirs, { past, isLabelTaken });
        };
        try {
          vaults.push(await session.runLabeling(restore, prints));
        } finally {
          await session.release();
        }
      } catch (cause) {
        const error = asVaultError(cause);
        const next = [noted(command`vault state restore ${file}`, "restores what is missing")];
        const facts = { retry: "safe", next } as const;
        if (error.code === "interrupted")
          throw new VaultError("interrupted", "interrupted; the restore is incomplete", facts);
        if (error.code !== "busy") throw error;
        failed.push({ service, uuid, label, error });
      }
    };
    await eachOf(source.vaults(), vaultsAtATime, restoreOne);
    const predecessors = afterwards((await marksAt(this)) ?? source.marks, source.marks);
    const taken = vaults.filter(({ reason }) => reason === "taken").length;
    await store.record(
      appendingAlone(dialect, { at: store.time(), event: "restored", detail: { file, taken } }),
      marking(dialect.prefix, "predecessors", JSON.stringify(predecessors)),
    );
    const byName = (a: Owner, b: Owner): number => (nameOf(a) < nameOf(b) ? -1 : 1);
    return { vaults: vaults.toSorted(byName), failed: failed.toSorted(byName) };
  }

  /**
   * Seals it with another key, named in the same transaction: whoever has the former key writes
   * nothing from then on. `given` is kept elsewhere; without it, a new one is made in a file, durable
   * before sealing. The former's stays, for what else it opens; `from` is null if there was none.
   * @throws `busy`, `interrupted`; `state` if a value does not open, and nothing is changed
   */
  async rekey(
    given: SealingKey | undefined,
    waiting: Waiting,
  ): Promise<Pick<RekeyFacts, "to" | "values" | "machines"> & { from: string | null }> {
    const make = await this.store.parts.keyring.fresh(given);
    return await this.transact("rekey", waiting, async (whole) => {
      checkHere(this.shown, whole.marks);
      const from = whole.marks.key;
      const to = make();
      const machines = new Set<string>();
      for await (const row of whole.vaults())
        for (const { by: actor } of rowsOf(row, whole.marks, "").exchanges)
          if (actor !== null) machines.add(actor.host);
      await whole.reseal(to);
      await whole.mark({ key: to.id });
      // Everything opens with it, or the transaction ends here.
      const values = await whole.openAll();
      const detail = { from, to: to.id, values };
      await whole.note({ at: this.store.time(), event: "rekeyed", detail });
      return { from, to: to.id, values, machines: [...machines].sort() };
    });
  }
}
