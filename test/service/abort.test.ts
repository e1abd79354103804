import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  answeringTcp,
  clientOf,
  closed,
  endCall,
  httpServer,
  never,
  startCall,
  tcpServer,
} from "../support/servers.ts";

const notSent = { type: "not-sent", cause: "canceled before it was sent" };
const noAnswer = { type: "no-answer", cause: "canceled while waiting for the response" };

describe("giving up, at each moment", () => {
  test("before the call", async () => {
    const server = await httpServer();
    expect(await clientOf(server.url).call(startCall, AbortSignal.abort())).toEqual(notSent);
    expect(server.connections).toHaveLength(0);
  });

  test("while connecting", async () => {
    const abort = new AbortController();
    const server = await tcpServer((socket) => {
      socket.resume();
      abort.abort();
    }, "https");
    expect(await clientOf(server.url).call(startCall, abort.signal)).toEqual(notSent);
    await closed(server.connections[0]);
  });

  test("while connecting, beside another call: that one goes on alone", async () => {
    const server = await httpServer();
    const client = clientOf(server.url);
    const abort = new AbortController();
    const first = client.call(startCall, abort.signal);
    const second = client.call(endCall, never);
    abort.abort();
    expect(await first).toEqual(notSent);
    expect(await second).toMatchObject({ type: "answer" });
    expect(server.requests.map((r) => r.method)).toEqual(["PUT"]);
  });

  test("in any of the steps before it is written to a kept connection: not sent means that the service gets nothing", async () => {
    const server = await httpServer();
    const client = clientOf(server.url);
    await client.call(startCall, never);
    const types: string[] = [];
    for (let turns = 0; turns < 4; turns += 1) {
      for (let steps = 0; steps < 20; steps += 1) {
        const before = server.requests.length;
        const abort = new AbortController();
        const reply = client.call(endCall, abort.signal);
        for (let turn = 0; turn < turns; turn += 1) await setImmediate();
        for (let step = 0; step < steps; step += 1) await Promise.resolve();
        abort.abort();
        const { type } = await reply;
        types.push(type);
        await setImmediate();
        await setImmediate();
        await client.call(startCall, never);
        if (type === "not-sent") expect(server.requests.length - before).toBe(1);
      }
    }
    expect(types).toEqual(expect.arrayContaining(["not-sent", "no-answer"]));
    // Only a connection that an answer could still come on is dropped.
    const dropped = types.filter((type) => type === "no-answer").length;
    expect(server.connections).toHaveLength(1 + dropped);
  });

  test("after the request was read", async () => {
    const abort = new AbortController();
    const server = await answeringTcp(() => abort.abort());
    expect(await clientOf(server.url).call(startCall, abort.signal)).toEqual(noAnswer);
    await closed(server.connections[0]);
  });

  test("while the answer arrives", async () => {
    const abort = new AbortController();
    const server = await answeringTcp((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"', () => abort.abort()),
    );
    expect(await clientOf(server.url).call(startCall, abort.signal)).toMatchObject(noAnswer);
  });

  test("after the answer: no effect, and the connection stays", async () => {
    const abort = new AbortController();
    const server = await httpServer();
    const client = clientOf(server.url);
    expect(await client.call(startCall, abort.signal)).toMatchObject({ type: "answer" });
    abort.abort();
    expect(await client.call(endCall, never)).toMatchObject({ type: "answer" });
    expect(server.connections).toHaveLength(1);
  });
});
