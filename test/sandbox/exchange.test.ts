import { describe, expect, test } from "vitest";
import { demoDevice } from "../../src/sandbox/seeds.ts";
import { Bench, card, otherCard, properties } from "./support.ts";

describe("a read", () => {
  test("rotates the pair only with its end call", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { credentials: offered } = bench.start(vault).body.vault;
    expect(offered).not.toEqual(vault.credentials);
    expect(bench.sandbox.accepts(vault.uuid, vault.credentials)).toBe(true);
    expect(bench.sandbox.accepts(vault.uuid, offered)).toBe(false);
    expect(bench.startWith(vault, offered).status).toBe(403);

    const { transactionToken, vault: given } = bench.start(vault).body;
    expect(bench.end(vault, transactionToken.token).body).toEqual({
      responseStatus: { status: "SUCCESS" },
    });
    expect(bench.sandbox.accepts(vault.uuid, given.credentials)).toBe(true);
    expect(bench.sandbox.accepts(vault.uuid, vault.credentials)).toBe(false);
    expect(bench.start(vault).status).toBe(403);
    expect(bench.startWith(vault, given.credentials).status).toBe(200);
  });

  test("answers with the fields that the interface has for it", () => {
    const bench = new Bench();
    const online = bench.start(bench.online()).body.vault;
    expect(Object.keys(online).sort()).toEqual([
      "autoLockDate",
      "credentials",
      "creditCard",
      "dateCreated",
      "lastModified",
      "uuid",
    ]);
    expect(online["creditCard"]).toEqual(card);
    const perpetual = bench.start(bench.generic()).body.vault;
    expect(Object.keys(perpetual).sort()).toEqual([
      "autoLockDate",
      "content",
      "credentials",
      "dateCreated",
      "lastModified",
      "uuid",
    ]);
    expect(perpetual["content"]).toBe("a secret");
    const both = bench.start(bench.generic({ maxUsage: 2, expiryDate: "2027-01-01T00:00:00Z" }))
      .body.vault;
    expect(both).toMatchObject({ usesRemaining: 2, expiryDate: "2027-01-01T00:00:00.000Z" });
  });

  test("again with the old pair cleans up the one that was left", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const first = bench.start(vault).body;
    const second = bench.start(vault).body;
    expect(properties(bench.end(vault, first.transactionToken.token))).toEqual(["token"]);
    expect(bench.sandbox.inspect(vault.uuid).pending?.offered).toEqual(second.vault.credentials);
    expect(bench.end(vault, second.transactionToken.token).status).toBe(200);
    expect(bench.sandbox.accepts(vault.uuid, first.vault.credentials)).toBe(false);
  });

  test("a wrong token changes nothing, an end call of the other operation neither", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { token } = bench.start(vault).body.transactionToken;
    const wrong = bench.end(vault, "nonsense");
    expect([wrong.status, properties(wrong)]).toEqual([400, ["token"]]);
    expect(bench.end(vault, token, "update").status).toBe(400);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "active",
      unackedStarts: 1,
      counts: { ends: 2, acknowledged: 0 },
    });
    expect(bench.end(vault, token).status).toBe(200);
  });

  test("an end call repeated: refused, or granted where the policy says so", () => {
    for (const [idempotentEnd, status] of [
      [false, 400],
      [true, 200],
    ] as const) {
      const bench = new Bench({ policy: { idempotentEnd } });
      const vault = bench.offline();
      const { token } = bench.start(vault).body.transactionToken;
      expect(bench.end(vault, token).status).toBe(200);
      const before = bench.sandbox.inspect(vault.uuid);
      expect(bench.end(vault, token).status).toBe(status);
      expect(bench.end(vault, token, "update").status).toBe(400);
      expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
        pair: before.pair,
        counts: { acknowledged: 1 },
      });
      expect(
        bench.sandbox.audit().filter((item) => item.action === "ACKNOWLEDGE_READ_VAULT"),
      ).toHaveLength(1);
    }
  });
});

test("an end call of a vault that does not exist is an error that counts nothing and leaves no audit item", () => {
  const bench = new Bench();
  const vault = bench.generic();
  const items = bench.sandbox.audit().length;
  const nobody = "00000000-0000-0000-0000-000000000000";
  expect(bench.end({ ...vault, uuid: nobody }, nobody).body).toMatchObject({
    responseStatus: { status: "ERROR" },
  });
  expect(bench.sandbox.audit()).toHaveLength(items);
  expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
    failedAccesses: 0,
    unackedStarts: 0,
    counts: { ends: 0 },
  });
});

describe("an update", () => {
  test("shows at its end call, and not before", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { transactionToken, vault: given } = bench.start(vault, "update").body;
    expect(Object.keys(given).sort()).toEqual([
      "autoLockDate",
      "credentials",
      "dateCreated",
      "lastModified",
      "uuid",
    ]);
    expect(bench.sandbox.inspect(vault.uuid).creditCard).toEqual(card);
    bench.time += 1000;
    expect(bench.end(vault, transactionToken.token, "update").status).toBe(200);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      creditCard: otherCard,
      lastModified: bench.time,
    });
    expect(bench.startWith(vault, given.credentials).body.vault["creditCard"]).toEqual(otherCard);
  });

  test("that is left for a read is not applied", () => {
    const bench = new Bench();
    const vault = bench.offline();
    bench.start(vault, "update");
    bench.exchange(vault);
    expect(bench.sandbox.inspect(vault.uuid).creditCard).toEqual(card);
  });

  test("of an online vault has no endpoint", () => {
    const bench = new Bench();
    const body = JSON.stringify({});
    for (const [kind, { uuid }] of [
      ["credit-card/online", bench.online()],
      ["generic/online", bench.generic()],
    ] as const) {
      expect(
        bench.raw({ path: `/vaultsvc/v1-2/vault/${kind}/${uuid}/update-start`, body }).status,
      ).toBe(404);
    }
  });
});

describe("a limited vault", () => {
  test("counts acknowledged reads, not starts and not updates, and is gone after the last", () => {
    const bench = new Bench();
    let vault = bench.offline({ maxUsage: 2 });
    expect(bench.start(vault).body.vault.usesRemaining).toBe(2);
    expect(bench.start(vault, "update").body.vault.usesRemaining).toBe(2);
    vault = bench.exchange(vault, "update");
    expect(bench.sandbox.inspect(vault.uuid).usesRemaining).toBe(2);
    vault = bench.exchange(vault);
    expect(bench.sandbox.inspect(vault.uuid).usesRemaining).toBe(1);
    const last = bench.start(vault).body;
    expect(last.vault.usesRemaining).toBe(1);
    expect(bench.sandbox.inspect(vault.uuid).state).toBe("active");
    expect(bench.end(vault, last.transactionToken.token).status).toBe(200);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({ state: "deleted", usesRemaining: 0 });
    expect(bench.startWith(vault, last.vault.credentials).status).toBe(410);
    expect(bench.end(vault, last.transactionToken.token).status).toBe(410);
  });

  test("grants the repetition of its last end call to an idempotent service", () => {
    const bench = new Bench({ policy: { idempotentEnd: true } });
    const vault = bench.generic({ maxUsage: 1 });
    const { token } = bench.start(vault).body.transactionToken;
    expect(bench.end(vault, token).status).toBe(200);
    expect(bench.end(vault, token).status).toBe(200);
  });
});

describe("an online vault", () => {
  test("needs the hashedPin that it was made with, and none if it was made without", () => {
    const bench = new Bench();
    const pinned = bench.online({ hashedPin: "c2VjcmV0LXBpbg==" });
    const { hashedPin: _pin, ...bare } = pinned.credentials;
    expect(properties(bench.start({ ...pinned, credentials: bare }))).toEqual([
      "vault.credentials",
    ]);
    expect(bench.start({ ...pinned, credentials: { ...bare, hashedPin: "b3RoZXI=" } }).status).toBe(
      403,
    );
    expect(bench.start(pinned).status).toBe(200);
    const plain = bench.online();
    expect(
      bench.start({ ...plain, credentials: { ...plain.credentials, hashedPin: "b3RoZXI=" } })
        .status,
    ).toBe(403);
  });

  const device = (more: object) => ({ device: { ...demoDevice, ...more } });
  test.each([
    ["the same device", device({}), 200],
    ["a newer browser", device({ browserVersion: "128.0.1" }), 200],
    ["the same browser, named shorter", device({ browserVersion: "128" }), 200],
    ["a newer browser, by number", device({ browserVersion: "1000.0" }), 200],
    ["more fonts", device({ fonts: [...demoDevice.fonts, "Comic Sans"] }), 200],
    ["an older browser", device({ browserVersion: "127.9" }), 403],
    ["another browser", device({ browserType: "Chrome" }), 403],
    ["another system", device({ osType: "Windows" }), 403],
    ["a font less", device({ fonts: ["Arial"] }), 403],
  ])("matches the device tolerantly: %s", (_name, more, status) => {
    const bench = new Bench();
    const vault = bench.online({ device: demoDevice });
    const answer = bench.start(vault, "get", more);
    expect([answer.status, properties(answer)]).toEqual([status, status === 403 ? ["device"] : []]);
    expect(bench.sandbox.inspect(vault.uuid).failedAccesses).toBe(status === 403 ? 1 : 0);
  });
});
