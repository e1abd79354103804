import { describe, expect, test } from "vitest";
import type { Send } from "../../src/exchange/ports.ts";
import { maskSecrets } from "../../src/service/http.ts";
import { traced } from "../../src/service/trace.ts";
import { clientOf, endCall, httpServer, json, never, startCall } from "../support/servers.ts";
import { application, device, uuid } from "../support/examples.ts";

const vault = {
  uuid,
  credentials: { encryptedData: "NEW-ENC", payload: "NEW-PAY" },
  creditCard: {
    number: "4111111111111111",
    name: "Ada Lovelace",
    expiryMonth: 4,
    expiryYear: 2029,
  },
};
const body = {
  responseStatus: { status: "SUCCESS" },
  transactionToken: { token: "T0K", expiry: "2026-11-20T14:02:11Z", timeToExpire: 60 },
  vault,
};
const secrets = [
  "ENC+1/==",
  "PAY-1",
  "cGlu",
  "T0k/en+==",
  "NEW-ENC",
  "NEW-PAY",
  "T0K",
  "4111111111111111",
  "Ada Lovelace",
  "aaa.bbb.ccc",
].concat(application.apiKey);

async function trace(url: string, run: (call: Send) => Promise<unknown>) {
  const target = {
    service: `${url}/vaultsvc/v1-2`,
    application,
    version: "1.2.3",
    token: { current: () => "aaa.bbb.ccc" },
  };
  const events: Record<string, unknown>[] = [];
  let time = 0;
  const tracing = traced(
    target,
    (event) => events.push(event),
    () => (time += 5),
  );
  await run(tracing(clientOf(url, { token: { current: () => "aaa.bbb.ccc" } }).call));
  return events;
}

describe("traced", () => {
  test("a start and its answer, secrets replaced", async () => {
    const server = await httpServer(json(200, body));
    const credentials = { ...startCall.credentials, hashedPin: "cGlu" };
    const events = await trace(server.url, (call) =>
      call({ ...startCall, kind: "credit-card/online", credentials, device }, never),
    );
    const facts = {
      call: 1,
      method: "POST",
      path: `/vaultsvc/v1-2/vault/credit-card/online/${uuid}/get-start`,
    };
    expect(events).toEqual([
      {
        type: "request",
        ...facts,
        headers: {
          accept: "application/json",
          "content-type": "application/json",
          "user-agent": "vault/1.2.3",
        },
        body: {
          application: { apiKey: "«redacted»", uuid: application.uuid },
          device,
          externalRef: "order-2291",
          vault: {
            credentials: {
              encryptedData: "«redacted»",
              payload: "«redacted»",
              hashedPin: "«redacted»",
            },
          },
        },
      },
      {
        type: "response",
        ...facts,
        durationMs: 5,
        outcome: "answer",
        httpStatus: 200,
        body: {
          ...body,
          transactionToken: { ...body.transactionToken, token: "«redacted»" },
          vault: {
            uuid,
            credentials: {
              encryptedData: "«redacted»",
              payload: "«redacted»",
            },
            creditCard: {
              number: "«redacted»",
              name: "«redacted»",
              expiryMonth: 4,
              expiryYear: 2029,
            },
          },
        },
      },
    ]);
    for (const secret of secrets) expect(JSON.stringify(events)).not.toContain(secret);
    // The trace shows what was sent.
    const { headers } = events[0] as { headers: object };
    expect(server.requests[0]).toMatchObject({ url: facts.path, headers });
  });

  test("an end call, its headers too; calls are counted; the reply is the service's own", async () => {
    const server = await httpServer(
      json(429, { responseStatus: { status: "ERROR" } }, { "retry-after": "2" }),
    );
    const events = await trace(server.url, async (call) => {
      await call(endCall, never);
      expect(await call(endCall, never)).toEqual({
        type: "answer",
        answer: { httpStatus: 429, body: { responseStatus: { status: "ERROR" } }, retryAfter: 2 },
      });
    });
    expect(events.map(({ type, call }) => [type, call])).toEqual([
      ["request", 1],
      ["response", 1],
      ["request", 2],
      ["response", 2],
    ]);
    expect(events[0]).toMatchObject({
      headers: {
        "x-application-uuid": application.uuid,
        "x-api-key": "«redacted»",
        authorization: "«redacted»",
      },
      body: { token: "«redacted»" },
    });
    expect(events[1]).toMatchObject({ outcome: "answer", httpStatus: 429, retryAfter: 2 });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer aaa.bbb.ccc");
    for (const secret of secrets) expect(JSON.stringify(events)).not.toContain(secret);
  });

  test("no answer: the cause, the status, and the body of a 5xx", async () => {
    const server = await httpServer(json(500, { vault }));
    const events = await trace(server.url, (call) => call(endCall, never));
    expect(events[1]).toMatchObject({
      outcome: "no-answer",
      cause: `HTTP 500 from ${server.host}`,
      httpStatus: 500,
    });
    for (const secret of secrets) expect(JSON.stringify(events)).not.toContain(secret);
  });

  test("not sent: the cause alone", async () => {
    const server = await httpServer();
    const events = await trace(server.url, (call) => call(endCall, AbortSignal.abort()));
    expect(events[1]).toEqual({
      type: "response",
      call: 1,
      method: "PUT",
      path: `/vaultsvc/v1-2/vault/credit-card/offline/${uuid}/get-end`,
      durationMs: 5,
      outcome: "not-sent",
      cause: "canceled before it was sent",
    });
  });
});

describe("maskSecrets", () => {
  test.each<[unknown, unknown]>([
    [{ APIKEY: "abc" }, { APIKEY: "«redacted»" }],
    [{ token: "x" }, { token: "«redacted»" }],
    [{ content: 12345 }, { content: "«redacted»" }],
    [{ content: { deep: "secret" } }, { content: "«redacted»" }],
    [{ content: ["secret"] }, { content: "«redacted»" }],
    [{ content: null }, { content: null }],
    [[{ payload: "p" }], [{ payload: "«redacted»" }]],
    [
      { name: "a name", number: 7 },
      { name: "a name", number: 7 },
    ],
    [{ creditCard: { issuer: { name: "B" } } }, { creditCard: { issuer: { name: "«redacted»" } } }],
    [
      { responseStatus: { detailedErrors: [{ property: "payload" }] } },
      { responseStatus: { detailedErrors: [{ property: "payload" }] } },
    ],
    ["text", "text"],
  ])("%j", (value, expected) => expect(maskSecrets(value)).toEqual(expected));

  test("leaves the value itself alone", () => {
    const value = { payload: "p" };
    maskSecrets(value);
    expect(value).toEqual({ payload: "p" });
  });
});
