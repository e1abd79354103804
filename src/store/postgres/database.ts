import type pg from "pg";
import { VaultError } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Statement } from "../statement.ts";
import type { Address } from "./address.ts";
import type { Row } from "./connection.ts";
import {
  AnswerLost,
  cannotBeUsed,
  codeOf,
  configFor,
  Connection,
  repeatable,
  wholeMs,
} from "./connection.ts";
import type { Reason } from "./reasons.ts";
import { connectionReason, tooMuchSaid } from "./reasons.ts";

/** How long a server that was there and has gone away is waited for, in milliseconds: as long as a lease. */
const awayMs = 15_000;

/** Between two tries, in milliseconds. */
const pauseMs = 250;

/**
 * SET LOCAL in one statement: a commit is durable, and says so if it may not be, whatever a role or a database has set. What waits for
 * standbys longer than that stays.
 */
const durable: Statement = {
  sql: `SELECT set_config('client_min_messages', 'warning', true),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`,
};

/** How the program waits. */
interface Patience {
  clock: Clock;
  /** Of the command. */
  waiting?: Waiting | undefined;
}

/**
 * The database of a shared state, reached by one connection, which answers requests in their order and is made anew where it has broken.
 * Connects at the first use. A server that restarts is waited for.
 */
export class Database {
  readonly address: Address;
  readonly #patience: Patience;
  /** Whoever asks at the same time waits for the same one. */
  #connection: Promise<Connection> | null = null;
  #wasThere = false;

  constructor(address: Address, patience: Patience) {
    this.address = address;
    this.#patience = patience;
  }

  /**
   * Runs a statement that does no harm when it is run twice, as a transaction of its own: once more where the answer is lost.
   * @throws `state` if it may get lost although it was committed
   */
  async query(statement: Statement): Promise<Row[]> {
    const [result] = await twice(async () => await this.#send([statement]));
    return result?.rows ?? [];
  }

  /**
   * Runs statements as one transaction, in one round trip; repeated after a conflict with another transaction. Returns the rows of each.
   * @throws {AnswerLost} if the transaction may have been committed
   * @throws `state` if it may get lost although it was committed
   */
  async transact(statements: readonly Statement[]): Promise<Row[][]> {
    const begin = { sql: "BEGIN ISOLATION LEVEL READ COMMITTED" };
    const all = [begin, durable, ...statements, { sql: "COMMIT" }];
    for (let tries = 5; ; tries -= 1) {
      try {
        const results = await this.#send(all);
        this.#expectCommitted(results.at(-1));
        return results.slice(2, -1).map(({ rows }) => rows);
      } catch (error) {
        if (tries <= 1 || !repeatable.includes(codeOf(error))) throw error;
      }
    }
  }

  /**
   * Runs work in one transaction, a statement at a time, each of which may take long. `begin` says how it is isolated.
   * @throws {AnswerLost} if the transaction may have been committed
   * @throws what the work throws; then nothing was changed
   */
  async converse<T>(
    begin: string,
    work: (query: (statement: Statement) => Promise<Row[]>) => Promise<T>,
  ): Promise<T> {
    // Of its own: on the others several requests are under way.
    const connection = await this.#open();
    const run = async (statement: Statement): Promise<pg.QueryResult<Row> | undefined> =>
      (await connection.send([statement], wholeMs))[0];
    try {
      await run({ sql: `BEGIN ISOLATION LEVEL ${begin}` });
      await run(durable);
      const result = await work(async (statement) => (await run(statement))?.rows ?? []);
      this.#expectCommitted(await run({ sql: "COMMIT" }));
      return result;
    } catch (error) {
      // Nothing is locked any more when this returns.
      if (connection.dead === null) await run({ sql: "ROLLBACK" }).catch(() => undefined);
      throw error;
    } finally {
      connection.close();
    }
  }

  /** Closes the connection without waiting. */
  close(): void {
    void this.#connection?.then((connection) => connection.close()).catch(() => undefined);
    this.#connection = null;
  }

  #expectCommitted(result: pg.QueryResult | undefined): void {
    if (result?.command !== "COMMIT")
      throw new AnswerLost(this.address, "the transaction was rolled back");
  }

  async #send(statements: readonly Statement[]): Promise<pg.QueryResult<Row>[]> {
    return await (await this.#connect()).send(statements, this.address.patienceMs);
  }

  async #connect(): Promise<Connection> {
    const opening = (this.#connection ??= this.#open());
    try {
      const connection = await opening;
      if (connection.dead === null) return connection;
    } catch (error) {
      if (this.#connection === opening) this.#connection = null;
      throw error;
    }
    if (this.#connection === opening) this.#connection = null;
    return await this.#connect();
  }

  /** Waits for a server that was there. */
  async #open(): Promise<Connection> {
    const { clock, waiting } = this.#patience;
    const until = Math.min(clock.elapsed() + awayMs, waiting?.deadline ?? Number.POSITIVE_INFINITY);
    for (;;) {
      try {
        const connection = await this.#login();
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

  /**
   * Connects to the first of the hosts that is not in recovery.
   * @throws `state` if none can be used
   */
  async #login(): Promise<Connection> {
    const { address } = this;
    const problems: (Reason & { at: string })[] = [];
    for (const host of address.hosts) {
      const at = `${host.host}:${host.port}`;
      const password = address.password ?? address.findPassword?.(host) ?? "";
      const connection = new Connection(address, configFor(address, host, password));
      try {
        await connection.connect();
        if (address.hosts.length === 1 || !(await this.#isInRecovery(connection)))
          return connection;
        problems.push({ at, why: "is a read-only standby" });
      } catch (error) {
        const code = error instanceof VaultError ? "" : codeOf(error);
        const reason = connectionReason({ ...address, password }, code, said(error as Error));
        problems.push({ at, ...reason });
      }
      connection.close();
    }
    const why = problems.map((problem) => `${problem.at} ${problem.why}`).join("; ");
    const { hint, next } = problems.find((problem) => problem.hint ?? problem.next) ?? {};
    const { retry } = problems.find((problem) => problem.retry !== undefined) ?? {};
    throw cannotBeUsed(address, why, { hint, next, retry });
  }

  async #isInRecovery(connection: Connection): Promise<boolean> {
    const asking = { sql: "SELECT pg_is_in_recovery() AS is" };
    const [result] = await connection.send([asking], this.address.patienceMs);
    return result?.rows[0]?.["is"] === true;
  }
}

/** Runs work that does no harm when it is run twice: once more where the answer is lost. */
export async function twice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AnswerLost)) throw error;
    return await work();
  }
}

/** What an error says; those of the runtime mean that the library did not understand the server. */
const said = (error: Error): string =>
  error instanceof TypeError || error instanceof RangeError ? tooMuchSaid : error.message;
