import type { Actor } from "../../actor.ts";
import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { Breaker } from "../../exchange/breaker.ts";
import type { Clock } from "../../exchange/ports.ts";
import { ensureRoom } from "../../files/disk.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { breakerIn, breakerOf, checkOf } from "../breakers.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Named, StoredVault } from "../read-vaults.ts";
import { readVault, storedVault } from "../read-vaults.ts";
import type { Value } from "../statement.ts";
import type { Place, VaultRow } from "../steps/rows.ts";
import { lockLost } from "../steps/rows.ts";
import { labelTaken } from "../steps/vault.ts";
import type { Durability, EngineVault } from "../vault-session.ts";
import type { Step } from "../write-vault.ts";
import { afterStep, make, statementsFor } from "../write-vault.ts";
import { dialect, one, rowsIn } from "./query.ts";
import type { FencedLock } from "./state-connection.ts";
import type { StateDatabase } from "./state-database.ts";

interface Parts {
  /** Of the state. */
  directory: string;
  database: StateDatabase;
  keyring: Keyring;
  lock: FencedLock;
  clock: Clock;
  by: Actor;
  /** What this process knows of the breakers, by service. */
  breakers: Map<string, Breaker>;
}

const hasSealed = ({ rows: { credentials } }: StoredVault): boolean =>
  credentials.some(({ sealed }) => sealed !== null);

/** A vault that this process has locked. Every write first checks that the lock is still its own. */
export class LockedVault implements EngineVault {
  readonly by: Actor;
  readonly #parts: Parts;
  /** The key of the state: where it has sealed something of this vault, only a process with every lock replaces it. */
  #key: SealingKey | null = null;
  #released = false;

  constructor(parts: Parts) {
    this.by = parts.by;
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
    this.#released = true;
    this.#parts.lock.release();
    await Promise.resolve();
  }

  ensureRoom(): void {
    ensureRoom(this.#parts.directory);
  }

  async prepareKey(): Promise<void> {
    const { keyring, database } = this.#parts;
    if (this.#key === null) await keyring.prepare(database);
  }

  key(): SealingKey {
    if (this.#key === null) throw new VaultError("internal", "nothing of the vault is sealed");
    return this.#key;
  }

  async read(place: Place, named: Named): Promise<StoredVault> {
    return await this.#parts.database.read((db) => {
      const breaker = breakerIn(rowsIn(db, breakerOf("", place.service)));
      this.#parts.breakers.set(place.service, breaker);
      const vault = vaultIn(db, place, named);
      if (hasSealed(vault)) this.#key ??= this.#parts.keyring.fitting(db);
      return vault;
    });
  }

  async write<T>(
    vault: StoredVault,
    step: Step<T>,
    durability: Durability,
  ): Promise<{ result: T; vault: StoredVault }> {
    const { database, keyring } = this.#parts;
    const { key, ...written } = await database.write((db) => {
      this.#checkHeld(db, vault.rows.uuid);
      let used = this.#key;
      const written = runStep(db, vault, step, () => (used ??= keyring.fitting(db)));
      return { ...written, key: used };
    }, durability);
    if (hasSealed(written.vault)) this.#key = key;
    return written;
  }

  /** @throws `state` if the lock was lost to another process */
  #checkHeld(db: DatabaseSync, uuid: string): void {
    if (this.#released)
      throw new VaultError("internal", `vault ${uuid} was written to after it had been released`);
    const { slot, epoch } = this.#parts.lock;
    const found = one<{ epoch: number }>(db, "SELECT epoch FROM locks WHERE slot = ?", slot)?.epoch;
    if (found !== epoch)
      throw lockLost(uuid, `the lock is at epoch ${found ?? 0}, this process had ${epoch}`);
  }
}

/** Reads all rows of a vault that a step may need. Call it in a transaction. */
export const vaultIn = (db: DatabaseSync, place: Place, named: Named): StoredVault =>
  storedVault(
    place,
    readVault(dialect, place, named).map((statement) => rowsIn(db, statement)),
    null,
  );

/**
 * Runs a step in the caller's transaction, and writes what it has changed. Returns the vault as it is then.
 * @throws BreakerChanged if the breaker is not as the step has seen it
 */
export function runStep<T>(
  db: DatabaseSync,
  vault: StoredVault,
  step: Step<T>,
  key: () => SealingKey,
): { result: T; vault: StoredVault } {
  const made = make(vault.rows, step, key);
  const { service, seen, vault: row } = made.after;
  const id = vault.id ?? nextId(db);
  if (seen !== null) {
    const check = checkOf("", service, seen);
    if (rowsIn(db, check).length !== check.rows)
      throw new BreakerChanged("the circuit breaker has changed");
  }
  if (row !== null && row.label !== vault.rows.vault?.label) checkLabel(db, id, row);
  for (const statement of statementsFor(dialect, id, made, key)) rowsIn(db, statement);
  return { result: made.result, vault: afterStep(made, id) };
}

const nextId = (db: DatabaseSync): Value =>
  (one<{ last: number | null }>(db, "SELECT max(id) AS last FROM vaults")?.last ?? 0) + 1;

/** @throws `usage` for a label that another vault has; nobody else writes meanwhile */
function checkLabel(db: DatabaseSync, id: Value, { uuid, label }: VaultRow): void {
  const sql = "SELECT uuid FROM vaults WHERE label = ? AND id <> ?";
  const other = label === null ? undefined : one<{ uuid: string }>(db, sql, label, id);
  if (other !== undefined) throw labelTaken(uuid, other.uuid);
}
