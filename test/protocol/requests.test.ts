import { describe, expect, test } from "vitest";
import {
  endpoints,
  findEndpoint,
  isCreditCard,
  isOnline,
  kindList,
  kinds,
  singleEndpoint,
} from "../../src/protocol/endpoints.ts";
import type { Kind, Operation, Step } from "../../src/protocol/endpoints.ts";
import {
  offlineCredentials,
  onlineCredentials,
  requestSchema,
} from "../../src/protocol/requests.ts";
import { validate } from "../../src/protocol/validate.ts";
import { application, creditCard, device, pair, spoil, uuid } from "../support/examples.ts";

const table: [Kind, Operation, Step, string, string][] = [
  ["credit-card/online", "get", "start", "POST", `/vault/credit-card/online/${uuid}/get-start`],
  ["credit-card/online", "get", "end", "PUT", `/vault/credit-card/online/${uuid}/get-end`],
  ["credit-card/offline", "get", "start", "POST", `/vault/credit-card/offline/${uuid}/get-start`],
  ["credit-card/offline", "get", "end", "PUT", `/vault/credit-card/offline/${uuid}/get-end`],
  ["generic/offline", "get", "start", "POST", `/vault/generic/offline/${uuid}/get-start`],
  ["generic/offline", "get", "end", "PUT", `/vault/generic/offline/${uuid}/get-end`],
  [
    "credit-card/offline",
    "update",
    "start",
    "POST",
    `/vault/credit-card/offline/${uuid}/update-start`,
  ],
  ["credit-card/offline", "update", "end", "PUT", `/vault/credit-card/offline/${uuid}/update-end`],
];

/** See docs/interface.md, Extended operations. */
const extended: [Kind, Operation, Step, string, string][] = [
  ["generic/online", "get", "start", "POST", `/vault/generic/online/${uuid}/get-start`],
  ["generic/online", "get", "end", "PUT", `/vault/generic/online/${uuid}/get-end`],
  ["generic/offline", "update", "start", "POST", `/vault/generic/offline/${uuid}/update-start`],
  ["generic/offline", "update", "end", "PUT", `/vault/generic/offline/${uuid}/update-end`],
];

describe("endpoints", () => {
  const rows = (marked: boolean) =>
    endpoints
      .filter((e) => e.extended === marked && e.step !== "single")
      .map((e) => [e.kind, e.operation, e.step, e.method, e.path(uuid)]);

  test("there are these eight", () => expect(rows(false)).toEqual(table));

  test("and these extended ones, marked as such", () => expect(rows(true)).toEqual(extended));

  test.each(kinds)("of a %s vault: info, create and delete", (kind) => {
    expect(
      endpoints
        .filter((e) => e.kind === kind && e.step === "single")
        .map((e) => [e.operation, e.method, e.path(uuid), e.applicationIn, e.extended]),
    ).toEqual([
      ["info", "GET", `/vault/${kind}/${uuid}/info`, "headers", true],
      ["create", "POST", `/vault/${kind}`, "body", true],
      ["delete", "DELETE", `/vault/${kind}/${uuid}`, "body", true],
    ]);
  });

  test("a list of the kinds marks the extended one", () =>
    expect(kindList).toBe(
      "credit-card/online, credit-card/offline, generic/offline or generic/online (extended)",
    ));

  test("what no source shows has none", () => {
    expect(findEndpoint("credit-card/online", "update", "start")).toBeUndefined();
    expect(findEndpoint("generic/online", "update", "end")).toBeUndefined();
    expect(findEndpoint("generic/offline", "get", "end")?.path("u")).toBe(
      "/vault/generic/offline/u/get-end",
    );
  });

  test("kinds", () => {
    expect(kinds.map((kind) => [kind, isOnline(kind), isCreditCard(kind)])).toEqual([
      ["credit-card/online", true, true],
      ["credit-card/offline", false, true],
      ["generic/offline", false, false],
      ["generic/online", true, false],
    ]);
  });
});

const offline = { application, externalRef: "order-2291", vault: { credentials: pair } };
const online = { ...offline, device, vault: { credentials: { ...pair, hashedPin: "cGlu" } } };
const update = { ...offline, newVault: { creditCard } };

const everywhere = [
  "application",
  "application.apiKey",
  "application.uuid",
  "vault",
  "vault.credentials",
];
const pairFields = ["vault.credentials.encryptedData", "vault.credentials.payload"];
const cardFields = [
  "newVault",
  "newVault.creditCard",
  ...Object.keys(creditCard).map((key) => `newVault.creditCard.${key}`),
];
const deviceFields = ["device", ...Object.keys(device).map((key) => `device.${key}`)];

const requests: [Kind, Operation, object, string[], string[]][] = [
  [
    "credit-card/online",
    "get",
    online,
    [...everywhere, ...pairFields, ...deviceFields],
    ["externalRef", "vault.credentials.hashedPin"],
  ],
  ["credit-card/offline", "get", offline, [...everywhere, ...pairFields], ["externalRef"]],
  ["generic/offline", "get", offline, [...everywhere, ...pairFields], ["externalRef"]],
  [
    "credit-card/offline",
    "update",
    update,
    [...everywhere, ...pairFields, ...cardFields],
    ["externalRef"],
  ],
  [
    "generic/online",
    "get",
    online,
    [...everywhere, ...pairFields, ...deviceFields],
    ["externalRef", "vault.credentials.hashedPin"],
  ],
  [
    "generic/offline",
    "update",
    { ...offline, newVault: { content: "new text" } },
    [...everywhere, ...pairFields, "newVault", "newVault.content"],
    ["externalRef"],
  ],
];

describe.each(requests)("start request: %s %s", (kind, operation, good, required, optional) => {
  const endpoint = findEndpoint(kind, operation, "start");
  if (endpoint === undefined) throw new Error("no such endpoint");
  const check = (value: unknown) => validate<unknown>(requestSchema(endpoint), value);
  const broken = (value: unknown) => check(value).violations.map(({ path }) => path);

  test("takes the example", () =>
    expect(check(good)).toEqual({ ok: true, violations: [], value: good }));
  test.each(required)("needs %s", (path) =>
    expect(broken(spoil(good, path, undefined))).toEqual([path]),
  );
  test.each(optional)("does not need %s", (path) =>
    expect(broken(spoil(good, path, undefined))).toEqual([]),
  );
  test.each([...required, ...optional])("refuses null for %s", (path) =>
    expect(broken(spoil(good, path, null))).toEqual([path]),
  );
  test.each(pairFields)("refuses an empty %s", (path) =>
    expect(broken(spoil(good, path, ""))).toEqual([path]),
  );
  test.each(["application.apiKey", "application.uuid"])("refuses 35 characters for %s", (path) => {
    expect(broken(spoil(good, path, "a".repeat(35)))).toEqual([path]);
  });
  test("refuses an externalRef of 65 characters", () =>
    expect(broken(spoil(good, "externalRef", "x".repeat(65)))).toEqual(["externalRef"]));
});

const created = {
  application,
  externalRef: "order-2291",
  metadata: { "cost centre": "EU-West_7", empty: "" },
};
const creates: [Kind, object, string[], string[]][] = [
  [
    "credit-card/online",
    { ...created, device, vault: { creditCard, hashedPin: "cGlu" } },
    ["device", "vault.creditCard"],
    ["vault.hashedPin"],
  ],
  [
    "credit-card/offline",
    { ...created, vault: { creditCard, maxUsage: 3, expiryDate: "2029-04-30T00:00:00Z" } },
    ["vault.creditCard"],
    ["vault.maxUsage", "vault.expiryDate"],
  ],
  [
    "generic/offline",
    { ...created, vault: { content: "text", maxUsage: 1, expiryDate: "2029-04-30T00:00:00Z" } },
    ["vault.content"],
    ["vault.maxUsage", "vault.expiryDate"],
  ],
  [
    "generic/online",
    { ...created, device, vault: { content: "", hashedPin: "cGlu" } },
    ["device", "vault.content"],
    ["vault.hashedPin"],
  ],
];

describe.each(creates)("create request (extended): %s", (kind, good, required, optional) => {
  const schema = requestSchema(singleEndpoint(kind, "create"));
  const broken = (value: unknown) =>
    validate<unknown>(schema, value).violations.map(({ path }) => path);

  test("takes the example", () =>
    expect(validate<unknown>(schema, good)).toEqual({ ok: true, violations: [], value: good }));
  test.each(["application.apiKey", "vault", ...required])("needs %s", (path) =>
    expect(broken(spoil(good, path, undefined))).toEqual([path]),
  );
  test.each(["externalRef", "metadata", ...optional])("does not need %s", (path) =>
    expect(broken(spoil(good, path, undefined))).toEqual([]),
  );
  test.each(["externalRef", "metadata", ...required, ...optional])("refuses null for %s", (path) =>
    expect(broken(spoil(good, path, null))).toEqual([path]),
  );
  test.each([
    ["a key of 33", { ["k".repeat(33)]: "v" }],
    ["an empty key", { "": "v" }],
    ["a key with a dot", { "a.b": "v" }],
    ["a value of 256", { k: "v".repeat(256) }],
    ["a value with an umlaut", { k: "ü" }],
    ["a number", { k: 5 }],
    ["a list", ["k"]],
    ["51 pairs", Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, "v"]))],
  ])("refuses metadata: %s", (_, metadata) =>
    expect(broken({ ...good, metadata })[0]).toMatch(/^metadata/),
  );
  test("takes metadata at its limits", () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 50 }, (_, n) => [`${n}${"k".repeat(30)}`.slice(0, 32), "v".repeat(255)]),
    );
    expect(broken({ ...good, metadata })).toEqual([]);
  });
});

test.each(kinds)("a delete of a %s vault is as a start (extended), an info has no body", (kind) => {
  const good = isOnline(kind) ? online : offline;
  expect(validate<unknown>(requestSchema(singleEndpoint(kind, "delete")), good)).toEqual({
    ok: true,
    violations: [],
    value: good,
  });
  expect(
    validate<unknown>(
      requestSchema(singleEndpoint(kind, "delete")),
      spoil(good, "vault.credentials.payload", undefined),
    ).ok,
  ).toBe(false);
  expect(validate<unknown>(requestSchema(singleEndpoint(kind, "info")), undefined).ok).toBe(true);
});

test("a hashedPin must be base64 where it is taken, and is no part of an offline request", () => {
  const start = findEndpoint("credit-card/online", "get", "start");
  if (start === undefined) throw new Error("no such endpoint");
  expect(
    validate<unknown>(
      requestSchema(start),
      spoil(online, "vault.credentials.hashedPin", "not base64"),
    ),
  ).toMatchObject({
    violations: [{ path: "vault.credentials.hashedPin" }],
  });
  const given = { ...pair, hashedPin: "cGlu" };
  expect(validate<unknown>(onlineCredentials, given)).toEqual({
    ok: true,
    violations: [],
    value: given,
  });
  expect(validate<unknown>(offlineCredentials, given)).toEqual({
    ok: true,
    violations: [],
    value: pair,
  });
});

describe.each([...table, ...extended].filter(([, , step]) => step === "end"))(
  "end request: %s %s",
  (kind, operation) => {
    const endpoint = findEndpoint(kind, operation, "end");
    if (endpoint === undefined) throw new Error("no such endpoint");
    test.each([[{ token: "T0K" }], [{ token: " " }]])("takes %j", (body) => {
      expect(validate<unknown>(requestSchema(endpoint), body)).toEqual({
        ok: true,
        violations: [],
        value: body,
      });
    });
    test.each([[{}], [{ token: "" }], [{ token: 5 }], [{ token: null }], ["T0K"], [null]])(
      "refuses %j",
      (body) => {
        expect(validate<unknown>(requestSchema(endpoint), body).ok).toBe(false);
      },
    );
  },
);
