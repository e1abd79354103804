import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { PostgresStore } from "../../src/store/postgres/store.ts";
import { SharedState as WholeState } from "../../src/store/postgres/whole-state.ts";
import type { StoreFixture } from "../contract/store-fixture.ts";
import { TestClock } from "../contract/store-fixture.ts";
import { postgres } from "./postgres.ts";
import { atEndOfFile } from "./end-of-file.ts";

/** A shared state in a schema of its own, on a real server. */
export interface SharedState extends StoreFixture {
  store: PostgresStore;
  location: string;
  /** The same state reached by another port. */
  through(port: number): PostgresStore;
  /** Runs SQL; `schema` stands for the state's. */
  sql(text: string): Promise<Record<string, unknown>[]>;
}

let made = 0;

export async function sharedState(): Promise<SharedState> {
  const server = await postgres();
  const root = mkdtempSync(join(tmpdir(), "vault-shared-"));
  const clock = new TestClock("2026-11-21T10:00:00Z");
  const schema = `state_${(made += 1)}`;
  const location = server.location(schema);
  const keySource = { type: "file", path: join(root, "state.key") } as const;
  const stores: PostgresStore[] = [];
  const through = (port: number): PostgresStore => {
    const address = parseAddress(location.replace(`:${server.port}/`, `:${port}/`), {}, "postgres", () => undefined);
    const holder = { host: "here", pid: stores.length, user: "tester" };
    const time = { latencyMs: () => 0, took: () => undefined, note: () => undefined, now: () => clock.now() };
    const store = new PostgresStore({
      address,
      keySource,
      clock,
      holder,
      warn: () => undefined,
      time,
      directory: join(root, String(stores.length)),
      platform: "linux",
    });
    stores.push(store);
    return store;
  };
  const store = through(server.port);
  await new WholeState(store).initialize();
  return {
    store,
    clock,
    location,
    through,
    another: () => through(server.port),
    sql: async (text) => await server.sql(text.replaceAll("schema.", `${schema}.`)),
    dispose: () => {
      for (const each of stores) each.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** What becomes of the next request of a client: nothing is forwarded, or all of it and no answer comes back. */
export type Cut = "before" | "after";

export interface Proxy {
  port: number;
  /** Cuts the connection at the n-th request from now on, once. */
  cutAt(n: number, cut: Cut): void;
}

/** A proxy in front of the server that cuts connections. */
export async function cuttingProxy(): Promise<Proxy> {
  const { port: target } = await postgres();
  let left = Number.POSITIVE_INFINITY;
  let cut: Cut = "before";
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = createConnection(target, "127.0.0.1");
    let isCut = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay().on("error", end).on("close", end);
    }
    client.on("data", (bytes) => {
      left -= 1;
      if (left === 0) {
        left = Number.POSITIVE_INFINITY;
        isCut = true;
        if (cut === "before") return end();
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => (isCut ? end() : client.write(bytes)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    cutAt(n, how) {
      left = n;
      cut = how;
    },
  };
}
