import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import { retryWhileBusy } from "../../files/retry-while-busy.ts";
import { asStateError, isBusy } from "../../files/state-error.ts";
import type { Durability } from "../stored-session.ts";

/** How long a transaction waits for those of other processes, in milliseconds; each takes a few. */
const busyTimeoutMs = 30_000;

/**
 * One connection, used in short transactions that never span an await. SQLite itself does not wait, which would block signals;
 * this class retries while the database is busy. The connection is never closed: the WAL stays when the process ends, and the next
 * process continues with it.
 */
export class StateDatabase {
  readonly #connection: DatabaseSync;
  readonly #path: string;
  readonly #clock: Clock;

  constructor(connection: DatabaseSync, path: string, clock: Clock) {
    this.#connection = connection;
    this.#path = path;
    this.#clock = clock;
  }

  /** Runs queries on one snapshot. */
  async read<T>(query: (db: DatabaseSync) => T): Promise<T> {
    return await retryBusyDatabase(this.#clock, this.#path, () => this.#transaction("BEGIN", query));
  }

  /** Runs a change as one transaction: if it throws, nothing has changed. May run it again if the database is busy. */
  async write<T>(change: (db: DatabaseSync) => T, durability: Durability = "synced"): Promise<T> {
    return await retryBusyDatabase(this.#clock, this.#path, () => {
      if (durability === "synced") return this.#transaction("BEGIN IMMEDIATE", change);
      this.#connection.exec("PRAGMA synchronous = NORMAL");
      try {
        return this.#transaction("BEGIN IMMEDIATE", change);
      } finally {
        this.#connection.exec("PRAGMA synchronous = FULL");
      }
    });
  }

  /** Rewrites the database without what was removed from it, and empties the WAL as far as other readers permit. */
  async compact(): Promise<void> {
    await retryBusyDatabase(this.#clock, this.#path, () => this.#connection.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  #transaction<T>(begin: string, work: (db: DatabaseSync) => T): T {
    this.#connection.exec(begin);
    try {
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
export async function retryBusyDatabase<T>(clock: Clock, path: string, attempt: () => T): Promise<T> {
  let cause: unknown;
  const done = await retryWhileBusy(clock, { deadline: clock.elapsed() + busyTimeoutMs }, 25, () => {
    try {
      return { result: attempt() };
    } catch (error) {
      if (!isBusy(error)) throw asStateError(path, error);
      cause = error;
      return null;
    }
  });
  if (done === null) throw stillBusy(path, cause);
  return done.result;
}

function stillBusy(path: string, cause: unknown): VaultError {
  return new VaultError("state", `the state cannot be used: ${path}: other programs have locked it for ${busyTimeoutMs / 1000} seconds`, {
    hint: "find out what is using it (a backup, a database browser), then run it again",
    cause,
  });
}
