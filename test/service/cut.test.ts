import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  answeringTcp,
  clientOf,
  closed,
  endCall,
  httpServer,
  never,
  signal,
  startCall,
  success,
  tcpServer,
} from "../support/servers.ts";

const whole = JSON.stringify(success);
const head = (...lines: string[]): string => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe("an answer that is cut short is none, even where its JSON is whole", () => {
  test.each([
    ["content-length, half the body", head("content-length: 100") + whole],
    ["content-length, one byte missing", head(`content-length: ${whole.length + 1}`) + whole],
    ["chunked, inside a chunk", `${head("transfer-encoding: chunked")}40\r\n${whole}`],
    ["chunked, without the last chunk", head("transfer-encoding: chunked") + chunk(whole)],
    ["chunked, without the last line", `${head("transfer-encoding: chunked") + chunk(whole)}0\r\n`],
    [
      "connection: close, one byte missing",
      head("connection: close", `content-length: ${whole.length + 1}`) + whole,
    ],
  ])("%s", async (_, bytes) => {
    const server = await answeringTcp((socket) => socket.end(bytes));
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `the response of ${server.host} was cut short`,
      httpStatus: 200,
    });
    expect(server.connections).toHaveLength(1);
  });

  test("in its head", async () => {
    const server = await answeringTcp((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-le"));
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `connection closed by ${server.host} before it responded`,
    });
  });

  test("after an announcement (1xx) only: nothing of the answer has come", async () => {
    const server = await answeringTcp((socket) =>
      socket.end("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
    );
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `connection closed by ${server.host} before it responded`,
    });
  });

  test("by a reset", async () => {
    const server = await answeringTcp((socket) =>
      socket.write(head("content-length: 1000") + whole, () => socket.resetAndDestroy()),
    );
    expect(await clientOf(server.url).call(startCall, never)).toMatchObject({ type: "no-answer" });
    expect(server.connections).toHaveLength(1);
  });

  test("where the connection ends it", async () => {
    const server = await answeringTcp((socket) =>
      socket.end(`HTTP/1.0 200 OK\r\n\r\n${whole.slice(0, -1)}`),
    );
    expect(await clientOf(server.url).call(startCall, never)).toMatchObject({
      type: "no-answer",
      httpStatus: 200,
    });
  });
});

describe("no answer after the request was written", () => {
  test.each([
    ["closed", (socket: Socket) => socket.end()],
    ["reset", (socket: Socket) => socket.resetAndDestroy()],
  ])("%s after it was read", async (_, end) => {
    const server = await answeringTcp(end);
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `connection closed by ${server.host} before it responded`,
    });
    expect(server.connections).toHaveLength(1);
  });

  test("reset before it was read: it may have been", async () => {
    const accepted = signal<Socket>();
    const written = signal<unknown>();
    // Published in the same synchronous step that writes.
    subscribe("undici:client:sendHeaders", written.resolve);
    onTestFinished(() => void unsubscribe("undici:client:sendHeaders", written.resolve));
    const server = await tcpServer((socket) => accepted.resolve(socket), "http", true);
    const reply = clientOf(server.url).call(startCall, never);
    await written.promise;
    (await accepted.promise).resetAndDestroy();
    expect(await reply).toMatchObject({ type: "no-answer" });
    expect(server.connections).toHaveLength(1);
  });

  test("a kept connection that closes under the second request: not sent again on another", async () => {
    let requests = 0;
    const server = await answeringTcp((socket) => {
      requests += 1;
      if (requests === 1) socket.write(head(`content-length: ${whole.length}`) + whole);
      else socket.resetAndDestroy();
    });
    const client = clientOf(server.url);
    expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
    expect(await client.call(endCall, never)).toEqual({
      type: "no-answer",
      cause: `connection closed by ${server.host} before it responded`,
    });
    expect({ requests, connections: server.connections.length }).toEqual({
      requests: 2,
      connections: 1,
    });
    // The client can still make another call.
    const third = client.call(endCall, never);
    expect(await third).toMatchObject({ type: "no-answer" });
    expect(requests).toBe(3);
  });

  test.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["bytes", "\u0000\u0001\u0002\u0003\u0004\u0005"],
    ["a request", "GET / HTTP/1.1\r\n\r\n"],
  ])("garbage: %s", async (_, bytes) => {
    const server = await answeringTcp((socket) => socket.end(bytes));
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `the response of ${server.host} is not HTTP`,
    });
  });

  test("two lengths that disagree", async () => {
    const server = await answeringTcp((socket) =>
      socket.end(head("content-length: 2", "content-length: 3") + whole),
    );
    expect(await clientOf(server.url).call(startCall, never)).toMatchObject({ type: "no-answer" });
  });
});

describe("size", () => {
  // Only against a hang: a slow machine takes more than ten seconds for 64 MiB.
  const unhurried = { timeoutMs: 120_000 };
  const limit = 64 * 1024 * 1024;
  const sized = (size: number): string => `{"a":"${"x".repeat(size - 8)}"}`;

  test("64 MiB are read", async () => {
    const server = await httpServer((_, response) => response.end(sized(limit)));
    expect(await clientOf(server.url, unhurried).call(startCall, never)).toMatchObject({
      type: "answer",
    });
  });

  test.each([
    ["announced", sized(limit + 2 ** 20), limit + 2 ** 20],
    ["chunked", sized(limit + 1), undefined],
  ])("more is not: %s", async (_, body, length) => {
    const server = await httpServer((_, response) => {
      response
        .writeHead(200, length === undefined ? {} : { "content-length": String(length) })
        .end(body);
    });
    expect(await clientOf(server.url, unhurried).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `the response of ${server.host} is larger than 64 MiB`,
      httpStatus: 200,
    });
  });

  test("endless headers", async () => {
    const server = await answeringTcp((socket) => socket.write(head(`x: ${"x".repeat(100_000)}`)));
    expect(await clientOf(server.url).call(startCall, never)).toMatchObject({
      type: "no-answer",
      cause: `no response from ${server.host}: UND_ERR_HEADERS_OVERFLOW`,
    });
  });
});

describe("the time of the whole call is limited", () => {
  test("nothing comes", async () => {
    const server = await answeringTcp(() => undefined);
    expect(await clientOf(server.url, { timeoutMs: 1000 }).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `timed out after 1s waiting for ${server.host}`,
    });
    // The connection is dropped, so that a late answer cannot reach the next call.
    await closed(server.connections[0]);
  });

  test("it comes byte by byte, never silent for long", async () => {
    const server = await answeringTcp((socket) => {
      socket.write(head("content-length: 100000"));
      const timer = setInterval(() => socket.write(" "), 5);
      socket.on("close", () => clearInterval(timer));
    });
    expect(await clientOf(server.url, { timeoutMs: 1000 }).call(startCall, never)).toEqual({
      type: "no-answer",
      cause: `timed out after 1s waiting for ${server.host}`,
      httpStatus: 200,
    });
  });

  test("the next call goes on a new connection", async () => {
    let requests = 0;
    const server = await answeringTcp((socket) => {
      requests += 1;
      if (requests > 1) socket.end(head(`content-length: ${whole.length}`) + whole);
    });
    const client = clientOf(server.url, { timeoutMs: 2000 });
    expect(await client.call(startCall, never)).toMatchObject({ type: "no-answer" });
    expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
    expect(server.connections).toHaveLength(2);
  });

  test("a limit longer than a timer can be is no limit of a millisecond", async () => {
    const server = await httpServer();
    expect(await clientOf(server.url, { timeoutMs: 2 ** 40 }).call(startCall, never)).toMatchObject(
      { type: "answer" },
    );
  });
});
