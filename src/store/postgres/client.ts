import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import pg from "pg";
import { VaultError } from "../../errors.ts";
import { systemCode } from "../../files/state-error.ts";
import type { Address } from "./address.ts";
import { Inbound } from "./inbound.ts";

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

/** A client for one host; it has not connected yet. Throws `usage` for certificates that cannot be read. */
export function clientFor(
  { user, database, tls, patienceMs }: Address,
  host: string,
  port: number,
  password: string,
): PlainClient {
  const ca = tls?.rootCertificate === undefined ? undefined : readCertificates(tls.rootCertificate);
  return new PlainClient({
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
  });
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
