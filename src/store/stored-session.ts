import type { VaultSession } from "../exchange/ports.ts";
import type { Intent, VaultRecord } from "../exchange/records.ts";
import type { Credentials } from "../protocol/requests.ts";
import type { Pair } from "../protocol/answers.ts";
import { fingerprint } from "../secrets/fingerprints.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import * as ends from "./steps/end.ts";
import { findExchange, openToken } from "./steps/exchange-rows.ts";
import { keptGeneration, openCredentials } from "./steps/generations.ts";
import { adopt, recordPair } from "./steps/import.ts";
import type { About, VaultRows } from "./steps/rows.ts";
import { lockLost, vaultOf } from "./steps/rows.ts";
import * as starts from "./steps/start.ts";
import { vaultRecord } from "./steps/vault-record.ts";
import * as vaults from "./steps/vault.ts";

/** `synced`: on disk when it resolves. `unsynced`: only ordered, so that it never survives without earlier changes. */
export type Durability = "synced" | "unsynced";

/** Finds in the input of a step what to read for it. */
type Naming<Input extends unknown[]> = (...input: Input) => About;

const nothing = (): About => ({});
const exchange = (id: string): About => ({ exchange: id });

/** A step on the rows of a vault; `key` is the one that seals the state. */
export type Step<T> = (rows: VaultRows, key: () => SealingKey) => T;

/** Whether the rows of a locked vault, which nobody else changes, were read with what is named. */
export function covers({ exchanges }: VaultRows, { exchange: id, pairs = [] }: About): boolean {
  // The id of a new exchange sorts after those of all others.
  return (
    pairs.length === 0 &&
    (id === undefined ||
      exchanges.some((row) => row.id === id) ||
      exchanges.every((row) => row.id < id))
  );
}

/** The rows with the pairs to be revived counted as superseded, so that the step takes them out. */
export function withRevived(rows: VaultRows, { revived = [] }: About): VaultRows {
  const prints = revived.map((pair) => fingerprint(rows.uuid, pair));
  return prints.length === 0
    ? rows
    : { ...rows, superseded: new Set([...rows.superseded, ...prints]) };
}

/** The rows as they are once a step is written: what is forgotten is gone. */
export function afterStep(rows: VaultRows): VaultRows {
  const removed = rows.vault?.forgotten === 1 ? { credentials: [], exchanges: [] } : {};
  return { ...rows, ...removed, seen: null, journal: [] };
}

/** A locked vault: the table of steps. An engine reads the rows, and writes what a step has changed. */
export abstract class StoredVaultSession implements VaultSession {
  readonly service: string;
  readonly uuid: string;

  /** `uuid` in lower case. */
  constructor(service: string, uuid: string) {
    this.service = service;
    this.uuid = uuid;
  }

  /** Runs a query on the rows of the vault. */
  protected abstract query<T>(query: Step<T>, about?: About): Promise<T>;

  /**
   * Runs a step and writes what it has changed, in one transaction; with `isLast` that may release the vault too.
   * @throws `state` if the lock was lost to another process
   */
  protected abstract write<T>(
    step: Step<T>,
    about: About,
    durability: Durability,
    isLast: boolean,
  ): Promise<T>;

  /** As `write`, for a step that seals values: with the key of the state, or a new one if nothing is sealed yet. */
  protected async seal<T>(step: Step<T>, about: About): Promise<T> {
    return await this.write(step, about, "synced", false);
  }

  abstract rebindFrom(service: string): Promise<void>;
  abstract now(): number;
  abstract ensureHeld(): Promise<void>;
  abstract release(): Promise<void>;

  readonly revertIntent = this.#step(starts.revertIntent, exchange);
  readonly noteUnanswered = this.#step(starts.noteUnanswered, exchange, "unsynced");
  readonly reject = this.#step(starts.reject, exchange);
  readonly recordStarted = this.#sealing(starts.recordStarted, (id, { pair }) => ({
    exchange: id,
    revived: [pair],
  }));
  readonly hold = this.#step(ends.hold, exchange);
  readonly noteSaved = this.#step(ends.noteSaved, exchange);
  readonly recordEnding = this.#step(ends.recordEnding, exchange);
  readonly noteEndAnswered = this.#step(ends.noteEndAnswered, exchange);
  readonly expire = this.#step(ends.expire, exchange);
  readonly markInDoubt = this.#step(ends.markInDoubt, exchange);
  readonly recordPair = this.#sealing(recordPair, ({ credentials }) => ({ pairs: [credentials] }));
  readonly adopt = this.#sealing(adopt, (document) => ({
    exchange: document.exchangeId,
    pairs: [document.old, document.new],
  }));
  readonly mergeAttempts = this.#step(vaults.mergeAttempts, nothing);
  readonly markElsewhere = this.#step(vaults.markElsewhere, nothing);
  readonly noteDates = this.#step(vaults.noteDates, nothing, "unsynced");
  readonly resetCounters = this.#step(vaults.resetCounters, nothing);
  readonly setLabel = this.#step(vaults.setLabel, nothing);
  readonly recordDeleted = this.#step(vaults.recordDeleted, exchange);
  readonly forget = this.#step(vaults.forget, nothing);

  async recordIntent(intent: Intent): Promise<void> {
    const step: Step<void> = (rows, key) => starts.recordIntent(rows, key, intent);
    // Without something to seal it needs no key, which takes a step of its own.
    if (intent.run?.digest === undefined)
      await this.write(step, exchange(intent.exchangeId), "synced", false);
    else await this.seal(step, exchange(intent.exchangeId));
  }

  async acknowledge(exchangeId: string, isLast = false): Promise<void> {
    await this.write(
      (rows) => ends.acknowledge(rows, exchangeId),
      exchange(exchangeId),
      "synced",
      isLast,
    );
  }

  async read(): Promise<VaultRecord | null> {
    return await this.query((rows) => (rows.vault === null ? null : vaultRecord(rows.vault, rows)));
  }

  async credentials(generation: number): Promise<Credentials> {
    return await this.query((rows, key) => {
      const row = keptGeneration(rows, generation);
      return openCredentials(key(), rows, row);
    });
  }

  async token(exchangeId: string): Promise<string> {
    return await this.query((rows, key) => {
      vaultOf(rows);
      const row = findExchange(rows, exchangeId);
      if (row === undefined) throw lockLost(this.uuid, `exchange ${exchangeId} is gone`);
      return openToken(key(), rows, row);
    }, exchange(exchangeId));
  }

  async isSuperseded(pair: Pair): Promise<boolean> {
    return await this.query((rows) => rows.superseded.has(fingerprint(this.uuid, pair)), {
      pairs: [pair],
    });
  }

  async refusals(): Promise<string[]> {
    return await this.query((rows) => [...rows.refusals.keys()]);
  }

  /** Makes a method of a step. */
  #step<Input extends unknown[], T>(
    step: (rows: VaultRows, ...input: Input) => T,
    about: Naming<Input>,
    durability: Durability = "synced",
  ) {
    return async (...input: Input): Promise<T> =>
      await this.write((rows) => step(rows, ...input), about(...input), durability, false);
  }

  /** Makes a method of a step that seals values. */
  #sealing<Input extends unknown[], T>(
    step: (rows: VaultRows, key: SealingKey, ...input: Input) => T,
    about: Naming<Input>,
  ) {
    return async (...input: Input): Promise<T> =>
      await this.seal((rows, key) => step(rows, key(), ...input), about(...input));
  }
}
