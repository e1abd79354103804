import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import pg from "pg";
import { systemCode } from "../../files/state-error.ts";
import { VaultError } from "../../errors.ts";
import type { Statement } from "../statement.ts";
import type { Address } from "./address.ts";
import type { WayOut } from "./reasons.ts";
import { brief, refusalReason, tooMuchSaid } from "./reasons.ts";

export type Row = Record<string, unknown>;

/** How long what reads or writes the whole state may take, in milliseconds. */
export const wholeMs = 600_000;

/** Errors of a transaction that has changed nothing and may be run again: a conflict with another one, and a deadlock. */
export const repeatable = ["40001", "40P01"];

/** Errors of those that make something at the same time as somebody else: a row, or a part of the schema. */
export const alreadyThere = ["23505", "42P06", "42P07", "42701", "42710", "XX000"];

/** The error for a label that another vault has: no other column of a step is unique over all vaults. */
export const labelTwice = "23505";

/** Errors after which there is no connection any more. Words like FATAL are in the language of the server. */
const fatal = /^(?:08...|57P..|25P0[345])$/;

/** The error of a statement that the server has refused: nothing of its transaction was done. */
export class Refused extends VaultError {
  readonly sqlState: string;

  constructor(address: Address, sqlState: string, message: string) {
    const { why, ...out } = refusalReason(address, sqlState, message);
    const retry = repeatable.includes(sqlState) ? "safe" : undefined;
    super("state", unusable(address, why), { retry, ...out });
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

/** What `pg` does not declare of a client. */
interface Wire {
  connection: EventEmitter & { stream: Duplex; attachListeners(stream: Duplex): void };
}

/** Says who it is and nothing else: a pooler refuses more, and the library would take more from the environment. */
class PlainClient extends pg.Client {
  /** Bounds what the server sends. */
  readonly inbound = new Inbound();

  constructor(config: pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as Wire;
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      const guarded = (listener: (chunk: Buffer) => void) => (chunk: Buffer) => {
        if (stream.destroyed) return;
        try {
          this.inbound.receive(chunk);
          listener(chunk);
        } catch (cause) {
          // Thrown from here it would end the process.
          stream.destroy(cause as Error);
        }
      };
      const on = (event: string, listener: (chunk: Buffer) => void): unknown =>
        stream.on(event, event === "data" ? guarded(listener) : listener);
      attach({ on } as unknown as Duplex);
    };
  }

  getStartupConf(): { user: string | undefined; database: string | undefined } {
    return { user: this.user, database: this.database };
  }
}

/** How to reach one host. Throws `usage` for certificates that cannot be read. */
export function configFor(
  { user, database, tls, patienceMs }: Address,
  { host, port }: Address["hosts"][number],
  password: string,
): pg.ClientConfig {
  const ca = tls?.rootCertificate === undefined ? undefined : readCertificates(tls.rootCertificate);
  return {
    host,
    port,
    user,
    database,
    // A function, so that the library does not look for one itself.
    password: () => password,
    ssl: tls === undefined ? false : { rejectUnauthorized: true, ca },
    sslnegotiation: "postgres",
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: patienceMs,
  };
}

function readCertificates(path: string): string {
  const refuse = (why: string): VaultError =>
    new VaultError(
      "usage",
      `the certificates of the state's server (sslrootcert) cannot be read: ${path}: ${why}`,
    );
  let text;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw refuse(String(systemCode(error)));
  }
  if (!text.includes("-----BEGIN CERTIFICATE-----")) throw refuse("it holds none");
  return text;
}

/** What a server may send in one message, rows apart, and of notices between two answers, in bytes. */
const textBytes = 1024 * 1024;

/** And in one row. */
const rowBytes = 64 * 1024 * 1024;

/** And in answer to one request, each row counted with what it takes besides: to an ordinary one, and to one about the whole state. */
const answerBytes = 512 * 1024 * 1024;
const wholeAnswerBytes = 1024 * 1024 * 1024;

/** What a row takes besides its values, in bytes. */
const rowOverhead = 128;

const headerBytes = 5;

const [row, error, notice] = [0x44, 0x45, 0x4e];

/**
 * Bounds what a server sends, before the library reads it, which takes whatever comes: it keeps a message until it is whole, and looks
 * for the end of an error's text, or of a notice's, beyond the end of the message.
 */
class Inbound {
  #left: number = textBytes;
  #notices = 0;
  /** Type and length of the message that is being received. */
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  /** Bytes of its body that are still to come. */
  #body = 0;
  /** Its last two bytes so far. */
  #tail = 0;

  /** Begins anew: so many bytes may come from now on. Before the first call little may, for a login. */
  allow(bytes: number): void {
    this.#left = bytes;
    this.#notices = 0;
  }

  /** @throws Error for what is too much, or would not end */
  receive(chunk: Uint8Array): void {
    this.#left -= chunk.length;
    if (this.#left < 0) throw tooMuch();
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerFilled < headerBytes) {
        this.#header[this.#headerFilled] = chunk[at] ?? 0;
        this.#headerFilled += 1;
        at += 1;
        if (this.#headerFilled === headerBytes) this.#begin();
      } else {
        const taken = Math.min(this.#body, chunk.length - at);
        at += taken;
        this.#body -= taken;
        this.#tail =
          (((taken === 1 ? this.#tail : (chunk[at - 2] ?? 0)) << 8) | (chunk[at - 1] ?? 0)) &
          0xffff;
      }
      if (this.#headerFilled === headerBytes && this.#body === 0) this.#end();
    }
  }

  #begin(): void {
    const type = this.#header[0];
    this.#body = this.#header.readUInt32BE(1) - 4;
    this.#tail = 0;
    if (this.#body < 0 || this.#body > (type === row ? rowBytes : textBytes)) throw tooMuch();
    if (type === row) this.#left -= rowOverhead;
    if (type === notice) this.#notices += this.#body + headerBytes;
    if (this.#notices > textBytes) throw tooMuch();
  }

  /** A list of texts ends with the end of the last one and one of its own. */
  #end(): void {
    const type = this.#header[0];
    this.#headerFilled = 0;
    if ((type === error || type === notice) && this.#tail !== 0) throw tooMuch();
  }
}

const tooMuch = (): Error => new Error(tooMuchSaid);

/**
 * One connection to PostgreSQL. Uses nothing that lives as long as a session, so that a pooler in transaction mode does as well;
 * statements go out together, in one round trip.
 */
export class Connection extends PlainClient {
  /** Why it is of no use any more. */
  dead: Error | null = null;
  readonly #address: Address;
  /** How often it was said that a commit may not be durable, and the last time. */
  #notices = 0;
  #notice = "";

  constructor(address: Address, config: pg.ClientConfig) {
    super(config);
    this.#address = address;
    this.on("error", (error: Error) => (this.dead ??= error));
    this.on("end", () => (this.dead ??= new Error("the connection was closed")));
    this.on("notice", ({ code, message }) => {
      if (code !== "01000") return;
      this.#notices += 1;
      this.#notice = message ?? "";
    });
  }

  /**
   * Sends all at once; the first failure is thrown when all are answered.
   * @throws {AnswerLost} if they may have been run
   * @throws {Refused} if they were not
   * @throws `state` if they may get lost although they were committed
   */
  async send(statements: readonly Statement[], mayTakeMs: number): Promise<pg.QueryResult<Row>[]> {
    if (this.dead !== null) throw new AnswerLost(this.#address, this.dead.message);
    const { stream } = (this as unknown as Wire).connection;
    const timer = setTimeout(() => {
      this.dead ??= new Error("no answer in time");
      // A query that is not answered must not be answered later.
      stream.destroy();
    }, mayTakeMs);
    const noticed = this.#notices;
    this.inbound.allow(mayTakeMs === wholeMs ? wholeAnswerBytes : answerBytes);
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
    if (this.#notices > noticed)
      throw cannotBeUsed(this.#address, `a commit may not be durable (${brief(this.#notice)})`);
    return answers.map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult<Row>>).value);
  }

  /** Closes without waiting. */
  close(): void {
    this.dead ??= new Error("the connection was closed");
    void this.end().catch(() => undefined);
  }

  #failure(reason: Error): VaultError {
    // The connection's own failures have no code, or one of the system, like EPIPE.
    const code = codeOf(reason);
    if (reason instanceof pg.DatabaseError && !fatal.test(code))
      return new Refused(this.#address, code, reason.message);
    this.dead ??= reason;
    return new AnswerLost(this.#address, this.dead.message);
  }
}

/** The code of an error of the server (SQLSTATE, five characters) or of the system; else empty. */
export function codeOf(error: unknown): string {
  if (error instanceof Refused) return error.sqlState;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether a row that was not to be waited for is locked. */
export const isLocked = (error: unknown): boolean => codeOf(error) === "55P03";

/** The error for a shared state that cannot be used; nothing was sent to the service. */
export const cannotBeUsed = (address: Address, why: string, out: WayOut = {}): VaultError =>
  new VaultError("state", unusable(address, why), out);

const unusable = ({ shown }: Address, why: string): string =>
  `the state ${shown} cannot be used: ${why}`;
