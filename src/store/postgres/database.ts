import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import pg from "pg";
import { VaultError, type ErrorFacts } from "../../errors.ts";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { Statement } from "../tables.ts";
import type { Address } from "./address.ts";
import {
  absent,
  AnswerLost,
  brief,
  cannotBeUsed,
  codeOf,
  connectionReason,
  refusal,
  repeatable,
} from "./errors.ts";

export type Row = Record<string, unknown>;

export type Query = (statement: Statement) => Promise<Row[]>;

/** How long a statement of an operation on the whole state may take, in milliseconds. */
const wholeMs = 60_000;

/** How long to wait for a server that has gone away, in milliseconds: as long as a lease. */
const awayMs = 15_000;

/** Between two tries, in milliseconds. */
const pauseMs = 250;

/** Errors that end the connection, or of `pg`, without a code. FATAL is in the server's language. */
const fatal = /^(?:08...|57P..|25P0[345]|)$/;

/**
 * SET LOCAL in one statement: a commit is durable, and says so if it may not be, whatever a role or
 * database has set. A setting that waits longer for standbys stays.
 */
const durable = `SELECT set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`;

/** What `pg` does not declare of a client. */
interface Wire {
  connection: EventEmitter & { stream: Duplex; attachListeners(stream: Duplex): void };
}

/**
 * One connection to PostgreSQL. Uses nothing that lasts for a session, so that a pooler in
 * transaction mode will do; statements go out together, in one round trip.
 */
class Connection extends pg.Client {
  /** Why it is of no use any more. */
  dead: Error | null = null;
  readonly #address: Address;
  /** That commits may not be durable, as the server has said. */
  readonly #notices: string[] = [];

  /** @throws `usage` for certificates that cannot be read */
  constructor(address: Address, at: Address["hosts"][number], password: string) {
    const { user, database, tls, patienceMs } = address;
    super({
      ...at,
      user,
      database,
      // A function, so that the library does not look for one itself.
      password: () => password,
      ssl: tls === undefined ? false : { rejectUnauthorized: true, ...authoritiesIn(tls) },
      sslnegotiation: "postgres",
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: patienceMs,
    });
    this.#address = address;
    this.on("error", (error: Error) => (this.dead ??= error));
    this.on("end", () => (this.dead ??= new Error("the connection was closed")));
    this.on("notice", ({ code, message }) => {
      if (code === "01000") this.#notices.push(message ?? "");
    });
    const { connection } = this as unknown as Wire;
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      const emit = stream.emit.bind(stream) as (...event: unknown[]) => boolean;
      stream.emit = (...event: unknown[]) => {
        try {
          return emit(...event);
        } catch (cause) {
          if (event[0] !== "data") throw cause;
          // What the library does not understand would end the process from here.
          stream.destroy(cause as Error);
          return true;
        }
      };
      attach(stream);
    };
  }

  /** Names user and database only: poolers refuse more, and `pg` would add the environment's. */
  getStartupConf(): { user: string | undefined; database: string | undefined } {
    return { user: this.user, database: this.database };
  }

  /**
   * Sends all at once; the first failure is thrown when all are answered.
   * @throws {AnswerLost} if they may have been run
   * @throws `state` if they were not, or may get lost although they were committed
   */
  async send(statements: readonly Statement[], mayTakeMs: number): Promise<pg.QueryResult<Row>[]> {
    if (this.dead !== null) throw new AnswerLost(this.#address, this.dead.message);
    const { stream } = (this as unknown as Wire).connection;
    // A query that is not answered must not be answered later.
    const timer = setTimeout(() => this.cut(new Error("no answer in time")), mayTakeMs);
    const noticed = this.#notices.length;
    // In one piece: `pg` writes five times for each.
    stream.cork();
    const sent = statements.map(
      async ({ sql, values }) => await this.query<Row>(sql, [...(values ?? [])]),
    );
    stream.uncork();
    const answers = await Promise.allSettled(sent);
    clearTimeout(timer);
    const failed = answers.find((answer) => answer.status === "rejected");
    if (failed !== undefined) throw this.#failure(failed.reason as Error);
    const notice = this.#notices[noticed];
    if (notice !== undefined)
      throw cannotBeUsed(this.#address, `a commit may not be durable (${brief(notice)})`);
    return answers.map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult<Row>>).value);
  }

  /** Ends it at once; returns why it has ended. */
  cut(reason: Error): Error {
    (this as unknown as Wire).connection.stream.destroy();
    return (this.dead ??= reason);
  }

  close(): void {
    this.dead ??= new Error("the connection was closed");
    void this.end().catch(() => undefined);
  }

  #failure(reason: Error): VaultError {
    // The connection's own failures have no code, or one of the system, like EPIPE.
    const code = codeOf(reason);
    if (reason instanceof pg.DatabaseError && !fatal.test(code))
      return refusal(this.#address, code, reason);
    return new AnswerLost(this.#address, this.cut(reason).message);
  }
}

function authoritiesIn({ rootCertificate: path }: NonNullable<Address["tls"]>): { ca?: string[] } {
  if (path === undefined) return {};
  try {
    return { ca: [readFileSync(path, "utf8")] };
  } catch (error) {
    throw new VaultError("usage", `sslrootcert of the state: ${(error as Error).message}`);
  }
}

/**
 * The database of a shared state. Its one connection answers requests in order and is made anew if
 * broken. Connects at the first use. Waits for a server that restarts.
 */
export class Database {
  readonly address: Address;
  readonly #clock: Clock;
  readonly #waiting: Waiting | undefined;
  /** Whoever asks at the same time waits for the same one. */
  #connection: Promise<Connection> | null = null;
  #wasThere = false;

  constructor(address: Address, clock: Clock, waiting?: Waiting) {
    this.address = address;
    this.#clock = clock;
    this.#waiting = waiting;
  }

  /**
   * Runs a statement that may run twice, as its own transaction: again if the answer is lost.
   * @throws `state` if it may get lost although it was committed
   */
  async query(statement: Statement): Promise<Row[]> {
    const [result] = await twice(async () => await this.#send([statement]));
    return result?.rows ?? [];
  }

  /**
   * Runs statements as one transaction, in one round trip; repeated after a conflict with another.
   * Returns the rows of each. A wait for a lock longer than `lockMs` fails as `isLocked`.
   * @throws {AnswerLost} if the transaction may have been committed
   * @throws `state` if it may get lost although it was committed
   */
  async transact(statements: readonly Statement[], lockMs?: number): Promise<Row[][]> {
    const begin = { sql: "BEGIN ISOLATION LEVEL READ COMMITTED" };
    const waiting = lockMs === undefined ? "" : `, set_config('lock_timeout', '${lockMs}', true)`;
    const all = [begin, { sql: durable + waiting }, ...statements, { sql: "COMMIT" }];
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
   * Runs work in one transaction, statement by statement; each may be slow.
   * @throws {AnswerLost} if the transaction may have been committed; the reason of an interruption, which COMMIT does not heed
   * @throws what the work throws; then nothing was changed
   */
  async converse<T>(isolation: string, work: (query: Query) => Promise<T>): Promise<T> {
    const signal = this.#waiting?.signal;
    // Of its own: on the others several requests are under way.
    const connection = await this.#open();
    let isEnding = false;
    const stop = (): void => {
      if (!isEnding) connection.cut(new Error("it was interrupted"));
    };
    const run = async (statement: Statement) => (await connection.send([statement], wholeMs))[0];
    signal?.addEventListener("abort", stop);
    try {
      signal?.throwIfAborted();
      const begin = { sql: `BEGIN ISOLATION LEVEL ${isolation}` };
      await connection.send([begin, { sql: durable }], this.address.patienceMs);
      const result = await work(async (statement) => (await run(statement))?.rows ?? []);
      isEnding = true;
      this.#expectCommitted(await run({ sql: "COMMIT" }));
      return result;
    } catch (error) {
      // Unless it was cut, nothing is locked any more when this returns.
      if (connection.dead === null) await run({ sql: "ROLLBACK" }).catch(() => undefined);
      if (!isEnding) signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
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
    const connection = await opening.catch(() => null);
    if (connection?.dead === null) return connection;
    if (this.#connection === opening) this.#connection = null;
    return connection === null ? await opening : await this.#connect();
  }

  /** Waits for a server that was there. */
  async #open(): Promise<Connection> {
    const [clock, waiting] = [this.#clock, this.#waiting];
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
    const { hosts, patienceMs } = address;
    const problems: string[] = [];
    let facts: ErrorFacts = {};
    for (const at of hosts) {
      const password = address.password ?? address.findPassword?.(at) ?? "";
      const connection = new Connection(address, at, password);
      try {
        await connection.connect();
        // Whoever is alone is asked with what the state says of itself.
        const asking = { sql: "SELECT pg_is_in_recovery() AS is" };
        const [result] = hosts.length > 1 ? await connection.send([asking], patienceMs) : [];
        if (result?.rows[0]?.["is"] !== true) return connection;
        problems.push(`${at.host}:${at.port} is a read-only standby`);
        facts = { cause: result, ...facts };
      } catch (error) {
        const { why, ...more } = connectionReason(error);
        problems.push(`${at.host}:${at.port} ${why}`);
        facts = { ...more, ...facts };
      }
      connection.close();
    }
    throw cannotBeUsed(address, problems.join("; "), { cause: absent, ...facts });
  }
}

/** Runs work that does no harm when it is run twice: once more if the answer is lost. */
export async function twice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AnswerLost)) throw error;
    return await work();
  }
}
