import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import { retryWhileBusy } from "../../files/retry-while-busy.ts";
import { asStateError, isBusy, isDamaged } from "../../files/state-error.ts";
import type { Durability } from "../vault-session.ts";
import { checkNotNewer } from "./open-database.ts";
import { run } from "./query.ts";

/** How long a transaction waits for those of other processes, in milliseconds; each takes a few. */
const busyTimeoutMs = 30_000;

/** What a change of a committed transaction has returned, or thrown: then it alone was not made. */
type Outcome = { result: unknown } | { error: unknown };

/** A change that waits for its transaction. */
interface Pending {
  change: (db: DatabaseSync) => unknown;
  durability: Durability;
  settle: PromiseWithResolvers<unknown>;
}

/**
 * One connection, used in short transactions that never span an await; each makes sure that the state is still in use. SQLite itself does not wait, which would block signals;
 * this class retries while the database is busy. The connection is never closed: the WAL stays when the process ends, and the next
 * process continues with it.
 */
export class StateDatabase {
  readonly #connection: DatabaseSync;
  readonly #path: string;
  readonly #clock: Clock;
  /** In the order of the calls. */
  #pending: Pending[] = [];
  #isWriting = false;

  constructor(connection: DatabaseSync, path: string, clock: Clock) {
    this.#connection = connection;
    this.#path = path;
    this.#clock = clock;
  }

  /** Runs queries on one snapshot. */
  async read<T>(query: (db: DatabaseSync) => T): Promise<T> {
    return await retryBusyDatabase(this.#clock, this.#path, () =>
      this.#transaction("BEGIN", query),
    );
  }

  /**
   * Makes a change that is whole or, if it throws, not made, and resolves when it is committed. May run it again if the database is
   * busy. Changes that are asked for in one turn of the event loop share a transaction, and with it the sync of its commit.
   */
  async write<T>(change: (db: DatabaseSync) => T, durability: Durability = "synced"): Promise<T> {
    const settle = Promise.withResolvers<unknown>();
    this.#pending.push({ change, durability, settle });
    if (!this.#isWriting) {
      this.#isWriting = true;
      setImmediate(() => void this.#writePending());
    }
    return (await settle.promise) as T;
  }

  async #writePending(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      try {
        const outcomes = await retryBusyDatabase(this.#clock, this.#path, () =>
          this.#commit(batch),
        );
        for (const [n, outcome] of outcomes.entries()) {
          const settle = batch[n]?.settle;
          if ("error" in outcome) settle?.reject(outcome.error);
          else settle?.resolve(outcome.result);
        }
      } catch (error) {
        for (const { settle } of batch) settle.reject(error);
      }
    }
    this.#isWriting = false;
  }

  /** Makes changes in one transaction, which is synced if one of them is to be. */
  #commit(batch: readonly Pending[]): Outcome[] {
    const isSynced = batch.some(({ durability }) => durability === "synced");
    if (!isSynced) this.#connection.exec("PRAGMA synchronous = NORMAL");
    try {
      return this.#transaction("BEGIN IMMEDIATE", (db) =>
        batch.map(({ change }) =>
          batch.length === 1 ? { result: change(db) } : this.#alone(change),
        ),
      );
    } finally {
      if (!isSynced) this.#connection.exec("PRAGMA synchronous = FULL");
    }
  }

  /** Makes one of several changes: if it throws, the others stay. */
  #alone(change: Pending["change"]): Outcome {
    const db = this.#connection;
    run(db, "SAVEPOINT change");
    try {
      const result = change(db);
      run(db, "RELEASE change");
      return { result };
    } catch (error) {
      // Then all of them are to be made again, or SQLite has undone all of them.
      if (isBusy(error) || !db.isTransaction) throw error;
      run(db, "ROLLBACK TO change");
      run(db, "RELEASE change");
      return { error: asStateError(this.#path, error) };
    }
  }

  /**
   * Copies one snapshot, without what was erased, into an empty file that takes the place of `file`.
   * @throws `state` for a state that is damaged, or a file that cannot be written
   */
  async copyInto(empty: string, file: string): Promise<void> {
    await retryBusyDatabase(this.#clock, this.#path, () => {
      try {
        this.#connection.prepare("VACUUM INTO ?").run(empty);
      } catch (error) {
        if (isBusy(error) || isDamaged(error)) throw error;
        throw asStateError(file, error, "the backup cannot be written");
      }
    });
  }

  /** Rewrites the database without what was removed from it, and empties the WAL as far as other readers permit. */
  async compact(): Promise<void> {
    await retryBusyDatabase(this.#clock, this.#path, () =>
      this.#connection.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"),
    );
  }

  #transaction<T>(begin: string, work: (db: DatabaseSync) => T): T {
    this.#connection.exec(begin);
    try {
      checkNotNewer(this.#connection, this.#path);
      const result = work(this.#connection);
      this.#connection.exec("COMMIT");
      return result;
    } catch (error) {
      // A failed write may have ended the transaction already.
      if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
      throw error;
    }
  }
}

/**
 * Retries while the database is busy, for up to 30 seconds.
 * @throws `state` if it is still busy then, and for every other failure of SQLite
 */
export async function retryBusyDatabase<T>(
  clock: Clock,
  path: string,
  attempt: () => T,
): Promise<T> {
  let cause: unknown;
  const done = await retryWhileBusy(
    clock,
    { deadline: clock.elapsed() + busyTimeoutMs },
    25,
    () => {
      try {
        return { result: attempt() };
      } catch (error) {
        if (!isBusy(error)) throw asStateError(path, error);
        cause = error;
        return null;
      }
    },
  );
  if (done === null) throw stillBusy(path, cause);
  return done.result;
}

function stillBusy(path: string, cause: unknown): VaultError {
  return new VaultError(
    "state",
    `the state cannot be used: ${path}: other programs have locked it for ${busyTimeoutMs / 1000} seconds`,
    {
      hint: "find out what is using it (a backup, a database browser), then run it again",
      cause,
    },
  );
}
