import { describe, expect, test } from "vitest";
import { endpoints, findEndpoint, isCreditCard, isOnline, kinds } from "../../src/interface/endpoints.ts";
import type { Kind, Operation, Step } from "../../src/interface/endpoints.ts";
import { credentialsSchema, requestSchema } from "../../src/interface/requests.ts";
import { validate } from "../../src/interface/validate.ts";
import { application, creditCard, device, pair, spoil, uuid } from "./examples.ts";

const table: [Kind, Operation, Step, string, string][] = [
  ["credit-card/online", "get", "start", "POST", `/vault/credit-card/online/${uuid}/get-start`],
  ["credit-card/online", "get", "end", "PUT", `/vault/credit-card/online/${uuid}/get-end`],
  ["credit-card/offline", "get", "start", "POST", `/vault/credit-card/offline/${uuid}/get-start`],
  ["credit-card/offline", "get", "end", "PUT", `/vault/credit-card/offline/${uuid}/get-end`],
  ["generic/offline", "get", "start", "POST", `/vault/generic/offline/${uuid}/get-start`],
  ["generic/offline", "get", "end", "PUT", `/vault/generic/offline/${uuid}/get-end`],
  ["credit-card/offline", "update", "start", "POST", `/vault/credit-card/offline/${uuid}/update-start`],
  ["credit-card/offline", "update", "end", "PUT", `/vault/credit-card/offline/${uuid}/update-end`],
];

describe("endpoints (section 4)", () => {
  test("there are these eight", () => {
    expect(endpoints.map((e) => [e.kind, e.operation, e.step, e.method, e.path(uuid)])).toEqual(table);
  });

  test("an operation that the specification does not show has none", () => {
    expect(findEndpoint("credit-card/online", "update", "start")).toBeUndefined();
    expect(findEndpoint("generic/offline", "update", "end")).toBeUndefined();
    expect(findEndpoint("generic/offline", "get", "end")?.path("u")).toBe("/vault/generic/offline/u/get-end");
  });

  test("kinds", () => {
    expect(kinds.map((kind) => [kind, isOnline(kind), isCreditCard(kind)])).toEqual([
      ["credit-card/online", true, true],
      ["credit-card/offline", false, true],
      ["generic/offline", false, false],
    ]);
  });
});

const offline = { application, externalRef: "order-2291", vault: { credentials: pair } };
const online = { ...offline, device, vault: { credentials: { ...pair, hashedPin: "cGlu" } } };
const update = { ...offline, newVault: { creditCard } };

const everywhere = ["application", "application.apiKey", "application.uuid", "vault", "vault.credentials"];
const pairFields = ["vault.credentials.encryptedData", "vault.credentials.payload"];
const cardFields = ["newVault", "newVault.creditCard", ...Object.keys(creditCard).map((key) => `newVault.creditCard.${key}`)];
const deviceFields = ["device", ...Object.keys(device).map((key) => `device.${key}`)];

const requests: [Kind, Operation, object, string[], string[]][] = [
  ["credit-card/online", "get", online, [...everywhere, ...pairFields, ...deviceFields], ["externalRef", "vault.credentials.hashedPin"]],
  ["credit-card/offline", "get", offline, [...everywhere, ...pairFields], ["externalRef"]],
  ["generic/offline", "get", offline, [...everywhere, ...pairFields], ["externalRef"]],
  ["credit-card/offline", "update", update, [...everywhere, ...pairFields, ...cardFields], ["externalRef"]],
];

describe.each(requests)("start request: %s %s", (kind, operation, good, required, optional) => {
  const endpoint = findEndpoint(kind, operation, "start");
  if (endpoint === undefined) throw new Error("no such endpoint");
  const check = (value: unknown) => validate<unknown>(requestSchema(endpoint), value);
  const broken = (value: unknown): string[] => {
    const checked = check(value);
    return checked.ok ? [] : checked.violations.map((v) => v.path);
  };

  test("takes the example", () => expect(check(good)).toEqual({ ok: true, value: good }));
  test.each(required)("needs %s", (path) => expect(broken(spoil(good, path, undefined))).toEqual([path]));
  test.each(optional)("does not need %s", (path) => expect(broken(spoil(good, path, undefined))).toEqual([]));
  test.each([...required, ...optional])("refuses null for %s", (path) => expect(broken(spoil(good, path, null))).toEqual([path]));
  test.each(pairFields)("refuses an empty %s", (path) => expect(broken(spoil(good, path, ""))).toEqual([path]));
  test.each(["application.apiKey", "application.uuid"])("refuses 35 characters for %s", (path) => {
    expect(broken(spoil(good, path, "a".repeat(35)))).toEqual([path]);
  });
  test("refuses an externalRef of 65 characters", () =>
    expect(broken(spoil(good, "externalRef", "x".repeat(65)))).toEqual(["externalRef"]));
});

test("a hashedPin must be base64 where it is taken, and is no part of an offline request", () => {
  const start = findEndpoint("credit-card/online", "get", "start");
  if (start === undefined) throw new Error("no such endpoint");
  expect(validate<unknown>(requestSchema(start), spoil(online, "vault.credentials.hashedPin", "not base64"))).toMatchObject({
    violations: [{ path: "vault.credentials.hashedPin" }],
  });
  const given = { ...pair, hashedPin: "cGlu" };
  expect(validate<unknown>(credentialsSchema("credit-card/online"), given)).toEqual({ ok: true, value: given });
  expect(validate<unknown>(credentialsSchema("generic/offline"), given)).toEqual({ ok: true, value: pair });
});

describe.each(table.filter(([, , step]) => step === "end"))("end request: %s %s", (kind, operation) => {
  const endpoint = findEndpoint(kind, operation, "end");
  if (endpoint === undefined) throw new Error("no such endpoint");
  test.each([[{ token: "T0K" }], [{ token: " " }]])("takes %j", (body) => {
    expect(validate<unknown>(requestSchema(endpoint), body)).toEqual({ ok: true, value: body });
  });
  test.each([[{}], [{ token: "" }], [{ token: 5 }], [{ token: null }], ["T0K"], [null]])("refuses %j", (body) => {
    expect(validate<unknown>(requestSchema(endpoint), body).ok).toBe(false);
  });
});
