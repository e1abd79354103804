import type { Address } from "./address.ts";
import type { Row, Statement } from "./connection.ts";
import { AnswerLost, Connection } from "./connection.ts";

/** The database of a shared state, reached by one connection that is made anew where it has broken. Connects at the first use. */
export class Database {
  readonly address: Address;
  readonly #took: (ms: number) => void;
  #connection: Promise<Connection> | null = null;

  /** `took` is told how long each answer took, in milliseconds. */
  constructor(address: Address, took: (ms: number) => void) {
    this.address = address;
    this.#took = took;
  }

  /** The connection; one, whoever asks for it at the same time. */
  async connect(): Promise<Connection> {
    const current = (this.#connection ??= Connection.open(this.address, this.#took));
    const connection = await current.catch((error: unknown) => {
      if (this.#connection === current) this.#connection = null;
      throw error;
    });
    if (connection.isUsable) return connection;
    if (this.#connection === current) this.#connection = null;
    return await this.connect();
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
