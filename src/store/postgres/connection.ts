import pg from "pg";
import { VaultError } from "../../errors.ts";
import type { Statement } from "../statement.ts";
import type { Address } from "./address.ts";
import type { PlainClient, Wire } from "./client.ts";
import { clientFor, answerBytes, tooMuchSaid, wholeAnswerBytes } from "./client.ts";
import type { Reason, WayOut } from "./reasons.ts";
import { brief, connectionReason, refusalReason } from "./reasons.ts";

export type Row = Record<string, unknown>;

/** How long what reads or writes the whole state may take, in milliseconds. */
export const wholeMs = 600_000;

/** Errors of a transaction that has changed nothing and may be run again: a conflict with another one, and a deadlock. */
const repeatable = ["40001", "40P01"];

/** The error of a check that does not find a row as it was: a division by zero. */
export const noRow = "22012";

/** The error of a check that finds the gate of the state closed: the logarithm of nothing, which nobody else asks for. */
export const gateClosed = "2201E";

/** Errors of those that make something at the same time as somebody else: a row, or a part of the schema. */
export const alreadyThere = ["23505", "42P06", "42P07", "42701", "42710", "XX000"];

/** The error for a label that another vault has: no other column of a step is unique over all vaults. */
export const labelTwice = "23505";

/** The error of a check that finds another breaker than was seen: the square root of less than nothing. */
export const breakerChanged = "2201F";

/** Errors that callers expect. */
const expected = [...repeatable, noRow, "55P03", gateClosed, breakerChanged, ...alreadyThere];

/** Errors after which there is no connection any more. Words like FATAL are in the language of the server. */
const fatal = /^(?:08...|57P..|25P0[345])$/;

/**
 * SET LOCAL in one statement: a commit is durable, and says so if it may not be, whatever a role or a database has set. What waits for
 * standbys longer than that stays.
 */
const durable: Statement = {
  sql: `SELECT set_config('client_min_messages', 'warning', true),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`,
};

/** Told how long it took until an answer came, in milliseconds. */
type Took = (ms: number) => void;

/** An error that callers expect, and a failure of the state where they do not. */
class Expected extends VaultError {
  readonly sqlState: string;

  constructor(address: Address, sqlState: string, message: string) {
    super(
      "state",
      `the state ${address.shown} cannot be used: ${refusalReason(address, sqlState, message).why}`,
      { retry: "safe" },
    );
    this.sqlState = sqlState;
  }
}

/** The error where the answer is lost: what was sent to the database may have been done. */
export class AnswerLost extends VaultError {
  constructor(address: Address, why: string) {
    super("state", `the connection to the state ${address.shown} was lost: ${brief(why)}`, {
      hint: "run it again when the database is there; what was not recorded was not sent",
      retry: "safe",
    });
  }
}

/**
 * One connection to PostgreSQL. Uses nothing that lives as long as a session, so that a pooler in transaction mode does as well;
 * statements go out together, in one round trip.
 */
export class Connection {
  readonly #client: PlainClient;
  readonly #address: Address;
  readonly #took: Took;
  #dead: Error | null = null;
  #underWay = 0;
  /** How often it was said that a commit may not be durable, and the last time. */
  #notices = 0;
  #notice = "";

  private constructor(client: PlainClient, address: Address, took: Took) {
    this.#client = client;
    this.#took = took;
    this.#address = address;
    client.on("error", (error: Error) => (this.#dead ??= error));
    client.on("end", () => (this.#dead ??= new Error("the connection was closed")));
    client.on("notice", ({ code, message }) => {
      if (code !== "01000") return;
      this.#notices += 1;
      this.#notice = message ?? "";
    });
  }

  /**
   * Connects to the first of the hosts that is not in recovery.
   * @throws `state` if none can be used
   */
  static async open(address: Address, took: Took = () => undefined): Promise<Connection> {
    const problems: (Reason & { at: string })[] = [];
    for (const { host, port } of address.hosts) {
      const at = `${host}:${port}`;
      const password = address.password ?? address.findPassword?.({ host, port }) ?? "";
      const connection = new Connection(clientFor(address, host, port, password), address, took);
      try {
        await connection.#client.connect();
        if (address.hosts.length === 1 || !(await connection.#isInRecovery())) return connection;
        problems.push({ at, why: "is a read-only standby" });
      } catch (error) {
        const code = error instanceof VaultError ? "" : codeOf(error);
        problems.push({
          at,
          ...connectionReason({ ...address, password }, code, said(error as Error)),
        });
      }
      connection.close();
    }
    const why = problems.map((problem) => `${problem.at} ${problem.why}`).join("; ");
    const { hint, next } = problems.find((problem) => problem.hint ?? problem.next) ?? {};
    const { retry } = problems.find((problem) => problem.retry !== undefined) ?? {};
    throw cannotBeUsed(address, why, { hint, next, retry });
  }

  get isUsable(): boolean {
    return this.#dead === null;
  }

  /** How many transactions are not answered yet. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Closes without waiting. */
  close(): void {
    this.#dead ??= new Error("the connection was closed");
    void this.#client.end().catch(() => undefined);
  }

  /**
   * Runs one statement by itself, as a transaction of its own.
   * @throws {AnswerLost} if it may have been run
   * @throws `state` if it may get lost although it was committed
   */
  async query(statement: Statement): Promise<Row[]> {
    const [result] = await this.#send([statement]);
    return result?.rows ?? [];
  }

  /**
   * Runs statements as one transaction, in one round trip; repeated after a conflict with another transaction. Returns the rows of each.
   * @throws {AnswerLost} if the transaction may have been committed
   * @throws `state` if it may get lost although it was committed
   */
  async transact(statements: readonly Statement[]): Promise<Row[][]> {
    return await this.#transaction("READ COMMITTED", statements);
  }

  /** Runs queries that see the same moment. */
  async snapshot(queries: readonly Statement[]): Promise<Row[][]> {
    return await this.#transaction("REPEATABLE READ READ ONLY", queries);
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
    const run = async (statement: Statement): Promise<pg.QueryResult<Row> | undefined> =>
      (await this.#send([statement], wholeMs))[0];
    await run({ sql: `BEGIN ISOLATION LEVEL ${begin}` });
    await run(durable);
    let result: T;
    try {
      result = await work(async (statement) => (await run(statement))?.rows ?? []);
    } catch (error) {
      if (this.isUsable) await run({ sql: "ROLLBACK" }).catch(() => undefined);
      throw error;
    }
    if ((await run({ sql: "COMMIT" }))?.command !== "COMMIT")
      throw new AnswerLost(this.#address, "the transaction was rolled back");
    return result;
  }

  async #transaction(isolation: string, statements: readonly Statement[]): Promise<Row[][]> {
    for (let tries = 5; ; tries -= 1) {
      try {
        const all = [
          { sql: `BEGIN ISOLATION LEVEL ${isolation}` },
          durable,
          ...statements,
          { sql: "COMMIT" },
        ];
        const results = await this.#send(all);
        if (results.at(-1)?.command !== "COMMIT")
          throw new AnswerLost(this.#address, "the transaction was rolled back");
        return results.slice(2, -1).map(({ rows }) => rows);
      } catch (error) {
        if (tries <= 1 || !repeatable.includes(codeOf(error))) throw error;
      }
    }
  }

  async #isInRecovery(): Promise<boolean> {
    return (await this.query({ sql: "SELECT pg_is_in_recovery() AS is" }))[0]?.["is"] === true;
  }

  /** Sends all at once; the first failure is thrown when all are answered. */
  async #send(
    statements: readonly Statement[],
    mayTakeMs = this.#address.patienceMs,
  ): Promise<pg.QueryResult<Row>[]> {
    if (this.#dead !== null) throw new AnswerLost(this.#address, this.#dead.message);
    const timer = setTimeout(() => {
      this.#dead ??= new Error("no answer in time");
      // A query that is not answered must not be answered later.
      (this.#client as unknown as Wire).connection.stream.destroy();
    }, mayTakeMs);
    const noticed = this.#notices;
    this.#client.inbound.allow(mayTakeMs === wholeMs ? wholeAnswerBytes : answerBytes);
    const sentAt = performance.now();
    const { stream } = (this.#client as unknown as Wire).connection;
    // In one piece: `pg` writes five times for each.
    stream.cork();
    const sent = statements.map(
      async ({ sql, values }) => await this.#client.query<Row>(sql, [...(values ?? [])]),
    );
    stream.uncork();
    this.#underWay += 1;
    const answers = await Promise.allSettled(sent);
    this.#underWay -= 1;
    clearTimeout(timer);
    const tookMs = performance.now() - sentAt;
    const failed = answers.find((answer) => answer.status === "rejected");
    if (failed !== undefined) {
      // The connection's own failures have no code, or one of the system, like EPIPE.
      const code = codeOf(failed.reason);
      const { message } = failed.reason as Error;
      if (expected.includes(code)) throw new Expected(this.#address, code, message);
      if (failed.reason instanceof pg.DatabaseError && !fatal.test(code)) {
        const { why, ...out } = refusalReason(this.#address, code, message);
        throw cannotBeUsed(this.#address, why, out);
      }
      this.#dead ??= failed.reason as Error;
      throw new AnswerLost(this.#address, this.#dead.message);
    }
    this.#took(tookMs);
    if (this.#notices > noticed)
      throw cannotBeUsed(this.#address, `a commit may not be durable (${brief(this.#notice)})`);
    return answers.map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult<Row>>).value);
  }
}

/** What an error says; those of the runtime mean that the library did not understand the server. */
const said = (error: Error): string =>
  error instanceof TypeError || error instanceof RangeError ? tooMuchSaid : error.message;

/** The code of an error of the server (SQLSTATE, five characters) or of the system; else empty. */
export function codeOf(error: unknown): string {
  if (error instanceof Expected) return error.sqlState;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether a row that was not to be waited for is locked. */
export const isLocked = (error: unknown): boolean => codeOf(error) === "55P03";

/** The error for a shared state that cannot be used; nothing was sent to the service. */
export const cannotBeUsed = (address: Address, why: string, out: WayOut = {}): VaultError =>
  new VaultError("state", `the state ${address.shown} cannot be used: ${why}`, out);
