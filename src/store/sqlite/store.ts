import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { Creation } from "../../exchange/records.ts";
import { ensureRoom } from "../../files/disk.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import {
  inserting,
  isAsSeen,
  marking,
  pruning,
  written,
  type Put,
  type Statement,
} from "../tables.ts";
import { columnsOf, raising, writingBeside } from "../document.ts";
import { Keyring } from "../../secrets/keys.ts";
import type { Lock } from "../../documents/state.ts";
import { labelTaken, lockLost, type Owner, type VaultRow, type VaultRows } from "../steps/rows.ts";
import { StoredState, type Created, type StateParts, type StoreOptions } from "../stored-state.ts";
import { StoredVaultSession, type Durability } from "../vault-session.ts";
import { all, dialect, marksOf, metaIn, rowsIn } from "./database.ts";
import { StateDatabase } from "./state-database.ts";
import type { SqliteWhole } from "./whole-state.ts";

/**
 * A state in a directory. Reads nothing before the first call, creates nothing before one that
 * writes. Methods throw `state` for an unusable directory, database or key, overwriting nothing.
 */
export class SqliteState extends StoredState {
  readonly dialect = dialect;
  readonly shown: string;
  readonly isShared = false;
  readonly parts: StateParts;
  readonly database: StateDatabase;
  #isNoted = false;

  constructor(options: StoreOptions) {
    super();
    this.shown = options.directory;
    const { keySource, directory, warn } = options;
    this.parts = { ...options, keyring: new Keyring(keySource, directory, warn) };
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
    const { id } = await this.prepareKey();
    return { created, keyId: id };
  }

  async locks(): Promise<Lock[]> {
    const { length } = await this.read({ sql: "SELECT 1" });
    return length === 0 ? [] : this.database.locks.holders();
  }

  async whole(): Promise<SqliteWhole> {
    return new (await import("./whole-state.ts")).SqliteWhole(this);
  }

  async lock(
    service: string,
    uuid: string,
    waiting: Waiting,
    offers = true,
  ): Promise<StoredVaultSession> {
    const { key } = await this.database.read(marksOf);
    if (key !== null) await this.parts.keyring.key(key);
    const release = await this.database.locks.take(uuid, waiting);
    try {
      await this.#note();
      const session = new LockedVault(this, { service, uuid }, release);
      if (offers) await this.#bringBack(session);
      return session;
    } catch (error) {
      release();
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
    const [oldest, noted] = await database.read((db) => [
      all<{ at: string }>(db, "SELECT at FROM journal ORDER BY seq LIMIT 1")[0]?.at,
      metaIn(db)["file"],
    ]);
    const old = pruning("", oldest, this.now());
    if (old.length > 0) await this.change(() => old, "unsynced");
    const note = (db: DatabaseSync): boolean => {
      // Read again: of several that come here at the same time, one marks the credentials.
      const former = metaIn(db)["file"] ?? file;
      rowsIn(db, marking("", "file", file));
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
    const marks = await this.database.read(marksOf);
    if (marks.predecessors.length === 0) return;
    const { Outbox } = await import("../postgres/outbox.ts");
    await new Outbox({ ...this.parts, shown: this.shown }).offer(session, marks);
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

  override async beginCreation(creation: Creation): Promise<void> {
    await this.prepareKey();
    ensureRoom(this.parts.directory);
    await super.beginCreation(creation);
  }

  async prepareKey(): Promise<SealingKey> {
    const { keyring } = this.parts;
    const { key } = await this.database.read(marksOf);
    if (key !== null) return await keyring.key(key);
    const make = await keyring.fresh();
    const id = await this.database.write((db) => {
      // Another process may have named one meanwhile.
      const made = marksOf(db).key ?? sealingIn(db) ?? make().id;
      rowsIn(db, marking("", "key", made));
      return made;
    });
    return await keyring.key(id);
  }
}

/** A vault that this process locked; it writes nothing once a next holder has written. */
class LockedVault extends StoredVaultSession<SqliteState> {
  readonly #release: () => void;

  constructor(state: SqliteState, of: Owner, release: () => void) {
    super(state, of);
    this.#release = release;
  }

  async release(): Promise<void> {
    this.isReleased = true;
    this.#release();
    await Promise.resolve();
  }

  protected async ask(statements: readonly Statement[]): Promise<readonly unknown[][]> {
    const { parts, database } = this.state;
    const [keyId, rows] = await database.read((db) => [
      marksOf(db).key,
      statements.map((statement) => rowsIn(db, statement)),
    ]);
    this.key = keyId === null ? null : await parts.keyring.key(keyId);
    return rows;
  }

  protected async writeStep(before: VaultRows, after: VaultRows): Promise<number> {
    const { uuid, service, seen, vault } = after;
    // What follows ① needs room, too.
    if (after.journal.some(({ event }) => event === "intent"))
      ensureRoom(this.state.parts.directory);
    return await this.state.database.write((db) => {
      const change = (sql: (put: Put) => string): unknown[] => rowsIn(db, written(sql));
      // What the step has sealed would not open.
      if (marksOf(db).key !== after.key?.id)
        throw lockLost(uuid, "the key of the state was replaced");
      if (
        seen !== null &&
        change((put) => `SELECT 1 WHERE ${isAsSeen("", service, seen, put)}`).length === 0
      )
        throw new BreakerChanged("the circuit breaker has changed");
      const version = before.version + Number(vault !== null);
      if (vault !== null) {
        checkLabel(db, vault);
        const row = columnsOf(after);
        const columns = Object.keys(row);
        const [own] = change(
          (put) => `${inserting(dialect, "vaults", columns, put(JSON.stringify([row])))}
            WHERE vaults.version = ${put(before.version)} RETURNING version`,
        ) as { version: number }[];
        if (own?.version !== version) throw lockLost(uuid, "somebody else has written it");
      }
      for (const part of writingBeside(dialect, before, after, dialect.open)) change(part);
      return version;
    });
  }
}

/** Id of the key of what is sealed in a state that does not name it: damaged, it gets no other. */
function sealingIn(db: DatabaseSync): string | undefined {
  const sql = `SELECT sealed FROM vaults WHERE sealed LIKE '%"s1:%' LIMIT 1`;
  const [{ sealed } = { sealed: "" }] = all<{ sealed: string }>(db, sql);
  return /"s1:([0-9a-f]{16}):/.exec(sealed)?.[1];
}

/** @throws `usage` for a label that another vault has; nobody else writes meanwhile */
function checkLabel(db: DatabaseSync, { service, uuid, label }: VaultRow): void {
  const sql = "SELECT uuid FROM vaults WHERE label = $1 AND (service, uuid) <> ($2, $3)";
  const [other] = rowsIn<{ uuid: string }>(db, { sql, values: [label, service, uuid] });
  if (other !== undefined) throw labelTaken(uuid, other.uuid);
}
