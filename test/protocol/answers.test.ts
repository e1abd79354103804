import { describe, expect, test } from "vitest";
import { isSuccess, readStartSuccess, type Answer } from "../../src/protocol/answers.ts";
import type { Kind, Operation } from "../../src/protocol/endpoints.ts";
import { creditCard, pair, spoil, transactionToken, uuid } from "../support/examples.ts";

const start = (kind: Kind, operation: Operation = "get") => ({ uuid, kind, operation });

const dates = {
  autoLockDate: "2027-11-20T14:02:11Z",
  dateCreated: "2025-01-01T00:00:00.5+02:00",
  lastModified: "2026-11-20T14:00:00Z",
};
const common = { responseStatus: { status: "SUCCESS" }, transactionToken };
const online = { ...common, vault: { credentials: pair, creditCard, uuid, ...dates } };
const limits = { usesRemaining: 4, expiryDate: "2026-12-31T00:00:00Z" };
const offline = { ...common, vault: { credentials: pair, creditCard, uuid, ...dates, ...limits } };
const generic = {
  ...common,
  vault: { credentials: pair, content: "naïve 🔑", uuid, ...dates, ...limits },
};
const update = { ...common, vault: { credentials: pair, uuid, ...dates, ...limits } };

const answer = (body: object, httpStatus = 200): Answer => ({
  httpStatus,
  body: body as Record<string, unknown>,
});
const read = (body: object, call = start("credit-card/offline")) =>
  readStartSuccess(call, answer(body));

describe("an answer that keeps the interface is accepted whole, without a warning", () => {
  test.each<[Kind, Operation, typeof online]>([
    ["credit-card/online", "get", online],
    ["credit-card/offline", "get", offline],
    ["generic/offline", "get", generic as never],
    ["credit-card/offline", "update", update as never],
  ])("%s %s", (kind, operation, body) => {
    const limited = kind.endsWith("/offline");
    expect(read(body, start(kind, operation))).toEqual({
      vault: body.vault,
      pair,
      token: "T0K",
      tokenExpiry: "2026-11-20T14:02:11Z",
      usesRemaining: limited ? 4 : null,
      expiryDate: limited ? limits.expiryDate : null,
      ...dates,
      dateCreated: "2024-12-31T22:00:00.500Z",
      warnings: [],
    });
  });

  test("without what is optional", () => {
    const body = { ...common, vault: { credentials: pair, creditCard, uuid } };
    expect(read(body)).toMatchObject({
      warnings: [],
      usesRemaining: null,
      autoLockDate: null,
      dateCreated: null,
      lastModified: null,
    });
  });

  test("with unknown fields, which pass through untouched, the very object", () => {
    const body = {
      ...offline,
      more: 1,
      vault: { ...offline.vault, color: { red: [1] }, credentials: { ...pair, version: 2 } },
    };
    const success = read(body);
    expect(success?.vault).toBe(body.vault);
    expect(success?.warnings).toEqual([]);
  });

  test("with the uuid in other letters", () => {
    expect(read(spoil(offline, "vault.uuid", uuid.toUpperCase()))).toMatchObject({
      pair,
      warnings: [],
    });
  });
});

describe("what would cost the credentials is refused", () => {
  test.each<[string, unknown]>([
    ["responseStatus", undefined],
    ["responseStatus", "SUCCESS"],
    ["responseStatus.status", "ERROR"],
    ["responseStatus.status", "success"],
    ["responseStatus.status", undefined],
    ["vault", undefined],
    ["vault", null],
    ["vault", []],
    ["vault.uuid", undefined],
    ["vault.uuid", "1f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd"],
    ["vault.uuid", 7],
    ["vault.credentials", undefined],
    ["vault.credentials", null],
    ["vault.credentials.encryptedData", undefined],
    ["vault.credentials.encryptedData", ""],
    ["vault.credentials.encryptedData", 7],
    ["vault.credentials.payload", null],
    ["vault.credentials.payload", ""],
    ["transactionToken", undefined],
    ["transactionToken", "T0K"],
    ["transactionToken.token", undefined],
    ["transactionToken.token", ""],
    ["transactionToken.token", 7],
  ])("%s: %j", (path, value) => expect(read(spoil(offline, path, value))).toBeUndefined());
});

describe("any other deviation is a warning that names it", () => {
  test.each<[string, unknown]>([
    ["responseStatus.code", "not a code!"],
    ["responseStatus.detailedErrors", "none"],
    ["transactionToken.expiry", undefined],
    ["transactionToken.expiry", "soon 5"],
    ["transactionToken.timeToExpire", "300"],
    ["transactionToken.timeToExpire", undefined],
    ["vault.creditCard", undefined],
    ["vault.creditCard.number", "4111111111111112"],
    ["vault.creditCard.expiryMonth", 13],
    ["vault.creditCard.expiryYear", 29],
    ["vault.creditCard.name", "x".repeat(31)],
    ["vault.usesRemaining", 0],
    ["vault.usesRemaining", "4"],
    ["vault.expiryDate", "tomorrow"],
    ["vault.autoLockDate", 1_795_183_331_000],
    ["vault.dateCreated", null],
  ])("%s: %j", (path, value) => {
    const success = read(spoil(offline, path, value));
    expect(success).toMatchObject({ pair, token: "T0K" });
    expect(success?.warnings).toEqual([expect.stringMatching(`^the service's response: ${path} `)]);
  });

  test("a status of HTTP that is no success", () => {
    const success = readStartSuccess(start("credit-card/offline"), answer(offline, 409));
    expect(success?.warnings).toEqual(["the service responded SUCCESS with HTTP 409"]);
  });

  test("a generic vault without content", () => {
    expect(
      read(spoil(generic, "vault.content", undefined), start("generic/offline"))?.warnings,
    ).toHaveLength(1);
  });

  test("no warning repeats a secret", () => {
    const secrets = ["4111111111111112", "SECRET CONTENT"];
    const body = spoil(
      spoil(offline, "vault.creditCard.number", secrets[0]),
      "vault.usesRemaining",
      secrets[1],
    );
    for (const secret of secrets)
      expect(JSON.stringify(read(body)?.warnings)).not.toContain(secret);
  });
});

describe("dates and counts that come out can be relied on", () => {
  test.each<[string, string, unknown, unknown]>([
    ["transactionToken.expiry", "tokenExpiry", "2026-11-20T14:02:11", "2026-11-20T14:02:11.000Z"],
    [
      "transactionToken.expiry",
      "tokenExpiry",
      "2026-11-20T14:02:11,5Z",
      "2026-11-20T14:02:11.500Z",
    ],
    [
      "transactionToken.expiry",
      "tokenExpiry",
      "2026-11-20T14:02:11+01",
      "2026-11-20T13:02:11.000Z",
    ],
    [
      "transactionToken.expiry",
      "tokenExpiry",
      "2026-11-20T14:02:11+01:00",
      "2026-11-20T13:02:11.000Z",
    ],
    ["transactionToken.expiry", "tokenExpiry", "token 5", null],
    ["transactionToken.expiry", "tokenExpiry", 1_795_183_331_000, null],
    ["transactionToken.expiry", "tokenExpiry", undefined, null],
    ["vault.autoLockDate", "autoLockDate", "2027-02-30T00:00:00Z", null],
    ["vault.usesRemaining", "usesRemaining", 0, 0],
    ["vault.usesRemaining", "usesRemaining", 1.5, null],
    ["vault.usesRemaining", "usesRemaining", "1", null],
  ])("%s → %s: %j", (path, field, value, expected) => {
    expect(read(spoil(offline, path, value))).toMatchObject({ [field]: expected });
  });
});

test.each<[object, boolean]>([
  [{ responseStatus: { status: "SUCCESS" } }, true],
  [{ responseStatus: { status: "SUCCESS", detailedErrors: [] }, more: 1 }, true],
  [{ responseStatus: { status: "ERROR" } }, false],
  [{ responseStatus: { status: true } }, false],
  [{ responseStatus: [] }, false],
  [{ responseStatus: null }, false],
  [{ status: "SUCCESS" }, false],
  [{}, false],
])("isSuccess(%j) is %j", (body, expected) => expect(isSuccess(answer(body))).toBe(expected));
