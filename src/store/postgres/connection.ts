import { readFileSync } from "node:fs";
import pg from "pg";
import { VaultError } from "../../errors.ts";
import type { Value } from "../steps/changes.ts";
import type { Address } from "./address.ts";

/** SQL with `$1`, `$2` … for its values; a list is an array of texts. */
export interface Statement {
  sql: string;
  values?: readonly (Value | readonly string[])[];
}

export type Row = Record<string, unknown>;

/** How long a connection may take to be made, and a round trip to be answered, in milliseconds. */
const patienceMs = 10_000;

/** As `patienceMs`, for what reads or writes the whole state. */
const wholeMs = 600_000;

/** Errors of a transaction that has changed nothing and may be run again: a conflict with another one, and a deadlock. */
const repeatable = ["40001", "40P01"];

/** Errors that callers expect: these, and what a check of a lease or of a row that is there already raises. */
const expected = [...repeatable, "22012", "23505"];

/** The error where the answer is lost: what was sent to the database may have been done. */
export class AnswerLost extends VaultError {
  constructor(address: Address, why: string) {
    super("state", `the connection to the state ${address.shown} was lost: ${why}`, {
      hint: "run it again when the database is there; what was not recorded was not sent",
    });
  }
}

/**
 * One connection to PostgreSQL. Uses nothing that lives as long as a session, so that a pooler in transaction mode does as well;
 * statements go out together, in one round trip.
 */
export class Connection {
  readonly #client: pg.Client;
  readonly #address: Address;
  readonly #took: (ms: number) => void;
  #dead: Error | null = null;
  /** Of commits that may not be durable. */
  readonly #notices: string[] = [];

  private constructor(client: pg.Client, address: Address, took: (ms: number) => void) {
    this.#client = client;
    this.#took = took;
    this.#address = address;
    client.on("error", (error: Error) => (this.#dead ??= error));
    client.on("end", () => (this.#dead ??= new Error("the connection was closed")));
    client.on("notice", ({ severity, code, message }) => {
      if (severity === "WARNING" && code === "01000") this.#notices.push(message ?? "");
    });
  }

  /**
   * Connects to the first of the hosts that is not in recovery. `took` is told how long each answer took, in milliseconds.
   * @throws `state` if none can be used
   */
  static async open(address: Address, took: (ms: number) => void): Promise<Connection> {
    const problems: VaultError[] = [];
    for (const { host, port } of address.hosts) {
      const { user, password, database, tls } = address;
      const ca = tls?.rootCertificate === undefined ? undefined : readCertificates(tls.rootCertificate);
      const ssl = tls === undefined ? false : { rejectUnauthorized: true, ca, servername: host };
      const login = { host, port, user, password, database, ssl };
      const client = new pg.Client({ ...login, pipeline: true, keepAlive: true, connectionTimeoutMillis: patienceMs });
      const connection = new Connection(client, address, took);
      try {
        await client.connect();
        if (address.hosts.length === 1 || !(await connection.#isInRecovery())) return connection;
        problems.push(cannotBeUsed(address, `${host}:${port} is a read-only standby`));
      } catch (error) {
        problems.push(connectionFailure(address, `${host}:${port}`, error));
      }
      connection.close();
    }
    throw problems.at(-1) ?? cannotBeUsed(address, "it names no host");
  }

  get isUsable(): boolean {
    return this.#dead === null;
  }

  /** Closes without waiting. */
  close(): void {
    this.#dead ??= new Error("the connection was closed");
    void this.#client.end().catch(() => undefined);
  }

  /**
   * Runs one statement by itself, as a transaction of its own.
   * @throws {AnswerLost} if it may have been run
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

  /** Runs queries that see the same moment, and may take long. */
  async snapshot(queries: readonly Statement[]): Promise<Row[][]> {
    return await this.#transaction("REPEATABLE READ READ ONLY", queries, wholeMs);
  }

  async #transaction(isolation: string, statements: readonly Statement[], mayTakeMs?: number): Promise<Row[][]> {
    for (let tries = 5; ; tries -= 1) {
      try {
        const all = [{ sql: `BEGIN ISOLATION LEVEL ${isolation}` }, ...statements, { sql: "COMMIT" }];
        const noticed = this.#notices.length;
        const results = await this.#send(all, mayTakeMs);
        if (results.at(-1)?.command !== "COMMIT") throw new AnswerLost(this.#address, "the transaction was rolled back");
        const notice = this.#notices[noticed];
        if (notice !== undefined) throw cannotBeUsed(this.#address, `a commit may not be durable (${notice})`);
        return results.slice(1, -1).map(({ rows }) => rows);
      } catch (error) {
        if (tries <= 1 || !repeatable.includes(codeOf(error))) throw error;
      }
    }
  }

  async #isInRecovery(): Promise<boolean> {
    return (await this.query({ sql: "SELECT pg_is_in_recovery() AS is" }))[0]?.["is"] === true;
  }

  /** Sends all at once; the first failure is thrown when all are answered. */
  async #send(statements: readonly Statement[], mayTakeMs = patienceMs): Promise<pg.QueryResult<Row>[]> {
    if (this.#dead !== null) throw new AnswerLost(this.#address, this.#dead.message);
    const timer = setTimeout(() => {
      this.#dead ??= new Error("no answer in time");
      // A query that is not answered must not be answered later.
      (this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    }, mayTakeMs);
    const sentAt = performance.now();
    const answers = await Promise.allSettled(
      statements.map(async ({ sql, values }) => await this.#client.query<Row>(sql, [...(values ?? [])])),
    );
    clearTimeout(timer);
    this.#took(performance.now() - sentAt);
    const failed = answers.find((answer) => answer.status === "rejected");
    if (failed !== undefined) {
      // An answer with a code comes from the server; the connection's own failures have none, or one of the system.
      const code = codeOf(failed.reason);
      if (expected.includes(code)) throw failed.reason;
      if (/^[0-9A-Z]{5}$/.test(code) && !code.startsWith("57P")) throw refusal(this.#address, failed.reason as pg.DatabaseError);
      this.#dead ??= failed.reason as Error;
      throw new AnswerLost(this.#address, (failed.reason as Error).message);
    }
    return answers.map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult<Row>>).value);
  }
}

/** The code of an error of the server (SQLSTATE, five characters) or of the system; else empty. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** The error for a statement that the server refused; nothing was changed. */
function refusal(address: Address, error: pg.DatabaseError): VaultError {
  const by: Record<string, [why: string, hint?: string]> = {
    "3F000": ["nothing is there yet", `vault state init --state '${address.shown}'`],
    "42P01": ["nothing is there yet", `vault state init --state '${address.shown}'`],
    "42501": [
      `its role ${address.user} lacks a right (${error.message})`,
      `vault state init --grant ${address.user} (as the role that made it)`,
    ],
    "25006": ["the server is a read-only standby"],
    "53100": ["the server's disk is full"],
  };
  const [why, hint] = by[codeOf(error)] ?? [`the server says ${error.message} (${codeOf(error)})`];
  return cannotBeUsed(address, why, hint);
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new VaultError("usage", `the certificates of the state's server (sslrootcert) cannot be read: ${path}: ${codeOf(error)}`);
  }
}

/** The error for a shared state that cannot be used; nothing was sent to the service. */
export const cannotBeUsed = (address: Address, why: string, hint?: string): VaultError =>
  new VaultError("state", `the state ${address.shown} cannot be used: ${why}`, hint === undefined ? {} : { hint });

function connectionFailure(address: Address, host: string, error: unknown): VaultError {
  if (error instanceof VaultError) return error;
  const { message } = error as Error;
  const code = codeOf(error);
  const by: Record<string, [why: string, hint?: string]> = {
    "28P01": ["the server refused the password", "set PGPASSWORD, or put the password into ~/.pgpass"],
    "28000": [`the server refused the login (${message})`],
    "3D000": [`there is no database ${address.database}`],
    "57P03": ["the server is starting or stopping; run it again"],
    "53300": ["the server has no connection left; run it again"],
  };
  const [why, hint] = by[code] ?? [
    /certificate|self.signed|altnames/i.test(`${code} ${message}`)
      ? `the certificate of ${host} is not to be trusted (${message})`
      : /does not support SSL/.test(message)
        ? `${host} does not offer TLS`
        : `${host} cannot be reached (${code === "" ? message : code})`,
    /does not support SSL/.test(message) ? "configure TLS on the server; only on a network of your own: sslmode=disable" : undefined,
  ];
  return cannotBeUsed(address, why, hint);
}
