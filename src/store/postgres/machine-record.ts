import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../exchange/ports.ts";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import { systemCode } from "../../files/state-error.ts";
import type { Opening } from "../sqlite/open-database.ts";
import { createDatabase, openDatabase } from "../sqlite/open-database.ts";
import { keyIdOf } from "../../secrets/sealing.ts";
import type { KnownVault } from "../sqlite/known-vaults.ts";
import { readKnown } from "../sqlite/known-vaults.ts";
import { all, one, run } from "../sqlite/query.ts";
import { retryBusyDatabase, StateDatabase } from "../sqlite/state-database.ts";
import type { Value } from "../statement.ts";
import type { Durability } from "../vault-session.ts";
import type { About, Incarnation } from "./about.ts";
import { addressHere, isSamePlace } from "./address.ts";

/** How long the last exchange of a vault is kept, in milliseconds. */
const keptMs = 7 * 86_400_000;

/** What this machine has seen of a shared state the last time. */
export interface SeenState extends Omit<Incarnation, "noted" | "original"> {
  /** As in messages. */
  address: string;
  /** Whether the connection was made with TLS: 0 or 1. */
  tls: number;
}

/** The last pair of a vault that this machine has seen. */
export interface SeenVault {
  service: string;
  uuid: string;
  generation: number;
  fingerprint: string;
  label: string | null;
  kind: string;
}

/** The last exchange that this machine has acknowledged, or was about to. */
export interface Kept {
  /** By the database's clock, ISO 8601. */
  at: string;
  /** Its recovery document, sealed. */
  document: string;
}

/** What the state said of itself when a vault was locked: a later set-back says that something may have been lost since. */
export type LockedAt = Pick<About, "state" | "position" | "setBack" | "claims" | "now">;

/** A vault as it was seen in a state; without an exchange that is kept, the last four are null. */
export interface SeenBefore extends SeenVault {
  state: string;
  /** Of the state, where it was used last; null where that is not known. */
  address: string | null;
  /** Fingerprint of the new pair of the exchange that is kept. */
  kept: string | null;
  setBack: string | null;
  claims: number | null;
  document: string | null;
}

export interface KeptDocument extends Pick<SeenVault, "fingerprint" | "service" | "uuid"> {
  state: string;
  /** Of the state, where it was used last. */
  address: string | null;
  setBack: string;
  document: string;
}

interface Options {
  /** The state directory of this machine, where `machineDirectory` names no other. */
  directory: string;
  machineDirectory?: () => string;
  platform: string;
  clock: Clock;
  warn: (message: string) => void;
}

const recordFile = "shared.db";

const recordMigrations: readonly string[] = [
  `
  CREATE TABLE states (
    state TEXT PRIMARY KEY, address TEXT NOT NULL, claims INTEGER NOT NULL, timeline TEXT NOT NULL, position REAL NOT NULL,
    started REAL NOT NULL, now REAL NOT NULL, server TEXT NOT NULL, tls INTEGER NOT NULL, keyId TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE vaults (
    state TEXT NOT NULL, service TEXT NOT NULL, uuid TEXT NOT NULL, generation INTEGER NOT NULL, fingerprint TEXT NOT NULL,
    label TEXT, kind TEXT NOT NULL, listed INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (state, service, uuid)
  ) STRICT, WITHOUT ROWID;
  -- Brings credentials back that a failover has lost. The fingerprint is of the new pair; setBack and claims are what the state
  -- said of itself.
  CREATE TABLE outbox (
    state TEXT NOT NULL, service TEXT NOT NULL, uuid TEXT NOT NULL, at TEXT NOT NULL, document TEXT NOT NULL,
    fingerprint TEXT NOT NULL, setBack TEXT NOT NULL, claims INTEGER NOT NULL, PRIMARY KEY (state, service, uuid)
  ) STRICT, WITHOUT ROWID;
  `,
];

/**
 * What this machine knows of shared states by itself: where they were and how far, the last exchanges, names for completion. A SQLite
 * database in the state directory of this machine, made when there is something to write. That it cannot be written is a warning.
 */
export class MachineRecord {
  readonly #options: Options;
  readonly #opening: Opening;
  #database: StateDatabase | null = null;

  constructor(options: Options) {
    const directory = options.machineDirectory?.() ?? options.directory;
    this.#options = { ...options, directory };
    this.#opening = {
      path: join(directory, recordFile),
      platform: options.platform,
      migrations: recordMigrations,
    };
  }

  async state(state: string): Promise<SeenState | null> {
    const sql = "SELECT * FROM states WHERE state = ?";
    return (await this.#read((db) => one<SeenState>(db, sql, state))) ?? null;
  }

  /** Whether a state was used at an address with TLS. */
  async hadTls(address: string): Promise<boolean> {
    const states = await this.#read((db) =>
      all<SeenState>(db, "SELECT address FROM states WHERE tls = 1"),
    );
    return states?.some((seen) => isSamePlace(seen.address, address)) === true;
  }

  async noteState(seen: SeenState): Promise<void> {
    const { state, claims } = seen;
    await this.#write("unsynced", (db) => {
      const former = one<SeenState>(db, "SELECT claims FROM states WHERE state = ?", state);
      // What was seen before a claim is no reason to stop any more.
      if (former !== undefined && former.claims !== claims)
        run(db, "UPDATE vaults SET generation = 0 WHERE state = ?", state);
      put(db, "states", seen);
    });
  }

  /** How many exchanges are kept. */
  async kept(): Promise<number> {
    return (
      (await this.#read((db) => one<{ n: number }>(db, "SELECT count(*) AS n FROM outbox")))?.n ?? 0
    );
  }

  /** Why nothing can be kept, as the system's code; null if it can. */
  unwritable(): string | null {
    let folder = this.#options.directory;
    while (!existsSync(folder)) folder = dirname(folder);
    try {
      accessSync(folder, constants.W_OK | constants.X_OK);
      return null;
    } catch (error) {
      return String(systemCode(error));
    }
  }

  /** What was seen of a vault, for each state that has it, and its last exchange if that is kept; the last one comes last. */
  async vault(service: string, uuid: string): Promise<SeenBefore[]> {
    const sql = `SELECT * FROM vaults LEFT JOIN (SELECT state, address FROM states) USING (state)
      LEFT JOIN (SELECT state, service, uuid, at, fingerprint AS kept, setBack, claims, document FROM outbox) USING (state, service, uuid)
      WHERE service = ? AND uuid = ? ORDER BY at`;
    const rows = await this.#read((db) => all<SeenBefore>(db, sql, service, uuid));
    return rows ?? [];
  }

  /** Notes all vaults that the state lists, as they are now. What was seen of a later generation stays: the database may have lost it. */
  async noteVaults(state: string, vaults: readonly SeenVault[]): Promise<void> {
    const sql =
      "SELECT service, uuid, generation, fingerprint, label, kind FROM vaults WHERE state = ? AND listed = 1";
    const known = new Set(
      ((await this.#read((db) => all<SeenVault>(db, sql, state))) ?? []).map((row) =>
        JSON.stringify(row),
      ),
    );
    const isSame =
      known.size === vaults.length && vaults.every((vault) => known.has(JSON.stringify(vault)));
    if (isSame) return;
    await this.#write("unsynced", (db) => {
      run(db, "UPDATE vaults SET listed = 0 WHERE state = ?", state);
      for (const { service, uuid, generation, fingerprint, label, kind } of vaults) {
        const row = [state, service, uuid, generation, fingerprint, label, kind];
        run(
          db,
          `INSERT INTO vaults AS seen (state, service, uuid, generation, fingerprint, label, kind)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
            generation = max(seen.generation, excluded.generation),
            fingerprint = iif(seen.generation > excluded.generation, seen.fingerprint, excluded.fingerprint),
            label = excluded.label, kind = excluded.kind, listed = 1`,
          ...row,
        );
      }
    });
  }

  /** Keeps the recovery document of an exchange before its end call, durably, and how far the database had got. */
  async keep(
    { state, position, setBack, claims, now }: LockedAt,
    vault: SeenVault,
    { at, document }: Kept,
  ): Promise<void> {
    const oldest = new Date(this.#options.clock.now() - keptMs).toISOString();
    const { service, uuid, fingerprint } = vault;
    await this.#write("synced", (db) => {
      put(db, "vaults", { state, ...vault });
      run(
        db,
        "UPDATE states SET position = max(position, ?), now = max(now, ?) WHERE state = ?",
        position,
        now,
        state,
      );
      run(db, "DELETE FROM outbox WHERE at < ?", oldest);
      const row = { state, service, uuid, at, document, fingerprint, setBack, claims };
      put(db, "outbox", row);
    });
  }

  /** The documents of all exchanges that are kept. */
  async documents(): Promise<KeptDocument[]> {
    return (
      (await this.#read((db) =>
        all<KeptDocument>(
          db,
          "SELECT outbox.*, address FROM outbox LEFT JOIN states USING (state)",
        ),
      )) ?? []
    );
  }

  /** Ids of the keys that open what is kept, and of those that seal the states, as far as they were seen. */
  async keyIds(): Promise<string[]> {
    const states =
      (await this.#read((db) => all<{ keyId: string }>(db, "SELECT keyId FROM states"))) ?? [];
    return [
      ...states.map(({ keyId }) => keyId),
      ...(await this.documents()).map(({ document }) => keyIdOf(document)),
    ];
  }

  /** Notes which key seals a state. */
  async noteKey(state: string, keyId: string): Promise<void> {
    const former = (await this.state(state))?.keyId;
    if (former !== undefined && former !== keyId)
      await this.#write("synced", (db) =>
        run(db, "UPDATE states SET keyId = ? WHERE state = ?", keyId, state),
      );
  }

  /** Puts documents in the place of those that are kept. */
  async replace(documents: readonly KeptDocument[]): Promise<void> {
    if (documents.length === 0) return;
    const sql = "UPDATE outbox SET document = ? WHERE state = ? AND service = ? AND uuid = ?";
    await this.#write("synced", (db) => {
      for (const { state, service, uuid, document } of documents)
        run(db, sql, document, state, service, uuid);
    });
  }

  async #open(): Promise<StateDatabase | null> {
    const { path } = this.#opening;
    const { clock } = this.#options;
    const connection =
      this.#database === null
        ? await retryBusyDatabase(clock, path, () => openDatabase(this.#opening))
        : null;
    if (connection === null) return this.#database;
    const database = new StateDatabase(connection, path, clock);
    this.#database = database;
    return database;
  }

  async #read<T>(query: (db: DatabaseSync) => T): Promise<T | undefined> {
    return await (await this.#open())?.read(query);
  }

  async #write(durability: Durability, change: (db: DatabaseSync) => void): Promise<void> {
    try {
      ensurePrivateDirectory(this.#options.directory);
      if ((await this.#open()) === null) createDatabase(this.#opening);
      await (await this.#open())?.write(change, durability);
    } catch (error) {
      this.#options.warn(
        `what this machine keeps of the shared state could not be written: ${(error as Error).message}`,
      );
    }
  }
}

/** Puts a row in the place of the one with its key. */
function put(db: DatabaseSync, table: string, row: object): void {
  const columns = Object.keys(row);
  const sql = `INSERT OR REPLACE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  run(db, sql, ...(Object.values(row) as Value[]));
}

/**
 * The vaults of a shared state that this machine has seen, for completion: no connection is made. Changes nothing.
 * @throws `usage` for an address that cannot be used; what SQLite or the file system throws
 */
export function readKnownShared(
  directory: string,
  location: string,
  env: Readonly<Record<string, string | undefined>>,
): KnownVault[] {
  const { shown } = addressHere(location, env, () => undefined);
  const sql =
    "SELECT uuid, label, kind FROM vaults JOIN states USING (state) WHERE address = ? AND listed = 1 ORDER BY label IS NULL, label, uuid";
  return readKnown(directory, recordFile, recordMigrations.length, (db) =>
    all<KnownVault>(db, sql, shown),
  );
}
