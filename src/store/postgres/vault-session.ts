import { randomUUID } from "node:crypto";
import type { SealingKey } from "../../secrets/sealing.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { KnownBreakers } from "../breakers.ts";
import type { About, ExchangeRow, Place, VaultRows } from "../steps/rows.ts";
import { copyOf } from "../steps/rows.ts";
import { labelTaken, rebind } from "../steps/vault.ts";
import type { Durability, Step } from "../stored-session.ts";
import { afterStep, covers, StoredVaultSession, withRevived } from "../stored-session.ts";
import { breakerInRow } from "./breakers.ts";
import { breakerChanged, codeOf, labelTwice } from "./connection.ts";
import type { Database } from "./database.ts";
import type { Lease } from "./lease.ts";
import type { LockedAt, MachineRecord } from "./machine-record.ts";
import { keep } from "./outbox.ts";
import type { StoredVault } from "./read-vaults.ts";
import { readVault, storedVault } from "./read-vaults.ts";
import { statementsFor } from "./write-vault.ts";

interface SessionParts {
  schema: string;
  /** Id of the state, to which sealed values are bound. */
  state: string;
  lease: Lease;
  key: SealingKey;
  database: Database;
  machine: MachineRecord;
  about: LockedAt;
  /** Milliseconds since the epoch, by the database's clock. */
  now: () => number;
  breakers: KnownBreakers;
}

/**
 * A vault that this process holds. Nobody else changes its rows meanwhile, so that they are read once, and again only for what a step
 * names and the first reading lacks.
 */
export class PostgresVaultSession extends StoredVaultSession {
  readonly #parts: SessionParts;
  #vault: StoredVault;

  /** `vault` as it was read in the transaction that took the lease. */
  constructor(service: string, uuid: string, parts: SessionParts, vault: StoredVault) {
    super(service, uuid);
    this.#parts = parts;
    this.#vault = vault;
  }

  async rebindFrom(service: string): Promise<void> {
    const here = this.#vault.rows.vault;
    const there = await this.#read({ ...this.#place(), service }, {});
    await this.#run(there, (rows, key) => rebind(rows, key(), this.service, here));
    this.#vault = await this.#read(this.#place(), {});
  }

  now(): number {
    return this.#parts.now();
  }

  async ensureHeld(): Promise<void> {
    await this.#parts.lease.ensureHeld();
  }

  async release(): Promise<void> {
    await this.#parts.lease.release();
  }

  protected async query<T>(query: Step<T>, about: About = {}): Promise<T> {
    const { rows } = await this.#with(about);
    return query(rows, () => this.#parts.key);
  }

  protected async write<T>(
    step: Step<T>,
    about: About,
    _durability: Durability,
    isLast: boolean,
  ): Promise<T> {
    return await this.#run(await this.#with(about), step, isLast);
  }

  async #run<T>(
    { id: former, lastSeq, rows }: StoredVault,
    step: Step<T>,
    isLast = false,
  ): Promise<T> {
    const { schema, lease, key } = this.#parts;
    const before: VaultRows = { ...rows, at: this.#place().at };
    const after = copyOf(before);
    const result = step(after, () => key);
    const isEnding = ({ id, state }: ExchangeRow): boolean =>
      state === "ending" && before.exchanges.some((row) => row.id === id && row.state !== state);
    const ending = after.exchanges.find(isEnding);
    if (ending !== undefined) await keep(this.#parts, after, ending);
    const written = former ?? randomUUID();
    await lease
      .transact(statementsFor({ schema, id: written, lastSeq, key }, before, after), isLast)
      .catch((error: unknown) => {
        if (codeOf(error) === breakerChanged)
          throw new BreakerChanged("the circuit breaker has changed");
        throw codeOf(error) === labelTwice && after.vault?.label !== before.vault?.label
          ? labelTaken(this.uuid)
          : error;
      });
    const added = after.exchanges.length - before.exchanges.length;
    const id = after.vault === null ? null : written;
    this.#vault = { id, lastSeq: lastSeq + added, rows: afterStep(after) };
    return result;
  }

  #place(): Place {
    const { state, now } = this.#parts;
    return { state, service: this.service, uuid: this.uuid, at: new Date(now()).toISOString() };
  }

  async #with(about: About): Promise<StoredVault> {
    if (!covers(this.#vault.rows, about)) this.#vault = await this.#read(this.#place(), about);
    return { ...this.#vault, rows: withRevived(this.#vault.rows, about) };
  }

  async #read(place: Place, about: About): Promise<StoredVault> {
    const { schema, key, database } = this.#parts;
    const [[row] = [], [breaker] = []] = await database.transact(readVault(schema, place, about));
    this.#parts.breakers.note(place.service, breakerInRow(breaker));
    return storedVault(place, key, row);
  }
}
