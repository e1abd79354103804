import { randomUUID } from "node:crypto";
import { uptime } from "node:os";
import { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Actor } from "../../actor.ts";
import { busy, waitForLock } from "../wait-for-lock.ts";
import type { Statement } from "../statement.ts";
import type { Place } from "../steps/rows.ts";
import type { Database, Row } from "./database.ts";
import { twice } from "./database.ts";
import { AnswerLost, isLocked } from "./errors.ts";
import {
  ahead,
  busyAtGate,
  holderIn,
  holders,
  isAlive,
  isOpen,
  leaseMs,
  takingMs,
  waitingFor,
} from "./gate.ts";
import { command } from "../../way.ts";

/** How often a lease is renewed, and what must be left of it to send a request: milliseconds. */
const renewalMs = 5000;
const neededMs = 5000;

/** How long a step waits for the tables, in milliseconds. */
const steppingMs = 5000;

/** What a lease needs of its store. */
interface LeasePlace {
  schema: string;
  clock: Clock;
  by: Actor;
  database: Pick<Database, "query" | "transact">;
  /** @throws `state` for a state that is not used any more */
  check: () => Promise<unknown>;
}

/** Of a row whose vault is locked, and of one that nobody holds. */
const renewed = `ends_at = ${ahead(leaseMs)}`;
const free = "holder = NULL, ends_at = NULL";

/** The row of a vault that this process holds, as one step finds it: what it sets of the lease, and which version it replaces. */
export interface OwnRow {
  id: string;
  epoch: string;
  version: number;
  set: string;
}

/**
 * A vault locked by this process (docs/design.md, Locks), in the vault's row, with an end on the database's clock: nobody else takes it before that. A step
 * changes the row where its epoch and version are still this process's.
 */
export class Lease {
  readonly id: string;
  readonly #place: LeasePlace;
  readonly #uuid: string;
  readonly #epoch: string;
  readonly #timer: NodeJS.Timeout;
  #released = false;
  #renewedAt: Instant;

  private constructor(place: LeasePlace, uuid: string, row: [string, string], taken: Instant) {
    this.#place = place;
    this.#uuid = uuid;
    [this.id, this.#epoch] = row;
    this.#renewedAt = taken;
    this.#timer = setInterval(() => void this.#renew(), renewalMs).unref();
  }

  /**
   * Waits while somebody else holds the vault. Returns the lease, and the rows of `reading`, read in the transaction that took it. A
   * vault that is not known gets a row, which goes with the lease.
   * @throws `busy` at the deadline, with the holder; `interrupted` when aborted; what `check` throws
   */
  static async take(
    place: LeasePlace,
    { service, uuid }: Pick<Place, "service" | "uuid">,
    waiting: Waiting,
    reading: readonly Statement[],
  ): Promise<[Lease, Row[][]]> {
    const { schema, clock, by, database } = place;
    // Where the answer is lost, the next try finds that the lease is its own.
    const epoch = randomUUID();
    const take: Statement = {
      sql: `INSERT INTO ${schema}.vaults AS vault (id, service, uuid, kind, status, version, doc, sealed, holder, epoch, since, ends_at)
        SELECT gen_random_uuid(), $1, $2, '', 'absent', 0, '{}', '{}', $3, $4, clock_timestamp(), ${ahead(leaseMs)} WHERE ${isOpen(schema)}
        ON CONFLICT (service, uuid) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, since = excluded.since, ${renewed}
        WHERE NOT ${isAlive("vault.")} OR vault.epoch = excluded.epoch RETURNING id`,
      values: [service, uuid, JSON.stringify(by), epoch],
    };
    const holding: Statement = {
      sql: `SELECT * FROM (${holders(schema).sql}) AS held WHERE service = $1 AND uuid = $2`,
      values: [service, uuid],
    };
    const attempt = async (): Promise<[Lease, Row[][]] | VaultError> => {
      const sent = instant(clock);
      try {
        const [, [taken] = [], [owner] = [], ...rows] = await database.transact([
          waitingFor(takingMs),
          take,
          holding,
          ...reading,
        ]);
        if (taken !== undefined)
          return [new Lease(place, uuid, [String(taken["id"]), epoch], sent), rows];
        if (owner !== undefined) return busy(uuid, holderIn(owner));
        await place.check();
      } catch (error) {
        if (error instanceof AnswerLost) return error;
        if (!isLocked(error)) throw error;
      }
      return await busyAtGate(place);
    };
    return await waitForLock(clock, waiting, uuid, attempt);
  }

  /**
   * Runs a step, one statement on the row of this version, once, whatever becomes of its answer: where that is lost, a write that waits
   * for its end finds out, and no late one finds the row any more. Renews the lease, or with `isLast` gives the vault back. Returns the
   * new version; null where the statement found no row.
   * @throws `busy` if the lease was lost
   */
  async step(
    statement: (own: OwnRow) => Statement,
    version: number,
    isLast: boolean,
  ): Promise<number | null> {
    const { clock, database } = this.#place;
    if (this.#released)
      throw new VaultError(
        "internal",
        `vault ${this.#uuid} was written to after it had been released`,
      );
    const own = { id: this.id, epoch: this.#epoch, set: isLast ? free : renewed };
    for (let [tries, now] = [5, version]; ; tries -= 1) {
      const sent = instant(clock);
      try {
        const step = statement({ ...own, version: now });
        const [, [row] = []] = await database.transact([waitingFor(steppingMs), step]);
        if (row === undefined) return null;
        this.#renewedAt = sent;
        if (isLast) this.#stopRenewing();
        return now + 1;
      } catch (error) {
        if (!(error instanceof AnswerLost) || tries <= 1) throw error;
        const found = await this.#lookUp(now);
        if (found === now + 1) {
          if (isLast) this.#stopRenewing();
          return found;
        }
        now = found;
      }
    }
  }

  /** For a step that found no row: the id of the key that seals the state by now, and the error where the lease is the reason. */
  async lookAgain(version: number): Promise<{ sealedBy: unknown; error: VaultError | null }> {
    const { schema, database } = this.#place;
    const [row] = await database.query({
      sql: `SELECT (SELECT value FROM ${schema}.meta WHERE name = 'key') AS key, EXISTS (
        SELECT FROM ${schema}.vaults WHERE id = $1 AND epoch = $2 AND version = $3 AND holder IS NOT NULL) AS held`,
      values: [this.id, this.#epoch, version],
    });
    return { sealedBy: row?.["key"], error: row?.["held"] === true ? null : lost(this.#uuid) };
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

  /**
   * Gives the vault back; the lease ends by itself where that fails. No step of it finds its row any more. A second call does nothing.
   */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#stopRenewing();
    const row = "id = $1 AND epoch = $2";
    const sql = `WITH gone AS (DELETE FROM ${this.#place.schema}.vaults WHERE ${row} AND status = 'absent')
      UPDATE ${this.#place.schema}.vaults SET ${free}, epoch = NULL WHERE ${row} AND status <> 'absent'`;
    try {
      await this.#transact({ sql, values: [this.id, this.#epoch] });
    } catch {
      // It ends within `leaseMs`.
    }
  }

  #stopRenewing(): void {
    clearInterval(this.#timer);
    this.#released = true;
  }

  /** Returns the next version if the step on this version was committed, and else one that it does not find when it comes late. */
  async #lookUp(version: number): Promise<number> {
    const sql = `UPDATE ${this.#place.schema}.vaults SET version = CASE version WHEN $3 THEN version + 2 ELSE version END
      WHERE id = $1 AND epoch = $2 RETURNING version`;
    const values = [this.id, this.#epoch, version];
    const [row] = await twice(async () => await this.#transact({ sql, values }));
    if (row === undefined) throw lost(this.#uuid);
    return Number(row["version"]);
  }

  async #transact(statement: Statement): Promise<Row[]> {
    const { database } = this.#place;
    return (await database.transact([waitingFor(steppingMs), statement]))[1] ?? [];
  }

  /** Renews the lease; null if nobody can tell whether that succeeded, as while the database is away. */
  async #renew(): Promise<boolean | null> {
    // One that was given back meanwhile stays so.
    const sql = `UPDATE ${this.#place.schema}.vaults SET ${renewed}
      WHERE id = $1 AND epoch = $2 AND holder IS NOT NULL RETURNING 1 AS renewed`;
    const sent = instant(this.#place.clock);
    try {
      const [row] = await this.#transact({ sql, values: [this.id, this.#epoch] });
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
