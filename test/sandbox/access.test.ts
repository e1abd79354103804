import { describe, expect, test } from "vitest";
import { classify } from "../../src/protocol/classify.ts";
import { completePolicy, isWhitelisted } from "../../src/sandbox/policy.ts";
import { jwtKeys, makeJwt } from "../support/keys.ts";
import { Bench, containing, properties, type Answer } from "./support.ts";

const keys = jwtKeys();
const now = Date.parse("2026-11-20T14:00:00.000Z") / 1000;
const good = { role: "reader", iat: now, exp: now + 60 };
const jwt = { publicKey: keys.publicKey, claims: { role: ["reader", "writer"], iss: "shop" } };
const classOf = ({ status, body }: Answer) => classify({ httpStatus: status, body: { ...body } });

describe("JWT", () => {
  const seed = [{ kind: "generic/offline", content: "a secret" } as const];
  const bench = new Bench({ policy: { rate: 0, jwt }, seed });
  const vault = bench.seeded();

  function start(authorization: string | undefined): Answer {
    const headers = authorization === undefined ? {} : { authorization };
    return bench.send(vault.kind, vault.uuid, "get", "start", bench.startBody(vault), headers);
  }

  test.each<[string, string | undefined]>([
    ["is missing", undefined],
    ["is malformed", "Bearer a.b.c"],
    ["is malformed", `Basic ${makeJwt(keys, good)}`],
    ["is not signed with ES384", `Bearer ${makeJwt(keys, good, { alg: "none" })}`],
    ["signature of the JWT is wrong", `Bearer ${makeJwt(jwtKeys(), { ...good, iss: "shop" })}`],
    [
      "signature of the JWT is wrong",
      `Bearer ${makeJwt(keys, { ...good, iss: "shop" }, { digest: "sha256" })}`,
    ],
    ["has no exp", `Bearer ${makeJwt(keys, { role: "reader", iss: "shop" })}`],
    ["has expired", `Bearer ${makeJwt(keys, { ...good, exp: now, iss: "shop" })}`],
    ["is not valid yet", `Bearer ${makeJwt(keys, { ...good, nbf: now + 1, iss: "shop" })}`],
    ["claim role is missing", `Bearer ${makeJwt(keys, { ...good, role: "admin", iss: "shop" })}`],
    ["claim iss is missing", `Bearer ${makeJwt(keys, good)}`],
  ])("%s: 401 about the application, and nothing is counted", (message, authorization) => {
    const answer = start(authorization);
    expect(answer.status).toBe(401);
    expect(properties(answer)).toEqual(["authorization"]);
    expect(answer.body.responseStatus.detailedErrors).toMatchObject([
      { message: containing(message) },
    ]);
    expect(classOf(answer)).toBe("application");
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      failedAccesses: 0,
      unackedStarts: 0,
    });
  });

  test("the right one is accepted by start and end, and both ask for it", () => {
    const authorization = `Bearer ${makeJwt(keys, { ...good, iss: "shop" })}`;
    const started = start(authorization);
    expect(started.status).toBe(200);
    const { token } = started.body.transactionToken;
    const { uuid, apiKey } = bench.sandbox.application;
    const application = { "x-application-uuid": uuid, "x-api-key": apiKey };
    expect(bench.end(vault, token, "get", application).status).toBe(401);
    expect(bench.end(vault, token, "get", { ...application, authorization }).status).toBe(200);
  });

  test("online vaults do not ask for it", () => {
    expect(bench.start(bench.online()).status).toBe(200);
  });
});

describe("the address whitelist", () => {
  test.each<[string, string[], boolean]>([
    ["10.1.2.3", [], true],
    ["10.1.2.3", ["10.1.2.3"], true],
    ["::ffff:10.1.2.3", ["10.1.2.3"], true],
    ["10.1.2.3", ["192.168.0.0/16", "10.1.0.0/16"], true],
    ["10.2.2.3", ["10.1.0.0/16"], false],
    ["10.1.2.4", ["10.1.2.3/32"], false],
    ["203.0.113.9", ["0.0.0.0/0"], true],
    ["::1", ["0.0.0.0/0"], false],
  ])("%s in %j: %s", (address, entries, is) => {
    expect(isWhitelisted(address, entries)).toBe(is);
  });

  test("others get 403 about the application, and an audit item with address and endpoint", () => {
    const seed = [{ kind: "generic/online", content: "a secret" } as const];
    const bench = new Bench({ policy: { rate: 0, whitelist: ["10.0.0.0/8"] }, seed });
    const vault = bench.seeded();
    const answer = bench.start(vault);
    expect(answer.status).toBe(403);
    expect(classOf(answer)).toBe("application");
    expect(bench.sandbox.audit().at(-1)).toMatchObject({
      action: "ADDRESS_CHECK",
      outcome: "FAILURE",
      vaultUuid: vault.uuid,
      ipAddress: "127.0.0.1",
      endpoint: `POST /vaultsvc/v1-2/vault/generic/online/${vault.uuid}/get-start`,
    });
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      failedAccesses: 0,
      unackedStarts: 0,
    });
  });
});

test.each<[object, string]>([
  [{ jwt: {} }, "jwt.publicKey is missing: must be a P-384 public key in PEM"],
  [
    { jwt: { publicKey: jwtKeys("P-256").publicKey } },
    "jwt.publicKey must be a P-384 public key in PEM",
  ],
  [{ jwt: { publicKey: keys.privateKey } }, "jwt.publicKey must be a P-384 public key in PEM"],
  [
    { jwt: { publicKey: keys.publicKey, claims: { role: [] } } },
    "jwt.claims.role must be a text or",
  ],
  [
    { jwt: { publicKey: keys.publicKey, claims: { role: 5 } } },
    "jwt.claims.role must be a text or",
  ],
  [{ jwt: { publicKey: keys.publicKey, claims: [] } }, "jwt.claims must be an object"],
  [{ jwt: 5 }, "jwt must be an object"],
  [{ whitelist: "10.0.0.1" }, "whitelist must be a list (is a string, not a list)"],
  [{ whitelist: ["10.0.0.0/33"] }, "whitelist must be a list"],
  [{ whitelist: ["::1"] }, "whitelist must be a list"],
])("the policy %j is refused", (policy, rule) => {
  expect(() => completePolicy(policy)).toThrow(
    expect.objectContaining({ code: "invalid-input", message: containing(rule) }) as Error,
  );
});
