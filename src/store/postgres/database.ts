import { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Address } from "./address.ts";
import type { Row, Statement, Timing } from "./connection.ts";
import { AnswerLost, Connection } from "./connection.ts";

/** How long a server that was there and has gone away is waited for, in milliseconds: as long as a lease. */
const awayMs = 15_000;

/** Between two tries, in milliseconds. */
const pauseMs = 250;

/** How the program waits. */
interface Patience {
  clock: Clock;
  /** Of the command. */
  waiting?: Waiting | undefined;
}

/**
 * The database of a shared state, reached by one connection, which is made anew where it has broken. Connects at the first use. A server
 * that restarts is waited for.
 */
export class Database {
  readonly address: Address;
  readonly #timing: Timing;
  readonly #patience: Patience;
  #connection: Promise<Connection> | null = null;
  #wasThere = false;

  constructor(address: Address, timing: Timing, patience: Patience) {
    this.address = address;
    this.#timing = timing;
    this.#patience = patience;
  }

  /** The connection; one, whoever asks for it at the same time. */
  async connect(): Promise<Connection> {
    const current = (this.#connection ??= this.#open());
    const connection = await current.catch((error: unknown) => {
      if (this.#connection === current) this.#connection = null;
      throw error;
    });
    if (connection.isUsable) return connection;
    if (this.#connection === current) this.#connection = null;
    return await this.connect();
  }

  async #open(): Promise<Connection> {
    const { clock, waiting } = this.#patience;
    const until = this.#wasThere ? Math.min(clock.elapsed() + awayMs, waiting?.deadline ?? Number.POSITIVE_INFINITY) : 0;
    for (;;) {
      try {
        const connection = await Connection.open(this.address, this.#timing);
        this.#wasThere = true;
        return connection;
      } catch (error) {
        const isAway = error instanceof VaultError && error.retry === "safe";
        if (!isAway || clock.elapsed() + pauseMs > until || waiting?.signal.aborted === true) throw error;
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

  /** See `Connection.transact`. */
  async transact(statements: readonly Statement[]): Promise<Row[][]> {
    return await (await this.connect()).transact(statements);
  }

  /** Closes the connection without waiting. */
  close(): void {
    void this.#connection?.then((connection) => connection.close()).catch(() => undefined);
  }
}
