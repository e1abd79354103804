import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Reply } from "../../src/exchange/ports.ts";
import { replyOf } from "../../src/service/http.ts";
import {
  answeringTcp,
  clientOf,
  endCall,
  httpServer,
  json,
  never,
  startCall,
  success,
} from "../support/servers.ts";

const error = { responseStatus: { status: "ERROR", code: "E-17" } };

describe("a whole JSON object is an answer, whatever its status", () => {
  test.each([200, 201, 302, 400, 401, 403, 404, 409, 410, 422, 423])("HTTP %i", async (status) => {
    const server = await httpServer(json(status, error, { location: "http://127.0.0.1:9/" }));
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: status, body: error },
    });
  });

  test("unknown fields and characters outside ASCII pass through, a byte order mark does not", async () => {
    const body = { ...success, vault: { content: "naïve 🔑", more: [1, null, { "": true }] } };
    const server = await httpServer((_, response) =>
      response.end(`\u{FEFF}${JSON.stringify(body)}`),
    );
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: 200, body },
    });
  });

  test("an announcement (1xx) is not taken for the answer", async () => {
    const server = await httpServer((_, response) => {
      response.writeEarlyHints({ link: "</a>; rel=preload" });
      response.end(JSON.stringify(success));
    });
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: 200, body: success },
    });
  });

  test("an answer that ends with its connection", async () => {
    const server = await answeringTcp((socket) =>
      socket.end(`HTTP/1.0 200 OK\r\n\r\n${JSON.stringify(success)}`),
    );
    expect(await clientOf(server.url).call(startCall, never)).toMatchObject({
      type: "answer",
      answer: { body: success },
    });
  });
});

describe("5xx tells nothing about what was done", () => {
  test("with a JSON object, which goes along", async () => {
    const errorUuid = "b6f9a1d2-0a4f-4b7f-8d55-2a4a9f6f7e02";
    const body = { ...error, errorUuid };
    const server = await httpServer(json(503, body, { "retry-after": "7" }));
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      isWhole: true,
      cause: `HTTP 503 from ${server.host}, error ${errorUuid}`,
      httpStatus: 503,
      answer: { httpStatus: 503, body, retryAfter: 7 },
    });
  });

  test("without one", async () => {
    const server = await httpServer((_, response) =>
      response.writeHead(502, { "content-type": "text/html" }).end("<html>Bad Gateway</html>"),
    );
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "no-answer",
      isWhole: true,
      cause: `HTTP 502 from ${server.host}, an HTML page`,
      httpStatus: 502,
    });
  });
});

describe("what is not a JSON object is no answer", () => {
  test.each<[string, string | Buffer, string]>([
    ["text", "OK", "not JSON"],
    ["empty", "", "empty"],
    ["an array", "[{}]", "not JSON"],
    ["a string", '"SUCCESS"', "not JSON"],
    ["null", "null", "not JSON"],
    ["half an object", '{"responseStatus":{"status":"SUCCESS"}', "not JSON"],
    ["an object and more", "{}{}", "not JSON"],
    [
      "bytes that are not UTF-8",
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      "not JSON",
    ],
    ["compressed", gzipSync("{}"), "not JSON"],
  ])("%s", async (_, body, what) => {
    const server = await httpServer((_, response) => response.end(body));
    expect(await clientOf(server.url).call(endCall, never)).toEqual({
      type: "no-answer",
      isWhole: true,
      cause: `HTTP 200 from ${server.host}, ${what}`,
      httpStatus: 200,
    });
  });

  test("compression is not asked for", async () => {
    const server = await httpServer();
    await clientOf(server.url).call(endCall, never);
    expect(server.requests[0]?.headers).not.toHaveProperty("accept-encoding");
  });
});

test.each([301, 302, 303, 307, 308])("a redirect (%i) is not followed", async (status) => {
  const target = await httpServer();
  const server = await httpServer((_, response) =>
    response.writeHead(status, { location: target.url }).end("<html>moved</html>"),
  );
  expect(await clientOf(server.url).call(startCall, never)).toEqual({
    type: "no-answer",
    isWhole: true,
    cause: `HTTP ${status} from ${server.host}, a redirect, which is not followed`,
    httpStatus: status,
  });
  expect(target.connections).toHaveLength(0);
  expect(server.requests).toHaveLength(1);
});

describe("Retry-After", () => {
  test("of a 429 on the wire", async () => {
    const server = await httpServer(json(429, { ...error, retryAfter: 9 }, { "retry-after": "3" }));
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: 429, body: { ...error, retryAfter: 9 }, retryAfter: 3 },
    });
  });

  test("by a date without the sender's clock: from when it was received", () => {
    const headers = { "retry-after": new Date(Date.now() + 60_000).toUTCString() };
    const reply = replyOf({ httpStatus: 429, headers, body: Buffer.from("") }, "h:1");
    const { retryAfter = 0 } = reply.type === "answer" ? reply.answer : {};
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
  });

  test.each(["<html>429 Too Many Requests</html>", ""])(
    "of a gateway's 429, which needs no body: %j",
    (page) => {
      const reply = replyOf(
        { httpStatus: 429, headers: { "retry-after": "3" }, body: Buffer.from(page) },
        "h:1",
      );
      expect(reply).toEqual({
        type: "answer",
        answer: { httpStatus: 429, body: {}, retryAfter: 3 },
      });
    },
  );

  test.each<
    [string, Record<string, string | string[]>, Record<string, unknown>, number | undefined]
  >([
    ["neither", {}, {}, undefined],
    ["header: seconds", { "retry-after": "120" }, {}, 120],
    ["header: zero", { "retry-after": "0" }, { retryAfter: 5 }, 0],
    ["header twice: the first", { "retry-after": ["1", "2"] }, {}, 1],
    [
      "header: date by the service's clock",
      { "retry-after": "Fri, 20 Nov 2026 10:00:05 GMT", date: "Fri, 20 Nov 2026 10:00:00 GMT" },
      {},
      5,
    ],
    [
      "header: date gone by",
      { "retry-after": "Fri, 20 Nov 2026 09:00:05 GMT", date: "Fri, 20 Nov 2026 10:00:00 GMT" },
      {},
      0,
    ],
    ["header: nonsense, body", { "retry-after": "tomorrow 5" }, { retryAfter: 4 }, 4],
    ["header: negative", { "retry-after": "-1" }, {}, undefined],
    ["header: fraction", { "retry-after": "1.5" }, {}, undefined],
    ["header: beyond all numbers", { "retry-after": "9".repeat(30) }, {}, undefined],
    ["body", {}, { retryAfter: 2 }, 2],
    ["body: text", {}, { retryAfter: "2" }, 2],
    ["body: fraction", {}, { retryAfter: 1.5 }, undefined],
    ["body: negative", {}, { retryAfter: -2 }, undefined],
  ])("%s", (_, headers, body, retryAfter) => {
    const reply: Reply = replyOf(
      { httpStatus: 429, headers, body: Buffer.from(JSON.stringify(body)) },
      "h:1",
    );
    expect(reply).toEqual({
      type: "answer",
      answer: { httpStatus: 429, body, ...(retryAfter === undefined ? {} : { retryAfter }) },
    });
  });
});
