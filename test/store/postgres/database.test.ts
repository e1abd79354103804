import type { EventEmitter } from "node:events";
import pg from "pg";
import { expect, it, vi } from "vitest";
import type { VaultSession } from "../../../src/exchange/ports.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { held, imported, intent, known, pair, uuid } from "../../contract/store-fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { tcpProxy } from "../../support/proxies.ts";
import { sharedState } from "../../support/shared-state.ts";

/** The pipe of the next query breaks when it is sent. */
function breakPipe(): void {
  const { query } = pg.Client.prototype;
  const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  vi.spyOn(pg.Client.prototype, "query").mockImplementationOnce(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const answer = query.apply(this, given as never) as unknown;
    (
      this as unknown as { connection: { stream: { destroy(error: Error): void } } }
    ).connection.stream.destroy(broken);
    return answer as never;
  });
}

it("a pipe that breaks is a lost answer, and no answer of the server: its code has five letters too", async () => {
  const state = await sharedState();
  const session = await imported(state);
  breakPipe();
  await session.recordIntent(intent("x1", 1));
  expect(await known(session)).toMatchObject({
    unackedStarts: 1,
    last: { id: "x1", state: "intent" },
  });
  await session.release();
});

it("a message that is not of the protocol is a lost answer: what follows cannot be told apart", async () => {
  const state = await sharedState();
  const session = await imported(state);
  const { query } = pg.Client.prototype;
  vi.spyOn(pg.Client.prototype, "query").mockImplementationOnce(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const answer = query.apply(this, given as never) as unknown;
    const { stream } = (this as unknown as { connection: { stream: EventEmitter } }).connection;
    setImmediate(() => stream.emit("data", Buffer.from([0x21, 0, 0, 0, 4])));
    return answer as never;
  });
  await session.recordIntent(intent("x1", 1));
  expect(await known(session)).toMatchObject({
    unackedStarts: 1,
    last: { id: "x1", state: "intent" },
  });
  await session.release();
});

it("queries that are under way when the connection breaks are all asked again", async () => {
  const state = await sharedState();
  const { database } = state.store.parts;
  breakPipe();
  const asked = [1, 2, 3].map(async (n) => await database.query({ sql: `SELECT ${n} AS n` }));
  expect(await Promise.all(asked)).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
});

it("many transactions at a time share one connection, which is made anew where it has broken", async () => {
  const state = await sharedState();
  const sessions = [await imported(state)];
  const connect = vi.spyOn(pg.Client.prototype, "connect");
  // Leases of other files, whose servers are gone, may be renewed meanwhile.
  const port = Number(new URL(state.location).port);
  const connects = (): number =>
    connect.mock.contexts.filter((client) => (client as pg.Client).port === port).length;
  await sessions[0]?.recordIntent(intent("x1", 1));
  await Promise.all([
    known(sessions[0] as VaultSession),
    state.store.list(),
    state.store.find(uuid),
  ]);
  expect(connects()).toBe(0);
  const ids = Array.from({ length: 48 }, (_, n) => `${uuid.slice(0, -3)}${n + 100}`);
  for (let n = 0; n < 4; n += 1) {
    const more = await Promise.all(ids.splice(0, 12).map(async (id) => await held(state, id)));
    await Promise.all(
      more.map(
        async (session) =>
          await session.recordPair({ credentials: pair("first"), kind: "generic/offline" }),
      ),
    );
    sessions.push(...more);
  }
  expect(connects()).toBe(0);
  await state.sql(`SELECT pg_terminate_backend(min(pid)) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`);
  const before = connects();
  await Promise.all(
    sessions.slice(1).map(async (session) => await session.recordIntent(intent("x1", 1))),
  );
  expect((await state.store.list()).map(({ last }) => last?.id)).toEqual(sessions.map(() => "x1"));
  expect(connects()).toBe(before + 1);
  await Promise.all(sessions.map(async (session) => await session.release()));
});

it("a transaction of an operation on the whole state ends at an interruption, also where the server does not answer", async () => {
  const { clock } = await sharedState();
  const server = await postgres();
  const proxy = await tcpProxy(server);
  const location = server.location("any").replace(`:${server.port}/`, `:${proxy.port}/`);
  const stop = new AbortController();
  const waiting = { deadline: Number.POSITIVE_INFINITY, signal: stop.signal };
  const database = new Database(parseAddress(location, {}), clock, waiting);
  const ended = database.converse("READ COMMITTED", async (query) => {
    proxy.cutAt(1, "stalled");
    const answer = query({ sql: "SELECT 1" });
    stop.abort(new Error("interrupted"));
    await answer;
  });
  await expect(ended).rejects.toThrow(/^interrupted$/);
});
