import { randomUUID } from "node:crypto";
import { uptime } from "node:os";
import { VaultError } from "../../errors.ts";
import { BreakerChanged } from "../../exchange/breaker.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import { command } from "../../way.ts";
import { isAsSeen, written, type Statement } from "../tables.ts";
import { columnsOf, readVault, writingBeside } from "../document.ts";
import { labelTaken, lockLost, type Owner, type VaultRows } from "../steps/rows.ts";
import { busy, StoredVaultSession, waitForLock } from "../vault-session.ts";
import { twice, type Row } from "./database.ts";
import { AnswerLost, codeOf, isLocked, labelTwice } from "./errors.ts";
import { ahead, busyAtGate, holders, isAlive, isOpen, leaseMs, lockIn, takingMs } from "./gate.ts";
import { aboutIn, aboutStatement } from "./schema.ts";
import type { SharedStore } from "./whole-state.ts";

/** How often a lease is renewed, and what must be left of it to send a request: milliseconds. */
const renewalMs = 5000;
const neededMs = 5000;

/** How long a step waits for the tables, in milliseconds. */
const steppingMs = 5000;

/** What a statement sets of a row whose vault is held, and of one that nobody holds. */
const renewed = `ends_at = ${ahead(leaseMs)}`;
const free = "holder = NULL, ends_at = NULL";

/** The row of a vault while nobody else has taken it, by its service, uuid and epoch. */
const ours = "service = $1 AND uuid = $2 AND epoch = $3";

/**
 * A vault held by a lease (docs/design.md, Locks) in its row, which ends by the database's clock:
 * nobody else takes it before. A step changes the row if its epoch and version are still ours.
 */
export class LeasedVault extends StoredVaultSession<SharedStore> {
  readonly #epoch: string;
  readonly #timer: NodeJS.Timeout;
  #renewedAt: Instant;

  private constructor(store: SharedStore, of: Owner, epoch: string, taken: Instant) {
    super(store, of);
    this.#epoch = epoch;
    this.#renewedAt = taken;
    this.#timer = setInterval(() => void this.#renew(), renewalMs).unref();
  }

  /**
   * Waits while somebody else holds the vault. Returns it with what `aboutStatement` and `readVault`
   * read in the taking transaction. An unknown vault gets a row that goes with the lease.
   * @throws `busy` at the deadline, with the holder; `interrupted`; `state` if not used any more
   */
  static async take(
    store: SharedStore,
    of: Owner,
    waiting: Waiting,
  ): Promise<{ session: LeasedVault; facts: Row | undefined; read: Row[][] }> {
    const { schema, clock, by, database } = store.parts;
    const { service, uuid } = of;
    // Where the answer is lost, the next try finds that the lease is its own.
    const epoch = randomUUID();
    const take: Statement = {
      sql: `INSERT INTO ${schema}.vaults AS vault (service, uuid, kind, status, version, doc, sealed, holder, epoch, since, ends_at)
        SELECT $1, $2, '', 'absent', 0, '{}', '{}', $3, $4, clock_timestamp(), ${ahead(leaseMs)} WHERE ${isOpen(schema)}
        ON CONFLICT (service, uuid) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, since = excluded.since, ${renewed}
        WHERE NOT ${isAlive("vault.")} OR vault.epoch = excluded.epoch RETURNING 1 AS taken`,
      values: [service, uuid, JSON.stringify(by), epoch],
    };
    return await waitForLock(clock, waiting, uuid, async () => {
      const sent = instant(clock);
      try {
        const [[taken] = [], held = [], [facts] = [], ...read] = await database.transact(
          [take, holders(schema), aboutStatement(schema), ...readVault(store.dialect, of)],
          takingMs,
        );
        if (taken !== undefined)
          return { session: new LeasedVault(store, of, epoch, sent), facts, read };
        const owner = held.find((row) => row["service"] === service && row["uuid"] === uuid);
        if (owner !== undefined) return busy(lockIn(owner));
        aboutIn(facts, database.address);
        return busyAtGate();
      } catch (error) {
        if (error instanceof AnswerLost) return error;
        if (!isLocked(error)) throw error;
        return busyAtGate();
      }
    });
  }

  /**
   * Makes sure that enough is left of the lease to send a request, and renews it if not.
   * @throws `busy` if somebody else may hold the vault by now
   */
  override async ensureHeld(): Promise<void> {
    const isEnough = (): boolean =>
      since(this.state.parts.clock, this.#renewedAt) < leaseMs - neededMs;
    if (isEnough()) return;
    if (!(await this.#renew()) || !isEnough()) throw lost(this.uuid);
  }

  /** Gives it back (failing that, the lease ends). No step finds its row any more. Idempotent. */
  async release(): Promise<void> {
    if (this.isReleased) return;
    this.#stopRenewing();
    const { schema } = this.state.parts;
    // It ends within `leaseMs` if this fails.
    await this.#transact(
      `WITH gone AS (DELETE FROM ${schema}.vaults WHERE ${ours} AND status = 'absent')
      UPDATE ${schema}.vaults SET ${free}, epoch = NULL WHERE ${ours} AND status <> 'absent'`,
    ).catch(() => undefined);
  }

  protected async ask(statements: readonly Statement[]): Promise<readonly unknown[][]> {
    return await twice(async () => await this.state.parts.database.transact(statements));
  }

  /**
   * Writes a step once, as one statement on the row of this version. If the answer is lost, a write
   * that waits for its end finds out, and no late one finds the row any more. Renews the lease, or
   * with `isLast` gives the vault back. Returns the new version.
   * @throws `busy` if the lease was lost
   */
  protected async writeStep(before: VaultRows, after: VaultRows, isLast: boolean): Promise<number> {
    const { clock, database } = this.state.parts;
    const [was, open] = [before.open, after.open];
    // A failover can lose the database's copy.
    if (open?.state === "ending" && was?.id === open.id && was.state !== "ending")
      this.state.parts.outbox.keep((await this.state.ready()).about.state, after, open);
    let { version } = before;
    for (let tries = 5; ; tries -= 1) {
      const sent = instant(clock);
      try {
        const step = this.#statement(before.with({ version }), after, isLast);
        const [[row] = []] = await database.transact([step], steppingMs);
        if (row === undefined) throw await this.#notWritten(version, after);
        this.#renewedAt = sent;
        break;
      } catch (error) {
        if (codeOf(error) === labelTwice) throw labelTaken(after.uuid);
        if (!(error instanceof AnswerLost) || tries <= 1) throw error;
        const found = await this.#lookUp(version);
        if (found === version + 1) break;
        version = found;
      }
    }
    if (isLast) this.#stopRenewing();
    return version + 1;
  }

  /** The statement of a step: writes all and returns a row, if the vault's row is still ours. */
  #statement(before: VaultRows, after: VaultRows, isLast: boolean): Statement {
    const { dialect } = this.state;
    const { prefix } = dialect;
    const { service, uuid, seen } = after;
    return written((put) => {
      // Of a vault that is still not known, the lease alone.
      const columns = after.vault === null ? [] : Object.entries({ ...columnsOf(after) });
      const set = columns.map(([column, value]) => `${column} = ${put(value)}, `).join("");
      const own = `UPDATE ${prefix}vaults SET ${set}${isLast ? free : renewed}, version = version + 1
        WHERE service = ${put(service)} AND uuid = ${put(uuid)} AND epoch = ${put(this.#epoch)} AND version = ${put(before.version)} AND holder IS NOT NULL
          AND EXISTS (SELECT FROM ${dialect.open})
          AND EXISTS (SELECT FROM ${prefix}meta WHERE name = 'key' AND value = ${put(after.sealing.id)})
          AND ${seen === null ? "true" : isAsSeen(prefix, service, seen, put, "FOR UPDATE")} RETURNING 1 AS own`;
      const parts = writingBeside(dialect, before, after, "own").map(
        (part, n) => `part${n} AS (${part(put)})`,
      );
      return `WITH ${[`own AS (${own})`, ...parts].join(", ")} SELECT own FROM own`;
    });
  }

  async #notWritten(version: number, { uuid, seen, sealing }: VaultRows): Promise<Error> {
    const { schema } = this.state.parts;
    const sql = `SELECT (SELECT value FROM ${schema}.meta WHERE name = 'key') AS key, EXISTS (
      SELECT FROM ${schema}.vaults WHERE ${ours} AND version = $4 AND holder IS NOT NULL) AS held`;
    const [row] = await twice(async () => await this.#transact(sql, version));
    if (row?.["key"] !== sealing.id) return lockLost(uuid, "the key of the state was replaced");
    return row["held"] === true && seen !== null
      ? new BreakerChanged("the circuit breaker has changed")
      : lost(uuid);
  }

  /** Returns the next version if the step was committed, else one that a late step misses. */
  async #lookUp(version: number): Promise<number> {
    const sql = `UPDATE ${this.state.parts.schema}.vaults SET version = CASE version WHEN $4 THEN version + 2 ELSE version END
      WHERE ${ours} RETURNING version`;
    const [row] = await twice(async () => await this.#transact(sql, version));
    if (row === undefined) throw lost(this.uuid);
    return Number(row["version"]);
  }

  /** Renews the lease; false if it did not, or nobody can tell, as while the database is away. */
  async #renew(): Promise<boolean> {
    const sent = instant(this.state.parts.clock);
    // One that was given back meanwhile stays so.
    const sql = `UPDATE ${this.state.parts.schema}.vaults SET ${renewed} WHERE ${ours} AND holder IS NOT NULL RETURNING 1 AS renewed`;
    const [row] = await this.#transact(sql).catch((): Row[] => []);
    if (row !== undefined) this.#renewedAt = sent;
    return row !== undefined;
  }

  async #transact(sql: string, ...more: number[]): Promise<Row[]> {
    const values = [this.service, this.uuid, this.#epoch, ...more];
    const { database } = this.state.parts;
    return (await database.transact([{ sql, values }], steppingMs))[0] ?? [];
  }

  #stopRenewing(): void {
    clearInterval(this.#timer);
    this.isReleased = true;
  }
}

/** A moment on three clocks: a suspended machine's may stand still, the system's be set back. */
type Instant = readonly [monotonic: number, wall: number, sinceBoot: number];

const instant = (clock: Clock): Instant => [clock.elapsed(), clock.now(), uptime() * 1000];

/** Milliseconds since an instant, by the clock that says the most. */
const since = (clock: Clock, then: Instant): number =>
  Math.max(...instant(clock).map((now, index) => now - (then[index] ?? now)));

/** The error for a holder that was stopped, or cut off from the database, beyond its lease. */
const lost = (uuid: string): VaultError =>
  new VaultError(
    "busy",
    `this process was stopped, or without the database, for so long that another one may use vault ${uuid}`,
    {
      uuid,
      hint: "nothing more was sent",
      next: [command`vault status ${uuid}`],
      retry: "after-status",
    },
  );
