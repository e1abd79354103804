import { randomUUID } from "node:crypto";
import { uptime } from "node:os";
import { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Actor } from "../../actor.ts";
import { busy, waitForLock } from "../wait-for-lock.ts";
import type { Statement } from "../statement.ts";
import type { Row } from "./connection.ts";
import { AnswerLost, codeOf, isLocked, noRow, Refused } from "./connection.ts";
import type { Database } from "./database.ts";
import { twice } from "./database.ts";
import { atGate, busyAtGate, isOpen, leaseOf, holderIn, isAlive } from "./gate.ts";
import { command } from "../../way.ts";

/** How long a lease lasts after it was taken or renewed, how often it is renewed, and what must be left of it to send a request: milliseconds. */
const leaseMs = 15_000;
const renewalMs = 5000;
const neededMs = 5000;

/** What a lease needs of its store. */
interface LeasePlace {
  schema: string;
  clock: Clock;
  by: Actor;
  database: Pick<Database, "once" | "query" | "transact">;
}

const newEnd = `clock_timestamp() + interval '${leaseMs} milliseconds'`;

/** Of a row whose vault is locked: one that has begun before the database's clock was set back counts from now on. */
const renewed = `"endsAt" = ${newEnd}, since = least(since, clock_timestamp())`;

/** Of a row whose vault nobody holds. */
const free = `"endsAt" = '-infinity', holder = NULL`;

/**
 * A vault locked by this process (docs/design.md, Locks), as a row with an end on the database's clock: nobody else takes it before that.
 * Each transaction first changes that row; if it is not this lease's any more, or the same step was made already, the transaction fails.
 */
export class Lease {
  readonly #place: LeasePlace;
  readonly #uuid: string;
  readonly #epoch: string;
  readonly #timer: NodeJS.Timeout;
  #step = 0;
  #released = false;
  #renewedAt: Instant;

  private constructor(place: LeasePlace, uuid: string, epoch: string, taken: Instant) {
    this.#place = place;
    this.#uuid = uuid;
    this.#epoch = epoch;
    this.#renewedAt = taken;
    this.#timer = setInterval(() => void this.#renew(), renewalMs).unref();
  }

  /**
   * Waits while somebody else holds the vault. Returns the lease, and the rows of `reading`, read in the transaction that took it.
   * @throws `busy` at the deadline, with the holder; `interrupted` when aborted
   */
  static async take(
    place: LeasePlace,
    uuid: string,
    waiting: Waiting,
    reading: readonly Statement[],
  ): Promise<[Lease, Row[][]]> {
    const { schema, clock, by } = place;
    // Where the answer is lost, the next try finds that the lease is its own.
    const epoch = randomUUID();
    const take: Statement = {
      // Waiting there would starve the operation on the whole state, and fill the server with those who wait.
      sql: `WITH gate AS (SELECT FROM ${schema}.state WHERE ${isOpen} FOR KEY SHARE NOWAIT)
        INSERT INTO ${schema}.leases AS lease (uuid, epoch, step, holder, since, "endsAt")
        SELECT $1, $2, 0, $3, clock_timestamp(), ${newEnd} FROM gate
        ON CONFLICT (uuid) DO UPDATE SET epoch = $2, step = 0, holder = $3, since = excluded.since, "endsAt" = ${newEnd}
        WHERE NOT ${isAlive("lease.")} OR lease.epoch = $2 RETURNING 1 AS taken`,
      values: [uuid, epoch, JSON.stringify(by)],
    };
    let obstacle = busy(uuid);
    const attempt = async (): Promise<[Lease, Row[][]] | null> => {
      const sent = instant(clock);
      try {
        const [[taken] = [], [owner] = [], [gate] = [], ...rows] = await place.database.transact([
          take,
          leaseOf(schema, uuid),
          atGate(schema),
          ...reading,
        ]);
        if (taken !== undefined) return [new Lease(place, uuid, epoch, sent), rows];
        obstacle = owner === undefined ? busyAtGate(gate) : busy(uuid, holderIn(owner));
        const who = holderIn(owner ?? gate ?? {});
        if (who !== undefined) waiting.tell?.(who);
      } catch (error) {
        if (isLocked(error)) obstacle = busyAtGate((await place.database.query(atGate(schema)))[0]);
        else if (error instanceof AnswerLost) obstacle = error;
        else throw error;
      }
      return null;
    };
    return await waitForLock(clock, waiting, uuid, attempt, () => obstacle);
  }

  /**
   * Runs statements in one transaction, once, whatever becomes of its answer: where that is lost, it is looked for, and run again if it
   * was not committed. Renews the lease, or with `isLast` gives the vault back.
   * @throws `busy` if the lease was lost
   */
  async transact(statements: readonly Statement[], isLast = false): Promise<Row[][]> {
    if (this.#released)
      throw new VaultError(
        "internal",
        `vault ${this.#uuid} was written to after it had been released`,
      );
    const { schema } = this.#place;
    for (let tries = 5; ; tries -= 1) {
      const step = (this.#step += 1);
      // A division by zero ends the transaction where the row is not there.
      const check: Statement = {
        sql: `WITH own AS (UPDATE ${schema}.leases SET step = $3, ${isLast ? free : renewed} WHERE uuid = $1 AND epoch = $2 AND step = $3::bigint - 1
          RETURNING 1) SELECT 1 / (SELECT count(*) FROM own)`,
        values: [this.#uuid, this.#epoch, step],
      };
      const sent = instant(this.#place.clock);
      try {
        const rows = await this.#place.database.transact([check, ...statements]);
        this.#renewedAt = sent;
        if (isLast) this.#stopRenewing();
        return rows.slice(1);
      } catch (error) {
        if (codeOf(error) === noRow) throw lost(this.#uuid);
        // The next one is this step.
        if (error instanceof Refused) this.#step -= 1;
        if (!(error instanceof AnswerLost) || tries <= 1) throw error;
        if (!(await this.#isDone(step))) continue;
        if (isLast) this.#stopRenewing();
        return [];
      }
    }
  }

  /**
   * Makes sure that enough is left of the lease to send a request, and renews it if not.
   * @throws `busy` if somebody else may hold the vault by now
   */
  async ensureHeld(): Promise<void> {
    const isEnough = (): boolean => since(this.#place.clock, this.#renewedAt) < leaseMs - neededMs;
    if (isEnough()) return;
    if ((await this.#renew()) !== true || !isEnough()) throw lost(this.#uuid);
  }

  /** Gives the vault back; it ends by itself where that fails. A second call does nothing. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#stopRenewing();
    const sql = `UPDATE ${this.#place.schema}.leases SET ${free} WHERE uuid = $1 AND epoch = $2`;
    try {
      await this.#place.database.once({ sql, values: [this.#uuid, this.#epoch] });
    } catch {
      // It ends within `leaseMs`.
    }
  }

  #stopRenewing(): void {
    clearInterval(this.#timer);
    this.#released = true;
  }

  /**
   * Whether a step was committed. If not, another one takes its place, so that it is not made when it arrives late. Always writes: the
   * answer comes when the transaction of the step has ended, and is as durable as this one.
   */
  async #isDone(step: number): Promise<boolean> {
    const look: Statement = {
      sql: `UPDATE ${this.#place.schema}.leases SET step = CASE step WHEN $3::bigint - 1 THEN $3::bigint + 1 ELSE step END
        WHERE uuid = $1 AND epoch = $2 RETURNING step::int`,
      values: [this.#uuid, this.#epoch, step],
    };
    const [[row] = []] = await twice(async () => await this.#place.database.transact([look]));
    if (row === undefined) throw lost(this.#uuid);
    this.#step = row["step"] as number;
    return this.#step === step;
  }

  /** Renews the lease; null if nobody can tell whether that succeeded, as while the database is away. */
  async #renew(): Promise<boolean | null> {
    // One that was given back meanwhile stays so.
    const sql = `UPDATE ${this.#place.schema}.leases SET ${renewed}
      WHERE uuid = $1 AND epoch = $2 AND holder IS NOT NULL RETURNING 1 AS renewed`;
    const sent = instant(this.#place.clock);
    try {
      const values = [this.#uuid, this.#epoch];
      const [row] = await this.#place.database.once({ sql, values });
      if (row === undefined) return false;
      this.#renewedAt = sent;
      return true;
    } catch {
      return null;
    }
  }
}

/** A moment on three clocks: that of a suspended machine may stand still, and that of the system may be set back. */
type Instant = readonly [monotonic: number, wall: number, sinceBoot: number];

const instant = (clock: Clock): Instant => [clock.elapsed(), clock.now(), uptime() * 1000];

/** Milliseconds since an instant, by the clock that says the most. */
const since = (clock: Clock, then: Instant): number =>
  Math.max(...instant(clock).map((now, index) => now - (then[index] ?? now)));

/** The error for a holder that was stopped, or away from the database, for longer than its lease. */
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
