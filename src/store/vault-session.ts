import type { Actor } from "../actor.ts";
import type { VaultSession } from "../exchange/ports.ts";
import type { Intent, VaultRecord } from "../exchange/records.ts";
import type { Credentials } from "../protocol/requests.ts";
import type { Pair } from "../protocol/answers.ts";
import { fingerprint } from "../secrets/fingerprints.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import type { Named, StoredVault } from "./read-vaults.ts";
import { vaultRecord } from "./read-vaults.ts";
import * as ends from "./steps/end.ts";
import { keptGeneration } from "./steps/generations.ts";
import { adopt, recordPair } from "./steps/import.ts";
import type { Place, VaultRows } from "./steps/rows.ts";
import { findExchange, lockLost, vaultOf } from "./steps/rows.ts";
import { openCredentials, openToken } from "./steps/sealed.ts";
import * as starts from "./steps/start.ts";
import * as vaults from "./steps/vault.ts";
import type { Step } from "./write-vault.ts";

/** `synced`: on disk when it resolves. `unsynced`: only ordered, so that it never survives without earlier changes. */
export type Durability = "synced" | "unsynced";

/** What a step or query reads besides the vault. */
interface About {
  exchange?: string | undefined;
  /** Whether these are superseded is read. */
  pairs?: readonly Pair[];
  /** Pairs that the step does nothing with but take them out of the superseded ones. */
  revived?: readonly Pair[];
}

/** Finds in the input of a step what to read for it. */
type Naming<Input extends unknown[]> = (...input: Input) => About;

const nothing = (): About => ({});
const exchange = (id: string): About => ({ exchange: id });

/** A vault that this process has locked, as its engine keeps it: nobody else changes its rows meanwhile. */
export interface EngineVault extends Pick<VaultSession, "now" | "ensureHeld" | "release"> {
  /** The id of a state that several machines share, to which sealed values are bound. */
  readonly state?: string;
  /** This process. */
  readonly by: Actor;
  /**
   * Makes sure, before an exchange begins, that its steps can be written.
   * @throws `state`
   */
  ensureRoom(): void;
  /** Makes sure of a key for a step that seals: a new one where nothing is sealed yet. */
  prepareKey(): Promise<void>;
  /** The key that seals what was read. */
  key(): SealingKey;
  read(place: Place, named: Named): Promise<StoredVault>;
  /**
   * Runs a step and writes what it has changed, in one transaction; with `isLast` that may release the vault too. Returns the vault as
   * it is then.
   * @throws `state` if the lock was lost to another process, `busy` if a lease was
   */
  write<T>(
    vault: StoredVault,
    step: Step<T>,
    durability: Durability,
    isLast: boolean,
  ): Promise<{ result: T; vault: StoredVault }>;
}

/** Whether the rows of a locked vault were read with what is named. */
function covers({ exchanges }: VaultRows, { exchange: id, pairs = [] }: About): boolean {
  // The id of a new exchange sorts after those of all others.
  return (
    pairs.length === 0 &&
    (id === undefined ||
      exchanges.some((row) => row.id === id) ||
      exchanges.every((row) => row.id < id))
  );
}

/**
 * A locked vault: the table of steps. Its rows are read once, and again only for what a step names and the first reading lacks, or
 * after a failure.
 */
export class StoredVaultSession implements VaultSession {
  readonly service: string;
  readonly uuid: string;
  readonly #engine: EngineVault;
  /** As of the last step that was written. */
  #vault: StoredVault | null;
  /** The record of a vault, once for its rows. */
  #record: { of: VaultRows; is: VaultRecord | null } | null = null;
  /** Settles when no step is being written. */
  #written: Promise<unknown> = Promise.resolve();

  /** `uuid` in lower case; `vault` as it was read when it was locked. */
  constructor(service: string, uuid: string, engine: EngineVault, vault: StoredVault | null) {
    this.service = service;
    this.uuid = uuid;
    this.#engine = engine;
    this.#vault = vault;
  }

  now(): number {
    return this.#engine.now();
  }

  async ensureHeld(): Promise<void> {
    await this.#engine.ensureHeld();
  }

  async release(): Promise<void> {
    await this.#engine.release();
  }

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
  readonly markElsewhere = this.#step(vaults.markElsewhere, nothing);
  readonly noteDates = this.#step(vaults.noteDates, nothing, "unsynced");
  readonly resetCounters = this.#step(vaults.resetCounters, nothing);
  readonly setLabel = this.#step(vaults.setLabel, nothing);
  readonly recordDeleted = this.#step(vaults.recordDeleted, exchange);
  readonly forget = this.#step(vaults.forget, nothing);

  async recordIntent(intent: Intent): Promise<void> {
    this.#engine.ensureRoom();
    const isSealing = intent.run?.digest !== undefined;
    await this.#write(
      (rows, key) => starts.recordIntent(rows, key, intent),
      exchange(intent.exchangeId),
      { isSealing },
    );
  }

  async acknowledge(exchangeId: string, isLast = false): Promise<void> {
    await this.#write((rows) => ends.acknowledge(rows, exchangeId), exchange(exchangeId), {
      isLast,
    });
  }

  async read(): Promise<VaultRecord | null> {
    const { rows } = await this.#with({});
    if (this.#record?.of !== rows) this.#record = { of: rows, is: vaultRecord(rows) };
    return this.#record.is;
  }

  async credentials(generation: number): Promise<Credentials> {
    const { rows } = await this.#with({});
    const row = keptGeneration(rows, generation);
    return openCredentials(this.#engine.key(), rows, row);
  }

  async token(exchangeId: string): Promise<string> {
    const { rows } = await this.#with(exchange(exchangeId));
    vaultOf(rows);
    const row = findExchange(rows, exchangeId);
    if (row === undefined) throw lockLost(this.uuid, `exchange ${exchangeId} is gone`);
    return openToken(this.#engine.key(), rows, row);
  }

  async isSuperseded(pair: Pair): Promise<boolean> {
    const { rows } = await this.#with({ pairs: [pair] });
    return rows.superseded.has(fingerprint(this.uuid, pair));
  }

  async refusals(): Promise<string[]> {
    return [...(await this.#with({})).rows.refusals.keys()];
  }

  /** Makes a method of a step. */
  #step<Input extends unknown[], T>(
    step: (rows: VaultRows, ...input: Input) => T,
    about: Naming<Input>,
    durability: Durability = "synced",
  ) {
    return async (...input: Input): Promise<T> =>
      await this.#write((rows) => step(rows, ...input), about(...input), { durability });
  }

  /** Makes a method of a step that seals values. */
  #sealing<Input extends unknown[], T>(
    step: (rows: VaultRows, key: SealingKey, ...input: Input) => T,
    about: Naming<Input>,
  ) {
    return async (...input: Input): Promise<T> =>
      await this.#write((rows, key) => step(rows, key(), ...input), about(...input), {
        isSealing: true,
      });
  }

  /** Runs a step on the rows that the one before it has left. */
  async #write<T>(
    step: Step<T>,
    about: About,
    how: { durability?: Durability; isLast?: boolean; isSealing?: boolean },
  ): Promise<T> {
    const { durability = "synced", isLast = false, isSealing = false } = how;
    const written = this.#written.then(async () => {
      if (isSealing) await this.#engine.prepareKey();
      const { id, rows } = await this.#with(about);
      const revived = this.#printsOf(about.revived);
      const superseded = new Set([...rows.superseded, ...revived]);
      const { at, by } = this.#place();
      const before = { ...rows, at, by, superseded };
      try {
        const made = await this.#engine.write({ id, rows: before }, step, durability, isLast);
        this.#vault = made.vault;
        return made.result;
      } catch (error) {
        this.#vault = null;
        throw error;
      }
    });
    this.#written = written.catch(() => undefined);
    return await written;
  }

  async #with(about: About): Promise<StoredVault> {
    return this.#vault !== null && covers(this.#vault.rows, about)
      ? this.#vault
      : await this.#read(about);
  }

  async #read({ exchange: id, pairs }: About): Promise<StoredVault> {
    const named = { exchange: id, prints: this.#printsOf(pairs) };
    return (this.#vault = await this.#engine.read(this.#place(), named));
  }

  #printsOf(pairs: readonly Pair[] = []): string[] {
    return pairs.map((pair) => fingerprint(this.uuid, pair));
  }

  #place(): Place {
    const { state, by } = this.#engine;
    const at = new Date(this.now()).toISOString();
    return { state, service: this.service, uuid: this.uuid, at, by };
  }
}
