import { once } from "node:events";
import { expect, test } from "vitest";
import { withVault } from "../../src/exchange/lock-vault.ts";
import type { ServiceBreaker } from "../../src/exchange/breaker.ts";
import type { VaultSession } from "../../src/exchange/ports.ts";
import { openService, type RateLimit, type ServiceFor } from "../../src/service/client.ts";
import { traced } from "../../src/service/trace.ts";
import { lockHere, realClock } from "../support/in-process.ts";
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

/** The service at this address, at 25 requests a second. */
const opened = async (
  baseUrl: string,
  limit: Pick<RateLimit, "reserveSlot"> & Partial<RateLimit>,
  trace?: () => void,
): Promise<ServiceFor> => {
  const target = { service: `${baseUrl}/vaultsvc/v1-2`, application, version: "test" };
  return openService({
    ...target,
    timeoutMs: 5000,
    limit: { rate: 25, clock: realClock, ...limit },
    shown: trace && traced(target, trace, realClock.now),
  });
};

test("one that has given up takes no place, and nothing is connected for it", async () => {
  const server = await httpServer();
  let reserved = 0;
  const open = await opened(server.url, {
    reserveSlot: async () => Promise.resolve((reserved += 1)),
  });
  const service = open({ learnSecret: () => undefined });
  await expect(service.admit(startCall, AbortSignal.abort(new Error("enough")))).rejects.toThrow(
    "enough",
  );
  expect([reserved, server.connections.length]).toEqual([0, 0]);
});

test("one that would be late for its place takes another one, for which it has its connection", async () => {
  const server = await httpServer();
  let now = 0;
  const seen: number[] = [];
  const reserveSlot = async (): Promise<number> => {
    seen.push(server.connections.length, server.requests.length);
    return await Promise.resolve(0);
  };
  const open = await opened(server.url, {
    clock: { ...realClock, elapsed: () => now },
    reserveSlot,
  });
  const service = open({ learnSecret: () => undefined });
  await service.admit(startCall, never);
  now += 100;
  expect(await service.call(startCall, never)).toMatchObject({ type: "answer" });
  expect(seen).toEqual([0, 0, 1, 0]);
});

test("a call has its connection before its turn, and writes nothing before it; the wait does not count as the service's", async () => {
  const server = await httpServer();
  const seen: number[] = [];
  const inTurn = async (): Promise<void> => {
    await new Promise((resolve) => void setTimeout(resolve, 1100));
    seen.push(server.connections.length, server.requests.length);
  };
  const reply = await clientOf(server.url, { timeoutMs: 1000 }).call(startCall, never, inTurn);
  expect(reply).toMatchObject({ type: "answer" });
  expect(seen).toEqual([1, 0]);
});

test("one that is given up while it waits for its turn is not sent when the turn comes", async () => {
  const server = await httpServer();
  const client = clientOf(server.url);
  const [abort, turn, waits] = [new AbortController(), signal(), signal()];
  const call = client.call(startCall, abort.signal, async () => {
    waits.resolve();
    await turn.promise;
  });
  await waits.promise;
  abort.abort();
  turn.resolve();
  expect(await call).toEqual({ type: "not-sent", cause: "canceled before it was sent" });
  expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
  expect([server.connections.length, server.requests.length]).toEqual([1, 1]);
});

test("nor one whose turn ends with that", async () => {
  const server = await httpServer();
  const abort = new AbortController();
  const inTurn = async (): Promise<void> => {
    abort.abort(new Error("enough"));
    return Promise.reject(abort.signal.reason as Error);
  };
  expect(await clientOf(server.url).call(startCall, abort.signal, inTurn)).toEqual({
    type: "not-sent",
    cause: "canceled before it was sent",
  });
  expect(server.requests.length).toBe(0);
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

test("on a kept connection too, its turn is right before it is written", async () => {
  const server = await httpServer();
  const client = clientOf(server.url);
  await client.call(startCall, never);
  const seen: number[] = [];
  const inTurn = async (): Promise<void> =>
    await Promise.resolve(void seen.push(server.connections.length, server.requests.length));
  await client.call(startCall, never, inTurn);
  expect(seen).toEqual([1, 1]);
});

test("a connection that is closed while its call waits is made again, and the turn awaited on the new one, twice at most", async () => {
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
  expect([turns, closing.connections.length]).toEqual([2, 3]);
});

test("what the server sends without being asked while a call waits is not its answer", async () => {
  const server = await answeringTcp((socket) =>
    socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`),
  );
  let turns = 0;
  const inTurn = async (): Promise<void> => {
    if ((turns += 1) > 1) return;
    const [unasked] = server.connections;
    unasked?.write('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"a":1}');
    await once(unasked as never, "close");
  };
  expect(await clientOf(server.url).call(startCall, never, inTurn)).toMatchObject({
    type: "answer",
    answer: { body: {} },
  });
  expect([turns, server.connections.length]).toEqual([2, 2]);
});

test("a vault is made sure of when the connection stands: one that was lost meanwhile sends nothing", async () => {
  const server = await httpServer();
  const seen: number[] = [];
  const ensureHeld = async (): Promise<void> => {
    seen.push(server.connections.length, server.requests.length);
    return Promise.reject(new Error("lost"));
  };
  const release = async (): Promise<void> => Promise.resolve();
  const session = { read: async () => Promise.resolve(null), ensureHeld, release };
  const open = await opened(
    server.url,
    { reserveSlot: async () => Promise.resolve(0) },
    () => undefined,
  );
  const context = await lockHere(
    {
      store: {
        lock: async () => Promise.resolve(session as unknown as VaultSession),
        find: async () => Promise.resolve([]),
        breaker: () => ({}) as ServiceBreaker,
      },
      clock: realClock,
      service: async () => Promise.resolve(open({ learnSecret: () => undefined })),
    },
    1000,
    startCall.uuid,
  );
  const call = withVault(context, async ({ service }) => await service.call(startCall, never));
  await expect(call).rejects.toThrow("lost");
  expect([seen, server.requests.length]).toEqual([[1, 0], 0]);
});
