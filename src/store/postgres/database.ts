import { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Address } from "./address.ts";
import type { Statement } from "../statement.ts";
import type { Row } from "./connection.ts";
import { AnswerLost, Connection } from "./connection.ts";

/** How long a server that was there and has gone away is waited for, in milliseconds: as long as a lease. */
const awayMs = 15_000;

/** Between two tries, in milliseconds. */
const pauseMs = 250;

/** Transactions under way on one connection before another one is opened. */
const sharing = 4;

/** A latency that the rate limit leaves for requests that are late, in milliseconds. */
const negligibleMs = 10;

/** The server syncs commits of different connections together. */
const connectionsAtMost = 4;

/** How the program waits, and what it does before. */
interface Patience {
  clock: Clock;
  /** Of the command. */
  waiting?: Waiting | undefined;
  /** Called before the first login. */
  beforeLogin?: (() => void) | undefined;
}

/**
 * The database of a shared state, reached by one connection, or by a few where many transactions are under way. They are made anew where
 * one has broken. Connects at the first use. A server that restarts is waited for.
 */
export class Database {
  readonly address: Address;
  readonly #patience: Patience;
  #first: Promise<Connection> | null = null;
  /** With the first one. */
  #connections: readonly Connection[] = [];
  /** Whether another one may be opened: none is being opened, and none was refused, as by a server that has as many as it may. */
  #mayOpen = true;
  #turn = 0;
  #wasThere = false;
  #quickestMs = Number.POSITIVE_INFINITY;

  constructor(address: Address, patience: Patience) {
    this.address = address;
    this.#patience = patience;
  }

  /** How long the quickest answer took, in milliseconds; 0 where that is too little to be reckoned with. */
  async latencyMs(): Promise<number> {
    if (!Number.isFinite(this.#quickestMs)) await this.query({ sql: "SELECT 1" });
    return this.#quickestMs >= negligibleMs ? this.#quickestMs : 0;
  }

  readonly #took = (ms: number): void => {
    this.#quickestMs = Math.min(this.#quickestMs, ms);
  };

  /** A connection; whoever asks at the same time waits for the same first one. */
  async connect(): Promise<Connection> {
    const first = (this.#first ??= this.#open());
    const connection = await first.catch((error: unknown) => {
      if (this.#first === first) this.#first = null;
      throw error;
    });
    if (this.#connections.every(({ isUsable }) => isUsable) && connection.isUsable)
      return this.#next(connection);
    // Where one has broken, the others may lead to a server that others do not use any more.
    if (this.#first === first) {
      this.close();
      [this.#first, this.#connections, this.#mayOpen] = [null, [], true];
    }
    return await this.connect();
  }

  /** The next of the connections, in turn. Opens another one, for which nobody waits, where too much is under way on it. */
  #next(first: Connection): Connection {
    if (this.#connections.length === 0) this.#connections = [first];
    this.#turn = (this.#turn + 1) % this.#connections.length;
    const next = this.#connections[this.#turn] ?? first;
    if (next.underWay >= sharing && this.#connections.length < connectionsAtMost && this.#mayOpen)
      void this.#openAnother();
    return next;
  }

  async #openAnother(): Promise<void> {
    this.#mayOpen = false;
    const former = this.#connections;
    try {
      const another = await Connection.open(this.address, this.#took);
      if (this.#connections === former)
        [this.#connections, this.#mayOpen] = [[...former, another], true];
      else another.close();
    } catch {
      // Those that are there do.
    }
  }

  async #open(): Promise<Connection> {
    const { clock, waiting } = this.#patience;
    if (!this.#wasThere) this.#patience.beforeLogin?.();
    const until = Math.min(clock.elapsed() + awayMs, waiting?.deadline ?? Number.POSITIVE_INFINITY);
    for (;;) {
      try {
        const connection = await Connection.open(this.address, this.#took);
        this.#wasThere = true;
        return connection;
      } catch (error) {
        const isAway = error instanceof VaultError && error.retry === "safe";
        // Every call to the service follows a look at the state.
        if (isAway && !this.#wasThere)
          throw new VaultError("state", `${error.message}; nothing was sent`, error.facts);
        if (!isAway || clock.elapsed() + pauseMs > until || waiting?.signal.aborted === true)
          throw error;
        await clock.sleep(pauseMs, waiting?.signal).catch(() => undefined);
      }
    }
  }

  /** Runs a statement that does no harm when it is run twice: once more where the answer is lost. */
  async query(statement: Statement): Promise<Row[]> {
    try {
      return await (await this.connect()).query(statement);
    } catch (error) {
      if (!(error instanceof AnswerLost)) throw error;
      return await (await this.connect()).query(statement);
    }
  }

  /** See `Connection.snapshot`; once more where the answer is lost. */
  async snapshot(queries: readonly Statement[]): Promise<Row[][]> {
    try {
      return await (await this.connect()).snapshot(queries);
    } catch (error) {
      if (!(error instanceof AnswerLost)) throw error;
      return await (await this.connect()).snapshot(queries);
    }
  }

  /** See `Connection.transact`. */
  async transact(statements: readonly Statement[]): Promise<Row[][]> {
    return await (await this.connect()).transact(statements);
  }

  /** Closes the connections without waiting. */
  close(): void {
    for (const connection of this.#connections) connection.close();
    void this.#first?.then((connection) => connection.close()).catch(() => undefined);
  }
}
