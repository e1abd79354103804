import { describe, expect, test } from "vitest";
import { findErrorUuid } from "../../src/protocol/answers.ts";
import { classify, type ErrorClass } from "../../src/protocol/classify.ts";

interface Detail {
  property?: unknown;
  message?: unknown;
  errorReasons?: unknown;
}

const refused = (httpStatus: number, details: Detail[] = [], code?: string) => ({
  httpStatus,
  body: {
    responseStatus: {
      status: "ERROR",
      ...(code === undefined ? {} : { code }),
      detailedErrors: details,
    },
  },
});

/** Errors of services with their class: the class, the HTTP status, the entry or the code. */
const answers: [ErrorClass, number, Detail | string][] = [
  ["rate", 429, {}],
  ["rate", 400, { message: "Rate limit exceeded" }],
  ["rate", 403, "TOO-MANY-REQUESTS"],
  ["credentials", 500, { property: "vault.credentials", message: "invalid" }],
  ["server", 503, {}],

  ["locked", 423, {}],
  ["locked", 403, { message: "Vault is locked" }],
  ["locked", 400, { property: "vaultUuid", message: "The vault has been locked" }],
  ["locked", 400, { property: "vault.credentials", errorReasons: ["vault", "LOCKED"] }],
  ["locked", 401, "VAULT-LOCKED"],
  ["locked", 403, { message: "Vault locked after too many failed attempts" }],
  [
    "locked",
    403,
    { message: "No attempts left: the vault is locked until an administrator unlocks it" },
  ],
  ["gone", 410, { message: "The vault was deleted" }],
  ["gone", 404, { property: "vaultUuid", message: "unknown" }],
  ["gone", 404, { property: "vault", errorReasons: ["not found"] }],
  ["gone", 400, { message: "Vault not found" }],
  ["gone", 400, "VAULT-EXPIRED"],

  // Gone is a word for vaults, not for addresses.
  ["missing", 410, {}],
  ["missing", 404, {}],
  ["missing", 405, { message: "Method not allowed" }],
  ["missing", 404, { message: "Not found" }],
  ["missing", 404, { message: "Resource not found" }],
  [
    "missing",
    404,
    { message: "No static resource vaultsvc/v1-2/vault/generic/offline/1/get-start." },
  ],
  [
    "missing",
    404,
    { property: "path", message: "Not found: /v2/vault/generic/offline/1/get-start" },
  ],
  ["missing", 400, { message: "Unknown endpoint of the vault API" }],
  ["missing", 400, "ENDPOINT-NOT-FOUND"],

  ["credentials", 400, { property: "vault.credentials.payload", message: "invalid" }],
  ["credentials", 401, { property: "encryptedData" }],
  ["credentials", 400, { property: "vault", message: "invalid" }],
  ["credentials", 404, { property: "vault", message: "unknown credentials" }],
  ["credentials", 403, { message: "Invalid vault credentials" }],
  ["credentials", 403, { message: "wrong", errorReasons: ["hashedPin does not match"] }],
  ["credentials", 403, { property: "device", message: "does not match" }],
  ["credentials", 400, "INVALID-CREDENTIALS"],
  // A warning of a future lock is not a lock: the refusal has to be counted.
  [
    "credentials",
    403,
    { message: "Invalid credentials: the vault will be locked after 2 more attempts" },
  ],
  ["credentials", 403, { property: "vault.credentials", message: "2 attempts left before lock" }],
  ["credentials", 403, { message: "Wrong PIN. 1 attempt remaining until the vault is locked" }],
  ["credentials", 403, { message: "The vault is not locked, but the credentials do not match" }],

  ["application", 401, {}],
  ["application", 403, {}],
  ["application", 400, { property: "application.apiKey", message: "invalid" }],
  ["application", 400, { property: "x-api-key" }],
  ["application", 400, { message: "The API key is unknown" }],
  ["application", 403, { message: "IP address 10.0.0.1 is not on the whitelist" }],
  ["application", 400, { message: "JWT signature is wrong" }],
  // Not the token of the transaction, so it must not settle an exchange.
  ["application", 401, { message: "The JWT token has expired" }],
  ["application", 401, { message: "Invalid bearer token" }],
  ["application", 401, "INVALID-ACCESS-TOKEN"],

  ["token", 400, { property: "token", message: "invalid" }],
  ["token", 400, { property: "transactionToken" }],
  ["token", 404, { message: "Transaction token not found" }],
  ["token", 400, "TOKEN-EXPIRED"],

  ["validation", 400, { property: "externalRef", message: "length must be 1 to 64" }],
  ["validation", 422, { property: "newVault.creditCard.number", message: "Luhn" }],
  ["validation", 200, { property: "newVault.creditCard.number", message: "Luhn" }],
  ["validation", 400, { property: "device.fonts", message: "must not be empty" }],
  ["validation", 400, { property: "vaultUuid", message: "invalid" }],
  ["validation", 400, { message: "Malformed JSON" }],
  ["validation", 400, { property: "somethingElse" }],

  // Unknown, so it counts.
  ["service", 400, {}],
  ["service", 400, { message: "Invalid request" }],
  ["service", 422, "E-1034"],
  ["service", 200, { message: "No luck today" }],
  ["service", 409, {}],
];

describe("classify", () => {
  test.each(answers)("%s: HTTP %i %j", (expected, httpStatus, said) => {
    expect(
      classify(
        typeof said === "string" ? refused(httpStatus, [], said) : refused(httpStatus, [said]),
      ),
    ).toBe(expected);
  });

  test("the order of the table decides, not the order of the details", () => {
    const details = [{ message: "credentials refused" }, { property: "application.uuid" }];
    expect(classify(refused(400, details))).toBe("application");
    expect(classify(refused(400, details.toReversed()))).toBe("application");
  });

  test("property and wording must be of one entry", () => {
    expect(
      classify(refused(200, [{ property: "newVault.creditCard" }, { message: "unlocked" }])),
    ).toBe("validation");
  });

  test.each<[unknown]>([
    [undefined],
    [null],
    ["text"],
    [{}],
    [[null, 7, "x", [], {}]],
    [[{ property: 7, message: {}, errorReasons: "x" }]],
  ])("details of the wrong shape: %j", (detailedErrors) => {
    const answer = {
      httpStatus: 409,
      body: { responseStatus: { status: "ERROR", detailedErrors } },
    };
    expect(classify(answer)).toBe("service");
  });

  test.each<[ErrorClass, number]>([
    ["rate", 429],
    ["application", 401],
    ["application", 403],
    ["service", 400],
    ["missing", 404],
    ["missing", 405],
    ["service", 410],
    ["server", 502],
  ])("%s: HTTP %i of a proxy, without responseStatus", (expected, httpStatus) => {
    expect(classify({ httpStatus, body: { message: "no route matches the vault" } })).toBe(
      expected,
    );
  });
});

describe("findErrorUuid", () => {
  const id = "7d9f1e9a-0b1c-4d2e-8f30-415263748596";
  const other = "00000000-1111-4222-8333-444444444444";

  test.each<[unknown]>([
    [{ errorUuid: id }],
    [{ error_uuid: id }],
    [{ errorId: id.replaceAll("-", "") }],
    [{ uuidOfError: id }],
    [{ uuid: id }],
    [{ id }],
    [{ responseStatus: { status: "ERROR", errorUUID: id } }],
    [{ responseStatus: { uuid: id } }],
    [{ responseStatus: { detailedErrors: [{ message: "x" }, { errorUuid: id }] } }],
    [{ responseStatus: { detailedErrors: [{ uuid: id }] } }],
    [{ error: { uuid: id } }],
    [{ traceId: other, error: { uuid: id } }],
    [{ "com.example.platform.v2.error": { id } }],
    [{ uuid: other, errorUuid: id }],
    [{ requestId: other, responseStatus: { errUuid: id } }],
    [{ vault: { uuid: other, errorUuid: other }, uuid: id }],
    [{ vaultUuid: other, applicationUuid: other, transactionId: other, id }],
    [{ application: { uuid: other }, responseStatus: { id } }],
  ])("%j", (body) => expect(findErrorUuid(body)?.replaceAll("-", "")).toBe(id.replaceAll("-", "")));

  test.each<[unknown]>([
    [{}],
    [null],
    ["text"],
    [{ errorUuid: "E-1034" }],
    [{ errorUuid: 12345 }],
    [{ errorUuid: `${id}0` }],
    [{ message: id }],
    [{ vault: { uuid: id } }],
    [{ vaultUuid: id }],
    [{ transactionToken: { token: id, id } }],
  ])("none in %j", (body) => expect(findErrorUuid(body)).toBeUndefined());

  test("a body without end does not keep it", () => {
    const body: Record<string, unknown> = {};
    body["self"] = body;
    expect(findErrorUuid(body)).toBeUndefined();
  });
});
