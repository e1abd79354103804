import { describe, expect, test } from "vitest";
import type { EndCall, SingleCall, StartCall } from "../../src/exchange/ports.ts";
import type { Kind, Operation } from "../../src/protocol/endpoints.ts";
import { endpoints, singleEndpoint } from "../../src/protocol/endpoints.ts";
import { requestSchema } from "../../src/protocol/requests.ts";
import { validate } from "../../src/protocol/validate.ts";
import { clientOf, endCall, httpServer, never, startCall } from "../support/servers.ts";
import { application, device, uuid } from "../support/examples.ts";

const creditCard = {
  number: "4111111111111111",
  name: "Ada Lovelace",
  expiryMonth: 4,
  expiryYear: 2029,
};
const pair = { encryptedData: "ENC+1/==", payload: "PAY-1" };

/** Every option at once: what an endpoint does not take must not be sent to it. */
const everything = {
  credentials: { ...pair, hashedPin: "cGlu" },
  device,
  newVault: { creditCard },
};

const starts: [Kind, Operation, string, Record<string, unknown>][] = [
  [
    "credit-card/online",
    "get",
    `/vault/credit-card/online/${uuid}/get-start`,
    {
      application,
      device,
      externalRef: "order-2291",
      vault: { credentials: { ...pair, hashedPin: "cGlu" } },
    },
  ],
  [
    "credit-card/offline",
    "get",
    `/vault/credit-card/offline/${uuid}/get-start`,
    { application, externalRef: "order-2291", vault: { credentials: pair } },
  ],
  [
    "generic/offline",
    "get",
    `/vault/generic/offline/${uuid}/get-start`,
    { application, externalRef: "order-2291", vault: { credentials: pair } },
  ],
  [
    "credit-card/offline",
    "update",
    `/vault/credit-card/offline/${uuid}/update-start`,
    {
      application,
      externalRef: "order-2291",
      newVault: { creditCard },
      vault: { credentials: pair },
    },
  ],
];

/** See docs/interface.md, Extended operations. */
const extendedStarts: typeof starts = [
  [
    "generic/online",
    "get",
    `/vault/generic/online/${uuid}/get-start`,
    {
      application,
      device,
      externalRef: "order-2291",
      vault: { credentials: { ...pair, hashedPin: "cGlu" } },
    },
  ],
  [
    "generic/offline",
    "update",
    `/vault/generic/offline/${uuid}/update-start`,
    {
      application,
      externalRef: "order-2291",
      newVault: { content: "new text" },
      vault: { credentials: pair },
    },
  ],
];

const headersOf = (host: string, body: string) => ({
  host,
  connection: "keep-alive",
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": "vault/1.2.3",
  "content-length": String(Buffer.byteLength(body)),
});

describe("start calls carry the application in the body", () => {
  test.each([...starts, ...extendedStarts])("%s %s", async (kind, operation, path, body) => {
    const server = await httpServer();
    const newVault = kind === "generic/offline" ? { content: "new text" } : everything.newVault;
    await clientOf(server.url).call(
      { ...startCall, kind, operation, ...everything, newVault },
      never,
    );
    const [received] = server.requests;
    expect(server.requests).toHaveLength(1);
    expect({ ...received, body: JSON.parse(received?.body ?? "") as unknown }).toEqual({
      method: "POST",
      url: `/vaultsvc/v1-2${path}`,
      headers: headersOf(server.host, received?.body ?? ""),
      body,
    });
    const endpoint = endpoints.find(
      (e) => e.kind === kind && e.operation === operation && e.step === "start",
    );
    expect(endpoint && validate(requestSchema(endpoint) as never, body)).toEqual({
      ok: true,
      violations: [],
      value: body,
    });
  });

  test("hashedPin and device are left out when they are not given", async () => {
    const server = await httpServer();
    await clientOf(server.url).call({ ...startCall, kind: "credit-card/online" }, never);
    expect(JSON.parse(server.requests[0]?.body ?? "")).toEqual({
      application,
      externalRef: "order-2291",
      vault: { credentials: pair },
    });
  });
});

describe("end calls carry the application in headers, and the token unchanged", () => {
  test.each([...starts, ...extendedStarts])("%s %s", async (kind, operation, path) => {
    const server = await httpServer();
    await clientOf(server.url).call({ ...endCall, kind, operation }, never);
    const [received] = server.requests;
    const body = JSON.stringify({ token: "T0k/en+==" });
    expect(received).toEqual({
      method: "PUT",
      url: `/vaultsvc/v1-2${path.replace("-start", "-end")}`,
      headers: {
        ...headersOf(server.host, body),
        "x-application-uuid": application.uuid,
        "x-api-key": application.apiKey,
      },
      body,
    });
  });
});

test.each<[Kind, string | undefined]>([
  ["credit-card/offline", "Bearer aaa.bbb.ccc"],
  ["credit-card/online", undefined],
])("a JWT goes with calls about offline vaults as a bearer token: %s", async (kind, header) => {
  const server = await httpServer();
  const client = clientOf(server.url, { token: { current: () => "aaa.bbb.ccc" } });
  await client.call({ ...startCall, kind }, never);
  await client.call({ ...endCall, kind }, never);
  await client.call({ ...startCall, kind, operation: "delete" }, never);
  for (const step of ["info", "create"] as const)
    await client.call({ step, uuid, kind, externalRef: "r", vault: {} }, never);
  expect(server.requests.map((r) => r.headers.authorization)).toEqual(
    Array.from({ length: 5 }, () => header),
  );
});

test("characters outside ASCII arrive as they are", async () => {
  const server = await httpServer();
  const externalRef = "Bestellung Nr. 5 – 注文 🛒";
  await clientOf(server.url).call({ ...startCall, externalRef }, never);
  expect(JSON.parse(server.requests[0]?.body ?? "")).toMatchObject({ externalRef });
});

test.each(["", "/", "/t", "/tenant%20a/sanctum/v1-2"])("a service at %j", async (path) => {
  const server = await httpServer();
  await clientOf("", { service: `${server.url}${path}` }).call(endCall, never);
  const expected = path.replace(/\/$/, "");
  expect(server.requests[0]?.url).toBe(`${expected}/vault/credit-card/offline/${uuid}/get-end`);
});

test("a uuid cannot leave its place in the path", async () => {
  const server = await httpServer();
  await clientOf(server.url).call({ ...endCall, uuid: "a/../b?c#d" }, never);
  expect(server.requests[0]?.url).toBe(
    "/vaultsvc/v1-2/vault/credit-card/offline/a%2F..%2Fb%3Fc%23d/get-end",
  );
});

test.each<[string, Pick<EndCall, "kind" | "operation">]>([
  ["an update of an online vault", { kind: "credit-card/online", operation: "update" }],
])("%s is refused, and nothing is sent", async (_, call) => {
  const server = await httpServer();
  const client = clientOf(server.url);
  await expect(client.call({ ...startCall, ...call }, never)).rejects.toMatchObject({
    code: "invalid-input",
  });
  await expect(client.call({ ...endCall, ...call }, never)).rejects.toMatchObject({
    code: "invalid-input",
  });
  expect(server.connections).toHaveLength(0);
});

test("a header that cannot be written is not sent, and its value is not told", async () => {
  const server = await httpServer();
  const reply = await clientOf(server.url, { token: { current: () => "aaa\r\nx-evil: 1" } }).call(
    endCall,
    never,
  );
  expect(reply).toEqual({
    type: "not-sent",
    cause: `no connection to ${server.host}: invalid authorization header`,
    hint: "check --base-url and that the service is running",
  });
  expect(server.requests).toHaveLength(0);
});

describe("extended calls", () => {
  const metadata = { team: "ops" };
  const credentials = everything.credentials;
  const about = { uuid, externalRef: "r", credentials, device };

  test.each<[string, SingleCall | StartCall, string, Record<string, unknown>]>([
    [
      "DELETE",
      { step: "start", operation: "delete", kind: "generic/offline", ...about },
      `/vault/generic/offline/${uuid}`,
      { application, externalRef: "r", vault: { credentials: pair } },
    ],
    [
      "DELETE",
      { step: "start", operation: "delete", kind: "generic/online", ...about },
      `/vault/generic/online/${uuid}`,
      { application, device, externalRef: "r", vault: { credentials } },
    ],
    [
      "POST",
      {
        step: "create",
        kind: "generic/offline",
        externalRef: "r",
        vault: { content: "x", maxUsage: 3 },
        device,
        metadata,
      },
      "/vault/generic/offline",
      { application, externalRef: "r", metadata, vault: { content: "x", maxUsage: 3 } },
    ],
    [
      "POST",
      {
        step: "create",
        kind: "credit-card/online",
        externalRef: "r",
        vault: { creditCard, hashedPin: "cGlu" },
        device,
      },
      "/vault/credit-card/online",
      { application, device, externalRef: "r", vault: { creditCard, hashedPin: "cGlu" } },
    ],
  ])("%s %j", async (method, call, path, body) => {
    const server = await httpServer();
    await clientOf(server.url).call(call, never);
    const [received] = server.requests;
    expect(server.requests).toHaveLength(1);
    expect({ ...received, body: JSON.parse(received?.body ?? "") as unknown }).toEqual({
      method,
      url: `/vaultsvc/v1-2${path}`,
      headers: headersOf(server.host, received?.body ?? ""),
      body,
    });
    expect(
      validate<unknown>(
        requestSchema(singleEndpoint(call.kind, call.step === "start" ? "delete" : call.step)),
        body,
      ),
    ).toEqual({
      ok: true,
      violations: [],
      value: body,
    });
  });

  test("an info has no body, and the application in its headers", async () => {
    const server = await httpServer();
    await clientOf(server.url).call({ step: "info", kind: "generic/online", uuid }, never);
    expect(server.requests).toEqual([
      {
        method: "GET",
        url: `/vaultsvc/v1-2/vault/generic/online/${uuid}/info`,
        headers: {
          host: server.host,
          connection: "keep-alive",
          accept: "application/json",
          "user-agent": "vault/1.2.3",
          "x-application-uuid": application.uuid,
          "x-api-key": application.apiKey,
        },
        body: "",
      },
    ]);
  });
});
