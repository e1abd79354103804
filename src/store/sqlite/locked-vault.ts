import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { Breaker } from "../../exchange/breaker.ts";
import { ensureRoom } from "../../files/disk.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { breakerIn, breakerOf, isAsSeen } from "../breakers.ts";
import type { Made, WrittenAs } from "../document.ts";
import { readVault, setting, storedVault, writingBeside } from "../document.ts";
import type { Put } from "../statement.ts";
import { written } from "../statement.ts";
import type { Place, VaultRow, VaultRows } from "../steps/rows.ts";
import { lockLost } from "../steps/rows.ts";
import { labelTaken } from "../steps/vault.ts";
import type { StateParts } from "../stored-state.ts";
import type { LockedBy } from "../vault-session.ts";
import { StoredVaultSession } from "../vault-session.ts";
import { dialect, keyIdIn, one, rowsIn } from "./query.ts";
import type { VaultLock } from "./vault-lock.ts";
import type { StateDatabase } from "./state-database.ts";

interface Parts extends LockedBy, StateParts {
  database: StateDatabase;
  lock: VaultLock;
  /** What this process knows of the breakers, by service. */
  breakers: Map<string, Breaker>;
}

/** A vault that this process locked; it writes nothing once a next holder has written. */
export class LockedVault extends StoredVaultSession {
  readonly #parts: Parts;
  /** Id of the key of the state, as of the last transaction. */
  #keyId: string | null = null;

  constructor(parts: Parts) {
    super(parts, null);
    this.#parts = parts;
  }

  /** The operating system holds the lock as long as this process lives. */
  async ensureHeld(): Promise<void> {
    await Promise.resolve();
  }

  now(): number {
    return this.#parts.clock.now();
  }

  async release(): Promise<void> {
    this.isReleased = true;
    this.#parts.lock.release();
    await Promise.resolve();
  }

  protected ensureRoom(): void {
    ensureRoom(this.#parts.directory);
  }

  protected async prepareKey(): Promise<void> {
    const { keyring, database } = this.#parts;
    // Another process may have named one since the vault was locked.
    this.#keyId ??= (await keyring.prepare(database)).id;
    await keyring.key(this.#keyId);
  }

  protected key(): SealingKey {
    if (this.#keyId === null) throw new VaultError("internal", "nothing of the vault is sealed");
    return this.#parts.keyring.fitting(this.#keyId);
  }

  async readStored(place: Place, prints: readonly string[]): Promise<VaultRows> {
    return await this.#parts.database.read((db) => {
      const breaker = breakerIn(rowsIn(db, breakerOf("", place.service)));
      this.#parts.breakers.set(place.service, breaker);
      const read = readVault(dialect, place, prints).map((statement) => rowsIn(db, statement));
      this.#keyId = keyIdIn(db);
      return storedVault(place, read);
    });
  }

  protected async writeStep(made: Made<unknown>): Promise<WrittenAs> {
    return await this.#parts.database.write((db) => {
      const keyId = keyIdIn(db);
      // What the step has sealed would not open.
      if (this.#keyId !== null && keyId !== this.#keyId)
        throw lockLost(this.uuid, "the key of the state was replaced");
      this.#keyId = keyId;
      return write(db, made);
    });
  }
}

/**
 * Writes what a step has made of a vault, in the caller's transaction. Returns its row.
 * @throws BreakerChanged if the breaker is not as the step saw it, `state` if the vault is not
 */
function write(db: DatabaseSync, made: Made<unknown>): WrittenAs {
  const { before, after } = made;
  const { service, uuid, seen, vault } = after;
  const change = (sql: (put: Put) => string): unknown[] => rowsIn(db, written(sql));
  if (
    seen !== null &&
    change((put) => `SELECT 1 WHERE ${isAsSeen("", service, seen, put)}`).length === 0
  )
    throw new BreakerChanged("the circuit breaker has changed");
  let own: WrittenAs = before;
  if (vault !== null) {
    checkLabel(db, vault);
    const [row] = change((put) => {
      const set = setting(made, put);
      if (before.id !== null)
        return `UPDATE vaults SET ${set.map((pair) => pair.join(" = ")).join(", ")}, version = version + 1
          WHERE id = ${put(before.id)} AND version = ${put(before.version)} RETURNING id, version`;
      const key = [service, uuid].map(put);
      return `INSERT INTO vaults (${set.map(([column]) => column).join(", ")}, version, service, uuid)
        VALUES (${set.map(([, mark]) => mark).join(", ")}, 1, ${key.join(", ")}) ON CONFLICT (service, uuid) DO NOTHING RETURNING id, version`;
    }) as WrittenAs[];
    if (row === undefined) throw lockLost(uuid, "somebody else has written it");
    own = row;
  }
  for (const part of writingBeside(dialect, made, dialect.open)) change(part);
  return { id: own.id, version: own.version };
}

/** @throws `usage` for a label that another vault has; nobody else writes meanwhile */
function checkLabel(db: DatabaseSync, { service, uuid, label }: VaultRow): void {
  const sql = "SELECT uuid FROM vaults WHERE label = ? AND (service, uuid) <> (?, ?)";
  const other = one<{ uuid: string }>(db, sql, label, service, uuid);
  if (other !== undefined) throw labelTaken(uuid, other.uuid);
}
