import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { openService } from "../../src/service/open-service.ts";
import { realClock } from "../support/in-process.ts";
import {
  answeringTcp,
  clientOf,
  httpServer,
  never,
  signal,
  startCall,
  tcpServer,
} from "../support/servers.ts";
import { application } from "../support/examples.ts";

test("prepare begins to connect and waits for nothing; the call goes over that connection", async () => {
  const opened = signal();
  const server = await httpServer();
  const client = clientOf(server.url);
  client.prepare();
  await client.call(startCall, never, async () => Promise.resolve(opened.resolve()));
  await opened.promise;
  expect([server.connections.length, server.requests.length]).toEqual([1, 1]);
});

test("one that has given up takes no place, and nothing is connected for it", async () => {
  const server = await httpServer();
  let reserved = 0;
  const open = await openService({
    baseUrl: server.url,
    apiPrefix: "/vaultsvc/v1-2",
    application,
    version: "test",
    timeoutMs: 5000,
    limit: {
      rate: 25,
      clock: realClock,
      reserveSlot: async () => Promise.resolve((reserved += 1)),
    },
  });
  const service = open({ learnSecret: () => undefined });
  await expect(service.admit(startCall, AbortSignal.abort(new Error("enough")))).rejects.toThrow(
    "enough",
  );
  expect([reserved, server.connections.length]).toEqual([0, 0]);
});

test("a connection that could not be made ahead is tried again by the call", async () => {
  const client = clientOf("http://127.0.0.1:9");
  client.prepare();
  expect(await client.call(startCall, never)).toMatchObject({
    type: "not-sent",
    cause: "connection refused by 127.0.0.1:9",
  });
});

test("a call has its connection before its turn, and writes nothing before it; the wait does not count as the service's", async () => {
  const server = await httpServer();
  const seen: number[] = [];
  const inTurn = async (): Promise<void> => {
    await new Promise((resolve) => void setTimeout(resolve, 300));
    seen.push(server.connections.length, server.requests.length);
  };
  const reply = await clientOf(server.url, { timeoutMs: 200 }).call(startCall, never, inTurn);
  expect(reply).toMatchObject({ type: "answer" });
  expect(seen).toEqual([1, 0]);
});

test("one that is given up while it waits for its turn is not sent, also when the turn comes", async () => {
  const server = await httpServer();
  const client = clientOf(server.url);
  const [abort, turn, waits] = [new AbortController(), signal(), signal()];
  const call = client.call(startCall, abort.signal, async () => {
    waits.resolve();
    await turn.promise;
  });
  await waits.promise;
  abort.abort();
  expect(await call).toEqual({ type: "not-sent", cause: "canceled before it was sent" });
  turn.resolve();
  expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
  expect([server.connections.length, server.requests.length]).toEqual([1, 1]);
});

test("a turn that fails is told, and nothing is sent", async () => {
  const server = await httpServer();
  const client = clientOf(server.url);
  await expect(
    client.call(startCall, never, async () => Promise.reject(new Error("disk"))),
  ).rejects.toThrow("disk");
  expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
  expect(server.requests.length).toBe(1);
});

test("a connection that is closed while its call waits is made again, once", async () => {
  const closed: Promise<unknown>[] = [];
  const closing = await tcpServer(
    (socket) => void closed.push(once(socket.resume().end(), "close")),
  );
  let turns = 0;
  const inTurn = async (): Promise<void> => {
    await closed[turns];
    turns += 1;
  };
  expect(await clientOf(closing.url).call(startCall, never, inTurn)).toMatchObject({
    type: "not-sent",
    cause: `connection closed by ${closing.host} before the request was sent`,
  });
  expect([turns, closing.connections.length]).toEqual([2, 2]);
});

test("a connection made ahead is given up when the server sends what nobody asked for, also after a call that failed", async () => {
  const dropped = signal();
  const server = await answeringTcp((socket) => {
    if (server.connections.length === 1) socket.destroy();
    else socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`);
  });
  const client = clientOf(server.url);
  expect(await client.call(startCall, never)).toMatchObject({ type: "no-answer" });
  client.prepare();
  await vi.waitFor(() => expect(server.connections.length).toBe(2));
  const [, unasked] = server.connections;
  unasked
    ?.once("close", () => dropped.resolve())
    .write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  await dropped.promise;
  expect(await client.call(startCall, never)).toMatchObject({
    type: "answer",
    answer: { body: {} },
  });
  expect(server.connections.length).toBe(3);
});
