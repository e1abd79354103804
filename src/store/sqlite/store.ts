import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { ensureRoom } from "../../files/disk.ts";
import { Keyring } from "../keyring.ts";
import type { Outbox } from "../postgres/outbox.ts";
import type { Created, Lock, State, WholeState } from "../state.ts";
import type { Statement } from "../statement.ts";
import { raising } from "../document.ts";
import { prunedBefore, pruning } from "../journal/journal.ts";
import type { StateParts } from "../stored-state.ts";
import { StoredState } from "../stored-state.ts";
import type { Durability } from "../vault-session.ts";
import type { StoredVaultSession } from "../vault-session.ts";
import type { Marks } from "../whole/marks.ts";
import { LockedVault } from "./locked-vault.ts";
import { marksOf } from "./open-database.ts";
import { dialect, keyIdIn, metaOf, noteMeta, one, rowsIn } from "./query.ts";
import type { StoreOptions } from "./state-database.ts";
import { StateDatabase } from "./state-database.ts";

/**
 * A state in a directory. Reads nothing before the first call, creates nothing before one that
 * writes. Methods throw `state` for an unusable directory, database or key, overwriting nothing.
 */
export class SqliteState extends StoredState implements State {
  readonly dialect = dialect;
  readonly shown: string;
  readonly isShared = false;
  readonly parts: StateParts & StoreOptions;
  readonly database: StateDatabase;
  #isNoted = false;
  /** Of this state, as of when the database was opened. */
  #marks: Marks | null = null;
  /** What this machine has kept of shared states. */
  #outbox: Outbox | null = null;

  constructor(options: StoreOptions) {
    super();
    this.shown = options.directory;
    const { keySource, directory, warn, keys } = options;
    this.parts = { ...options, keyring: new Keyring(keySource, directory, warn, keys) };
    this.database = new StateDatabase(options);
  }

  get isNew(): boolean {
    return this.database.isNew;
  }

  async create(grant?: string): Promise<Created> {
    if (grant !== undefined)
      throw new VaultError(
        "usage",
        "--grant: is for a shared state; the operating system guards this one",
      );
    const created = (await this.database.open()) === null;
    const { id } = await this.parts.keyring.prepare(this.database);
    return { created, updated: false, keyId: id };
  }

  /** Nobody else has used it; what came with a backup of a shared state is added vault by vault. */
  async gather(): Promise<void> {
    await Promise.resolve();
  }

  async locks(): Promise<Lock[]> {
    return (await this.database.open()) === null ? [] : this.database.locks.holders();
  }

  async whole(): Promise<WholeState> {
    return new (await import("./whole-state.ts")).SqliteWhole(this);
  }

  async lock(
    service: string,
    uuid: string,
    waiting: Waiting,
    offers = true,
  ): Promise<StoredVaultSession> {
    await this.#ready();
    const lock = await this.database.locks.take(uuid, waiting);
    try {
      // During the wait the key of the state may have changed. The lock prevents that from here on.
      await this.#ready();
      await this.#note();
      const parts = { ...this.parts, database: this.database, lock, breakers: this.breakersKnown };
      const session = new LockedVault({ ...parts, service, uuid });
      if (offers) await this.#bringBack(session);
      return session;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /**
   * Records the file's inode number, once in a process. If another is on record, the state was
   * copied, the original may still be used: credentials count as known elsewhere, with one warning.
   */
  async #note(): Promise<void> {
    const { database } = this;
    if (this.#isNoted) return;
    const file = String(database.file);
    const [marks, oldest, noted] = await database.read((db) => [
      marksOf(db),
      one<{ at: string }>(db, "SELECT at FROM journal ORDER BY seq LIMIT 1")?.at,
      metaOf(db, "file"),
    ]);
    const before = prunedBefore(oldest, this.now());
    if (before !== null) await this.change(() => pruning("", before), "unsynced");
    this.#marks = marks;
    const note = (db: DatabaseSync): boolean => {
      // Read again: of several that come here at the same time, one marks the credentials.
      const former = metaOf(db, "file") ?? file;
      noteMeta(db, "file", file);
      if (former !== file) rowsIn(db, raising(dialect, "copies"));
      return former !== file;
    };
    if (noted !== file && (await database.write(note)))
      this.parts.warn(
        `the state in ${this.shown} was copied or moved: if the original is still in use, the two replace each other's credentials, ` +
          "and can lock a vault together",
      );
    this.#isNoted = true;
  }

  /** Offers what this machine kept of shared states that came here, and may have lost it. */
  async #bringBack(session: StoredVaultSession): Promise<void> {
    const { state = "", predecessors = [] } = this.#marks ?? {};
    if (predecessors.length === 0) return;
    const { Outbox } = await import("../postgres/outbox.ts");
    const outbox = (this.#outbox ??= new Outbox(this.parts));
    const { service, uuid } = session;
    const prints = outbox.of(uuid).map(({ fingerprint }) => fingerprint);
    if (prints.length === 0) return;
    const rows = await session.readStored({ service, uuid, at: this.time() }, prints);
    const here = { states: [state, ...predecessors], address: this.shown };
    await outbox.offer(session, rows, here);
  }

  async #ready(): Promise<void> {
    await this.parts.keyring.ensure(await this.database.read(keyIdIn));
  }

  now(): number {
    return this.parts.clock.now();
  }

  protected async read(statement: Statement): Promise<unknown[]> {
    if ((await this.database.open()) === null) return [];
    return await this.database.read((db) => rowsIn(db, statement));
  }

  protected async change(
    statements: () => readonly Statement[],
    durability: Durability,
  ): Promise<unknown[]> {
    return await this.database.write(
      (db) => statements().map((statement) => rowsIn(db, statement))[0] ?? [],
      durability,
    );
  }

  protected async prepareCreation(): Promise<void> {
    await this.parts.keyring.prepare(this.database);
    ensureRoom(this.parts.directory);
  }
}
