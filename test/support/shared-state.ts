import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseClock } from "../../src/store/postgres/database-clock.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { PostgresStore } from "../../src/store/postgres/store.ts";
import type { StoreFixture } from "../contract/store-fixture.ts";
import { TestClock } from "../contract/store-fixture.ts";
import type { Postgres } from "./postgres.ts";
import { postgres } from "./postgres.ts";
import { atEndOfFile } from "./end-of-file.ts";

/** A shared state in a schema of its own, on a real server. */
export interface SharedState extends StoreFixture {
  store: PostgresStore;
  location: string;
  /**
   * The same state reached by another port, with another patience in milliseconds; by default the database's clock is the test's, and
   * the machine one that has seen nothing.
   */
  through(port: number, patienceMs?: number, time?: DatabaseClock, machine?: string): PostgresStore;
  /** Runs SQL; `schema` stands for the state's. */
  sql(text: string): Promise<Record<string, unknown>[]>;
}

let made = 0;

export async function sharedState(given?: Postgres): Promise<SharedState> {
  const server = given ?? (await postgres());
  const root = mkdtempSync(join(tmpdir(), "vault-shared-"));
  const clock = new TestClock("2026-11-21T10:00:00Z");
  const schema = `state_${(made += 1)}`;
  const location = server.location(schema);
  const keySource = { type: "file", path: join(root, "state.key") } as const;
  const stores: PostgresStore[] = [];
  const through: SharedState["through"] = (
    port,
    patienceMs,
    own,
    machine = String(stores.length),
  ) => {
    const parsed = parseAddress(
      location.replace(`:${server.port}/`, `:${port}/`),
      {},
      "postgres",
      () => undefined,
    );
    const address = { ...parsed, patienceMs: patienceMs ?? parsed.patienceMs };
    const holder = { host: "here", pid: stores.length, user: "tester" };
    const time = {
      isKnown: true,
      latencyMs: () => 0,
      took: () => undefined,
      tookLogin: () => undefined,
      note: () => undefined,
      now: () => clock.now(),
    };
    const store = new PostgresStore({
      address,
      keySource,
      clock,
      holder,
      warn: () => undefined,
      time: own ?? time,
      directory: join(root, machine),
      platform: "linux",
    });
    stores.push(store);
    return store;
  };
  const store = through(server.port);
  await store.create();
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

/**
 * What becomes of a request of a client: nothing of it is forwarded, or all of it and no answer comes back, since the connection is
 * closed, closed on one side, or left open for ever. `gone` also ends every later connection.
 */
export type Cut = "before" | "after" | "half-closed" | "stalled" | "gone";

export interface Proxy {
  port: number;
  /** Cuts the connection at the n-th request from now on, once; 0 is never. */
  cutAt(n: number, cut: Cut): void;
  /** Does it when the n-th request from now on has been forwarded, once. */
  doAt(n: number, action: () => void): void;
  /** Ends all connections. */
  end(): void;
  /** How many requests came since then. */
  requests(): number;
}

/** A proxy in front of a server that cuts connections. */
export async function cuttingProxy(behind?: Pick<Postgres, "port">): Promise<Proxy> {
  const { port: target } = behind ?? (await postgres());
  let seen = 0;
  let cutAt = 0;
  let cut: Cut = "before";
  let actAt = 0;
  let act = (): void => undefined;
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
      if (isCut) return;
      seen += 1;
      isCut = cut === "gone" && cutAt > 0 ? seen >= cutAt : seen === cutAt;
      if (isCut && (cut === "before" || cut === "gone")) return end();
      upstream.write(bytes);
      if (seen === actAt) act();
    });
    upstream.on("data", (bytes) => {
      if (!isCut) client.write(bytes);
      else if (cut === "half-closed") client.end();
      else if (cut === "after") end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    doAt(n, action) {
      seen = cutAt = 0;
      actAt = n;
      act = action;
    },
    end: () => {
      for (const socket of sockets) socket.destroy();
    },
    cutAt(n, how) {
      seen = actAt = 0;
      cutAt = n;
      cut = how;
    },
    requests: () => seen,
  };
}
