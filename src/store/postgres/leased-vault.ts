import type { Actor } from "../../actor.ts";
import { randomUUID } from "node:crypto";
import type { Breaker, Seen } from "../../exchange/breaker.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { breakerIn, breakerOf, checkOf } from "../breakers.ts";
import type { Step, StoredVault } from "../document.ts";
import { afterStep, make, readVault, statementsFor, storedVault } from "../document.ts";
import type { Dialect, Statement } from "../statement.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { keptGeneration } from "../steps/generations.ts";
import type { ExchangeRow, Place, VaultRows } from "../steps/rows.ts";
import { openCredentials, openToken } from "../steps/sealed.ts";
import { labelTaken } from "../steps/vault.ts";
import type { Durability, EngineVault } from "../vault-session.ts";
import { breakerChanged, codeOf, labelTwice } from "./connection.ts";
import type { Database } from "./database.ts";
import type { Lease } from "./lease.ts";
import type { About } from "./about.ts";
import type { MachineRecord } from "./machine-record.ts";
import type { Outbox } from "./outbox.ts";

interface Parts {
  dialect: Dialect;
  lease: Lease;
  key: SealingKey;
  database: Database;
  machine: MachineRecord;
  outbox: Outbox;
  about: About;
  by: Actor;
  /** Milliseconds since the epoch, by the database's clock. */
  now: () => number;
  /** What this process knows of the breakers, by service. */
  breakers: Map<string, Breaker>;
}

export const dialectOf = (schema: string): Dialect => ({
  prefix: `${schema}.`,
  texts: (mark) => `SELECT value FROM jsonb_array_elements_text(${mark}::jsonb)`,
});

/** A vault that this process holds by a lease. */
export class LeasedVault implements EngineVault {
  readonly by: Actor;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.by = parts.by;
    this.#parts = parts;
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

  /** The server's disk is its administrator's. */
  ensureRoom(): void {}

  async prepareKey(): Promise<void> {
    await Promise.resolve();
  }

  key(): SealingKey {
    return this.#parts.key;
  }

  async read(place: Place, prints: readonly string[]): Promise<StoredVault> {
    const { dialect, database, breakers } = this.#parts;
    const [breaker = [], ...rows] = await database.transact([
      breakerOf(dialect.prefix, place.service),
      ...readVault(dialect, place, prints),
    ]);
    breakers.set(place.service, breakerIn(breaker));
    return storedVault(place, rows);
  }

  async write<T>(
    vault: StoredVault,
    step: Step<T>,
    _durability: Durability,
    isLast: boolean,
  ): Promise<{ result: T; vault: StoredVault }> {
    const { dialect, lease } = this.#parts;
    const made = make(vault, step, () => this.#parts.key);
    const { after, result } = made;
    const { rows: before } = vault;
    const isEnding = ({ id, state }: ExchangeRow): boolean =>
      state === "ending" && before.exchanges.some((row) => row.id === id && row.state !== state);
    const ending = after.exchanges.find(isEnding);
    if (ending !== undefined) this.#keep(after, ending);
    const id = vault.id ?? randomUUID();
    const checked = after.seen === null ? [] : [checking(dialect, after.service, after.seen)];
    const statements = [...checked, ...statementsFor(dialect, id, made)];
    await lease.transact(statements, isLast).catch((error: unknown) => {
      if (codeOf(error) === breakerChanged)
        throw new BreakerChanged("the circuit breaker has changed");
      throw codeOf(error) === labelTwice && after.vault?.label !== before.vault?.label
        ? labelTaken(after.uuid)
        : error;
    });
    return { result, vault: afterStep(made, id) };
  }

  /** Keeps an exchange on this machine before its end call is sent: a failover can lose what the database has of it. */
  #keep(rows: VaultRows, exchange: ExchangeRow): void {
    const { machine, outbox, about, key, database } = this.#parts;
    const { service, uuid, at } = rows;
    const made = keptGeneration(rows, exchange.newGeneration ?? 0);
    const { fingerprint } = made;
    const { state } = about;
    const of = { service, uuid, state, at: Date.parse(at), fingerprint };
    outbox.keep(
      key,
      { ...of, address: database.address.shown },
      {
        exchangeId: exchange.id,
        kind: exchange.kind,
        operation: exchange.operation as Operation,
        old: openCredentials(key, rows, keptGeneration(rows, exchange.baseGeneration)),
        new: openCredentials(key, rows, made),
        token: openToken(key, rows, exchange),
        tokenExpiry: exchange.tokenExpiry,
        unread: false,
      },
    );
    machine.notePosition(about);
  }
}

/** Ends the transaction with `breakerChanged` if the breaker is not as it was seen. Whoever else changes it at the same time is waited for. */
function checking({ prefix }: Dialect, service: string, seen: Seen): Statement {
  const { sql, values, rows } = checkOf(prefix, service, seen);
  return {
    sql: `WITH found AS (${sql}) SELECT sqrt(-abs((SELECT count(*) FROM found) - ${rows}))`,
    values,
  };
}
