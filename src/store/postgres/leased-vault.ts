import { VaultError } from "../../errors.ts";
import type { Breaker } from "../../exchange/breaker.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { breakerIn, breakerOf, isAsSeen } from "../breakers.ts";
import type { Made, Step, StoredVault } from "../document.ts";
import { afterStep, make, readVault, setting, storedVault, writingBeside } from "../document.ts";
import type { Dialect, Statement } from "../statement.ts";
import { written } from "../statement.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { keptGeneration } from "../steps/generations.ts";
import type { ExchangeRow, Place, VaultRows } from "../steps/rows.ts";
import { openCredentials, openToken } from "../steps/sealed.ts";
import { labelTaken } from "../steps/vault.ts";
import type { Durability, LockedBy } from "../vault-session.ts";
import { StoredVaultSession } from "../vault-session.ts";
import type { Database } from "./database.ts";
import { codeOf, labelTwice } from "./errors.ts";
import type { Lease, OwnRow } from "./lease.ts";
import type { Outbox } from "./outbox.ts";
import { command } from "../../way.ts";

interface Parts extends LockedBy {
  dialect: Dialect;
  lease: Lease;
  key: SealingKey;
  database: Database;
  outbox: Outbox;
  /** Id of the state. */
  state: string;
  /** Milliseconds since the epoch, by the database's clock. */
  now: () => number;
  /** What this process knows of the breakers, by service. */
  breakers: Map<string, Breaker>;
}

/** A vault that this process holds by a lease. */
export class LeasedVault extends StoredVaultSession {
  readonly #parts: Parts;

  constructor(parts: Parts, vault: StoredVault) {
    super(parts, vault);
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
  protected ensureRoom(): void {}

  protected async prepareKey(): Promise<void> {
    await Promise.resolve();
  }

  protected key(): SealingKey {
    return this.#parts.key;
  }

  async readStored(place: Place, prints: readonly string[]): Promise<StoredVault> {
    const { dialect, database, breakers } = this.#parts;
    const [breaker = [], ...rows] = await database.transact([
      breakerOf(dialect.prefix, place.service),
      ...readVault(dialect, place, prints),
    ]);
    breakers.set(place.service, breakerIn(breaker));
    return storedVault(place, rows);
  }

  protected async writeStep<T>(
    vault: StoredVault,
    step: Step<T>,
    _durability: Durability,
    isLast: boolean,
  ): Promise<{ result: T; vault: StoredVault }> {
    const { dialect, lease, key } = this.#parts;
    const made = make(vault, step, () => key);
    const { after, result } = made;
    const { rows: before } = vault;
    const isEnding = ({ id, state }: ExchangeRow): boolean =>
      state === "ending" && before.exchanges.some((row) => row.id === id && row.state !== state);
    const ending = after.exchanges.find(isEnding);
    if (ending !== undefined) this.#keep(after, ending);
    const statement = (own: OwnRow): Statement => statementOf(dialect, key.id, own, made);
    const version = await lease.step(statement, vault.version, isLast).catch((error: unknown) => {
      throw codeOf(error) === labelTwice && after.vault?.label !== before.vault?.label
        ? labelTaken(after.uuid)
        : error;
    });
    if (version === null) throw await this.#notWritten(vault.version, after);
    return { result, vault: afterStep(made, lease.id, version) };
  }

  /** Why a step found no row. */
  async #notWritten(version: number, { uuid, seen }: VaultRows): Promise<Error> {
    const { lease, key } = this.#parts;
    const { sealedBy, error } = await lease.lookAgain(version);
    if (sealedBy !== key.id)
      return new VaultError(
        "state",
        `the key of the state was replaced while vault ${uuid} was in use; nothing more is sent`,
        { uuid, next: [command`vault status ${uuid}`], retry: "after-status" },
      );
    if (error !== null) return error;
    return seen === null
      ? new VaultError("state", `a step of vault ${uuid} was not written`, { uuid, retry: "safe" })
      : new BreakerChanged("the circuit breaker has changed");
  }

  /** Keeps an exchange on this machine before its end call is sent: a failover can lose what the database has of it. */
  #keep(rows: VaultRows, exchange: ExchangeRow): void {
    const { outbox, state, key, database } = this.#parts;
    const { service, uuid, at } = rows;
    const made = keptGeneration(rows, exchange.newGeneration ?? 0);
    const { fingerprint } = made;
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
  }
}

/** The one statement of a step: it returns a row, and writes everything, if the row of the vault is still this process's. */
const statementOf = (
  dialect: Dialect,
  keyId: string,
  { id, epoch, version, set }: OwnRow,
  made: Made<unknown>,
): Statement =>
  written((put) => {
    const { prefix } = dialect;
    const { service, seen } = made.after;
    const columns = setting(made, put).map((pair) => `${pair.join(" = ")}, `);
    const own = `UPDATE ${prefix}vaults SET ${columns.join("")}${set}, version = version + 1
      WHERE id = ${put(id)} AND epoch = ${put(epoch)} AND version = ${put(version)} AND holder IS NOT NULL
        AND EXISTS (SELECT FROM ${dialect.open})
        AND EXISTS (SELECT FROM ${prefix}meta WHERE name = 'key' AND value = ${put(keyId)})
        AND ${seen === null ? "true" : isAsSeen(prefix, service, seen, put, "FOR UPDATE")} RETURNING 1 AS own`;
    const parts = writingBeside(dialect, made, "own").map(
      (part, n) => `part${n} AS (${part(put)})`,
    );
    return `WITH ${[`own AS (${own})`, ...parts].join(", ")} SELECT own FROM own`;
  });
