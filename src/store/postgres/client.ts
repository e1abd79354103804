import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import pg from "pg";
import type { Address } from "./address.ts";
import { VaultError } from "../../errors.ts";
import { systemCode } from "../../files/state-error.ts";

/** What `pg` does not declare of a client. */
export interface Wire {
  connection: EventEmitter & { stream: Duplex; attachListeners(stream: Duplex): void };
}

/** Says who it is and nothing else: a pooler refuses more, and the library would take more from the environment. */
export class PlainClient extends pg.Client {
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
export const answerBytes = 512 * 1024 * 1024;
export const wholeAnswerBytes = 1024 * 1024 * 1024;

/** What a row takes besides its values, in bytes. */
const rowOverhead = 128;

/** What is said of a server that sends more. */
export const tooMuchSaid = "the server sends too much, or is not PostgreSQL";

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
