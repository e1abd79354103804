import { describe, expect, test } from "vitest";
import { Bench, matching, properties } from "./support.ts";

describe("a request that breaks a rule is refused with its property, and counts nothing", () => {
  const cases: [string, Record<string, unknown>, string[]][] = [
    ["no application", { application: undefined }, ["application"]],
    [
      "device",
      { device: { browserType: "F", browserVersion: "x", osType: "?", fonts: [] } },
      ["device.browserType", "device.browserVersion", "device.osType", "device.fonts"],
    ],
    [
      "hashedPin",
      { vault: { credentials: { encryptedData: "x", payload: "x", hashedPin: "?" } } },
      ["vault.credentials.hashedPin"],
    ],
  ];
  test.each(cases)("%s", (_name, more, named) => {
    const bench = new Bench();
    const vault = bench.online();
    const answer = bench.start(vault, "get", more);
    expect([answer.status, properties(answer)]).toEqual([400, named]);
    expect(answer.body.responseStatus.detailedErrors?.[0]?.message).toMatch(
      /^[a-zA-Z.]+ (must|is missing)/,
    );
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      failedAccesses: 0,
      unackedStarts: 0,
    });
  });

  test("a card, of which nothing is repeated", () => {
    const bench = new Bench();
    const creditCard = {
      number: "5105105105105101",
      name: "Grace",
      expiryMonth: 1,
      expiryYear: 2030,
    };
    const answer = bench.start(bench.offline(), "update", { newVault: { creditCard } });
    expect([answer.status, properties(answer)]).toEqual([400, ["newVault.creditCard.number"]]);
    expect(JSON.stringify(answer.body)).not.toContain(creditCard.number);
  });

  test("path, body and token", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const badPath = bench.start({ ...vault, uuid: "not a uuid/" });
    expect([badPath.status, properties(badPath)]).toEqual([400, ["vaultUuid"]]);
    for (const body of ["{", "", "[]", "null", '"text"', "7"]) {
      const answer = bench.send(vault.kind, vault.uuid, "get", "start", body);
      expect([body, answer.status, properties(answer)]).toEqual([body, 400, ["body"]]);
    }
    expect(properties(bench.end(vault, ""))).toEqual(["token"]);
    expect(
      bench.raw({ path: "/vaultsvc/v1-2/vault/credit-card/offline/%E0%A4%A/get-start", body: "{}" })
        .status,
    ).toBe(400);
  });
});

describe("the application", () => {
  test("is named in the body of a start; a failed check leaves an item", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { uuid, apiKey } = bench.sandbox.application;
    const other = "1".repeat(36);
    const wrongKey = bench.start(vault, "get", { application: { uuid, apiKey: other } });
    expect([wrongKey.status, properties(wrongKey)]).toEqual([401, ["application.apiKey"]]);
    const wrongUuid = bench.start(vault, "get", { application: { uuid: other, apiKey } });
    expect([wrongUuid.status, properties(wrongUuid)]).toEqual([401, ["application.uuid"]]);
    const items = bench.sandbox.audit().filter((item) => item.action === "API_KEY_CHECK");
    expect(items).toMatchObject([
      {
        outcome: "FAILURE",
        applicationUuid: uuid,
        ipAddress: "127.0.0.1",
        endpoint: matching(/^POST .*get-start$/),
      },
      { outcome: "FAILURE", applicationUuid: other },
    ]);
    expect(JSON.stringify(items)).not.toContain(apiKey);
  });

  test("is named in the headers of an end call; its body does not help", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { uuid, apiKey } = bench.sandbox.application;
    const { token } = bench.start(vault).body.transactionToken;
    for (const [headers, property] of [
      [{}, "x-application-uuid"],
      [{ "x-application-uuid": uuid }, "x-api-key"],
      [{ "x-application-uuid": uuid, "x-api-key": "0".repeat(36) }, "x-api-key"],
    ] as const) {
      const answer = bench.end(vault, token, "get", headers);
      expect([answer.status, properties(answer)]).toEqual([401, [property]]);
    }
    expect(bench.sandbox.audit().map(({ action }) => action)).toEqual([
      "CREATE_VAULT",
      "READ_VAULT",
    ]);
    expect(
      bench.end(vault, token, "get", {
        "x-application-uuid": uuid.toUpperCase(),
        "x-api-key": apiKey,
      }).status,
    ).toBe(200);
  });
});

describe("paths", () => {
  test("unknown ones, other methods, another prefix", () => {
    const seed = [{ kind: "generic/offline", content: "a secret" } as const];
    const bench = new Bench({ prefix: "/sanctum/v1-2/", seed });
    const vault = bench.seeded();
    const path = `/vault/${vault.kind}/${vault.uuid}/get-start`;
    const body = JSON.stringify(bench.startBody(vault));
    expect(bench.raw({ path: `/vaultsvc/v1-2${path}`, body }).status).toBe(404);
    expect(bench.raw({ path: `/sanctum/v1-2${path}`, body }).status).toBe(200);
    expect(bench.raw({ path: `/sanctum/v1-2${path}?x=1`, body }).status).toBe(200);
    expect(bench.raw({ method: "PUT", path: `/sanctum/v1-2${path}`, body })).toMatchObject({
      status: 405,
      headers: { allow: "POST" },
    });
    expect(bench.raw({ path: `/sanctum/v1-2${path}/more`, body }).status).toBe(404);
  });

  test("an unknown vault, and one of another kind", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const unknown = bench.start({ ...vault, uuid: "f".repeat(36) });
    expect([unknown.status, properties(unknown)]).toEqual([404, ["vaultUuid"]]);
    expect(bench.start({ ...vault, kind: "generic/offline" }).status).toBe(404);
    expect(bench.start({ ...vault, uuid: vault.uuid.toUpperCase() }).status).toBe(200);
  });
});
