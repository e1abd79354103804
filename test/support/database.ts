import { createConnection, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { once } from "node:events";
import { expect } from "vitest";
import type { Dice } from "./dice.ts";
import { atEndOfFile } from "./end-of-file.ts";
import { startServer } from "./postgres.ts";

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
  const server = await startServer({ max_connections: "300" });
  const proxy = await startProxy(server.port);
  return {
    location: (schema) => server.location(schema).replace(`:${server.port}/`, `:${proxy.port}/`),
    sql: server.sql,
    crash: async (signal) => {
      await server.crash(signal);
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
      from.on("data", (bytes) =>
        isAnswer && connection.cutsAnswer ? connection.end() : to.write(bytes),
      );
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
      const connection = dice.pick([...open]) as
        { end: () => void; cutsAnswer: boolean } | undefined;
      if (dice.chance(0.5)) connection?.end();
      else if (connection !== undefined) connection.cutsAnswer = true;
    },
  };
}
