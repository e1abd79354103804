import type { Actor } from "../actor.ts";
import type { Breaker } from "../exchange/breaker.ts";
import type { Lock } from "../documents/state.ts";
import type { Clock, VaultSession, Waiting } from "../exchange/ports.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { VaultRecord } from "../exchange/records.ts";
import type { Credentials } from "../protocol/requests.ts";
import { retryWhileBusy } from "../files/lock-file.ts";
import { fingerprint } from "../protocol/fingerprint.ts";
import type { Pair } from "../protocol/answers.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import { readVault, rowsOf, type VaultColumns } from "./document.ts";
import { breakerIn, type Dialect, type Statement } from "./tables.ts";
import { lockLost, VaultRows, type Owner, type Since } from "./steps/rows.ts";
import * as exchanges from "./steps/exchange.ts";
import * as vaults from "./steps/vault.ts";

/** `synced`: on disk when it resolves. `unsynced`: never on disk without earlier changes. */
export type Durability = "synced" | "unsynced";

interface SessionState {
  readonly dialect: Dialect;
  readonly parts: { readonly by: Actor };
  readonly breakersKnown: Map<string, Breaker>;
  now(): number;
  time(): string;
  prepareKey(): Promise<SealingKey>;
}

/**
 * A locked vault: the table of steps. It is read once, and again only if a step was given pairs,
 * or after a failure. Nobody else changes its rows meanwhile.
 */
export abstract class StoredVaultSession<
  State extends SessionState = SessionState,
> implements VaultSession {
  readonly service: string;
  readonly uuid: string;
  protected readonly state: State;
  /** As of the last step that was written. */
  #vault: VaultRows | null = null;
  /** Seals what was read; null until it is needed. A later one of the state never takes its place. */
  protected key: SealingKey | null = null;
  /** Nothing is written from then on. */
  protected isReleased = false;
  /** Settles when no step is being written. */
  #written: Promise<unknown> = Promise.resolve();

  constructor(state: State, { service, uuid }: Owner) {
    this.state = state;
    this.service = service;
    this.uuid = uuid.toLowerCase();
  }

  abstract release(): Promise<void>;
  /** Reads the vault in one transaction; returns the rows of each statement. */
  protected abstract ask(statements: readonly Statement[]): Promise<readonly unknown[][]>;
  /**
   * Writes what a step has changed in one transaction; with `isLast` that may release the vault too.
   * Returns the version of the vault's row.
   * @throws `state` if the lock was lost, or the key was replaced; `busy` if a lease was lost
   */
  protected abstract writeStep(
    before: VaultRows,
    after: VaultRows,
    isLast: boolean,
  ): Promise<number>;

  readonly recordIntent = this.#step(exchanges.recordIntent);
  readonly noteOutcome = this.#step(exchanges.noteOutcome);
  readonly recordStarted = this.#step(exchanges.recordStarted);
  readonly hold = this.#step(exchanges.hold);
  readonly noteSaved = this.#step(exchanges.noteSaved);
  readonly recordEnding = this.#step(exchanges.recordEnding);
  readonly settle = this.#step(exchanges.settle);
  readonly recordDeleted = this.#step(exchanges.recordDeleted);
  readonly recordPair = this.#step(vaults.recordPair, ({ credentials }) => [credentials]);
  readonly adopt = this.#step(vaults.adopt, (document) => [document.old, document.new]);
  readonly markElsewhere = this.#step(vaults.markElsewhere);
  readonly resetCounters = this.#step(vaults.resetCounters);
  readonly setLabel = this.#step(vaults.setLabel);
  readonly forget = this.#step(vaults.forget);

  async acknowledge(exchangeId: string, isLast = false): Promise<void> {
    await this.run((rows) => exchanges.acknowledge(rows, exchangeId), [], isLast);
  }

  /** As `run`. A label that another vault has is no reason to lose what else the step records. */
  async runLabeling<T>(
    step: (rows: VaultRows, isTaken: boolean) => T,
    prints: readonly string[],
  ): Promise<T> {
    try {
      return await this.run((rows) => step(rows, false), prints);
    } catch (error) {
      if (asVaultError(error).code !== "usage") throw error;
      return await this.run((rows) => step(rows, true), prints);
    }
  }

  async read(): Promise<VaultRecord | null> {
    return (await this.stored()).record();
  }

  async credentials(generation: number): Promise<Credentials> {
    const rows = await this.stored();
    return rows.openPair(rows.kept(generation), await this.#sealing());
  }

  async token(exchangeId: string): Promise<string> {
    const rows = await this.stored();
    return rows.openToken(rows.exchangeIn(exchangeId), await this.#sealing());
  }

  async isSuperseded(pair: Pair): Promise<boolean> {
    const print = fingerprint(this.uuid, pair);
    return (await this.stored([print])).isSpent(print);
  }

  async refusals(): Promise<string[]> {
    return [...(await this.stored()).refusals.keys()];
  }

  /** The method of a step, which learns whether pairs that `pairsOf` finds are superseded. */
  #step<Input extends unknown[], T>(
    step: (rows: VaultRows, ...input: Input) => T,
    pairsOf: (...input: Input) => readonly Pair[] = () => [],
  ) {
    return async (...input: Input): Promise<T> => {
      const prints = pairsOf(...input).map((pair) => fingerprint(this.uuid, pair));
      return await this.run((rows) => step(rows, ...input), prints);
    };
  }

  /** Runs a step on the last one's result; it learns if pairs with `prints` are superseded. */
  async run<T>(
    step: (rows: VaultRows) => T,
    prints: readonly string[] = [],
    isLast = false,
  ): Promise<T> {
    const written = this.#written.then(async () => {
      const stored = await this.stored(prints);
      const { by } = this.state.parts;
      const before = stored.with({ at: this.state.time(), by, key: await this.#sealing() });
      try {
        const after = before.copy();
        const result = step(after);
        after.trim();
        if (this.isReleased)
          throw new VaultError(
            "internal",
            `vault ${this.uuid} was written to after it had been released`,
          );
        const version = await this.writeStep(before, after, isLast);
        this.#vault = after.with({ version, seen: null, begunIn: null, journal: [] });
        return result;
      } catch (error) {
        this.#vault = null;
        throw error;
      }
    });
    this.#written = written.catch(() => undefined);
    return await written;
  }

  /** The vault as of the last step, with which of the pairs with `prints` were superseded. */
  async stored(prints: readonly string[] = []): Promise<VaultRows> {
    const known = this.#vault;
    if (known !== null && prints.length === 0) return known;
    return this.learn(await this.ask(readVault(this.state.dialect, this, prints)), known);
  }

  /**
   * Takes the vault, and the breaker of its service, as `readVault` has read them.
   * @throws `state` for a damaged document, or if somebody else has written it since it was `known`
   */
  learn(read: readonly (readonly unknown[])[], known: VaultRows | null = null): VaultRows {
    const { service, uuid } = this;
    const [vaults = [], spent = [], meta = [], breaker = []] = read;
    this.state.breakersKnown.set(service, breakerIn(breaker));
    const [row] = vaults as (VaultColumns & { version: number })[];
    const [since] = meta as [Since];
    const at = this.state.time();
    const isThere = row !== undefined && row.status !== "absent";
    const rows = isThere ? rowsOf(row, since, at) : new VaultRows({ service, uuid, at, since });
    for (const { fingerprint: print } of spent as { fingerprint: string }[])
      rows.superseded.add(print);
    const version = row?.version ?? 0;
    if (known !== null && version !== known.version)
      throw lockLost(uuid, "somebody else has written it");
    return (this.#vault = rows.with({ version }));
  }

  async #sealing(): Promise<SealingKey> {
    return (this.key ??= await this.state.prepareKey());
  }

  now(): number {
    return this.state.now();
  }

  /** The operating system lets a process have a lock as long as it lives. */
  async ensureHeld(): Promise<void> {}
}

/** How long a process that waits for a lock may take to notice that it is free, in milliseconds. */
const longestPauseMs = 100;

/**
 * Tries to take the lock of a vault (without `uuid`, of the whole state) until the attempt does not
 * return what is in the way, whose holder `waiting` is told.
 * @throws what is in the way at the deadline, `interrupted` when aborted, what the attempt throws
 */
export async function waitForLock<T>(
  clock: Clock,
  waiting: Waiting,
  uuid: string | undefined,
  attempt: () => T | VaultError | Promise<T | VaultError>,
): Promise<T> {
  let obstacle: VaultError | undefined;
  try {
    waiting.signal.throwIfAborted();
    const done = await retryWhileBusy(clock, waiting, longestPauseMs, async () => {
      const result = await attempt();
      if (!(result instanceof VaultError)) return { result };
      obstacle = result;
      const { by, since } = result.facts;
      if (by !== undefined && since !== undefined) waiting.tell?.({ by, since });
      return null;
    });
    if (done !== null) return done.result;
  } catch (error) {
    if (!waiting.signal.aborted) throw error;
    throw new VaultError("interrupted", "interrupted; nothing was sent", { uuid, retry: "safe" });
  }
  throw obstacle ?? busy({});
}

export const busy = (
  { uuid, holder, since }: Partial<Lock>,
  doing = uuid === undefined ? "using a vault of this state" : `using vault ${uuid}`,
): VaultError =>
  new VaultError("busy", `another process is ${doing}`, {
    uuid,
    by: holder,
    since,
    hint: "nothing was sent; run it again when it has finished, or wait longer with --max-wait",
  });
