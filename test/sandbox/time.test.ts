import { describe, expect, test } from "vitest";
import { Bench, properties, year } from "./support.ts";

describe("a token", () => {
  test("lives to the last millisecond", () => {
    const bench = new Bench({ policy: { tokenTtlMs: 200 } });
    const vault = bench.offline();
    const { transactionToken } = bench.start(vault).body;
    expect(transactionToken).toMatchObject({
      expiry: "2026-11-20T14:00:00.200Z",
      timeToExpire: 200,
    });
    bench.time += 199;
    expect(bench.end(vault, transactionToken.token).status).toBe(200);
  });

  test("is dead at its expiry; the old pair stays valid and the vault open", () => {
    const bench = new Bench({ policy: { tokenTtlMs: 200 } });
    const vault = bench.offline();
    const { transactionToken, vault: given } = bench.start(vault, "update").body;
    bench.time += 200;
    const late = bench.end(vault, transactionToken.token, "update");
    expect([late.status, properties(late)]).toEqual([400, ["token"]]);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "active",
      pending: null,
      unackedStarts: 1,
      failedAccesses: 0,
    });
    expect(bench.sandbox.accepts(vault.uuid, given.credentials)).toBe(false);
    expect(bench.start(vault).status).toBe(200);
  });

  test("lives five minutes by default", () => {
    const bench = new Bench();
    expect(bench.start(bench.offline()).body.transactionToken.expiry).toBe(
      "2026-11-20T14:05:00.000Z",
    );
  });
});

describe("the autoLockDate", () => {
  test("is a year after the last start that was accepted, and locks to the millisecond", () => {
    const bench = new Bench();
    const vault = bench.offline();
    bench.time += 1000;
    expect(bench.start(vault).body.vault["autoLockDate"]).toBe(
      new Date(bench.time + year).toISOString(),
    );
    bench.time += year - 1;
    expect(bench.sandbox.inspect(vault.uuid).state).toBe("active");
    bench.time += 1;
    expect(bench.start(vault).status).toBe(423);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "locked",
      lockReason: "auto-lock",
    });
    bench.sandbox.unlock(vault.uuid);
    expect(bench.start(vault).status).toBe(200);
  });

  test("is not moved by a failed start", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const before = bench.sandbox.inspect(vault.uuid).autoLockDate;
    bench.time += 1000;
    bench.startWith(vault, { encryptedData: "no", payload: "no" });
    expect(bench.sandbox.inspect(vault.uuid).autoLockDate).toBe(before);
  });
});

describe("the expiryDate", () => {
  test("deletes to the millisecond, a locked vault too, with an item of that moment", () => {
    const bench = new Bench();
    const vault = bench.offline({ expiryDate: "2026-11-20T14:00:10Z" });
    const { token } = bench.start(vault).body.transactionToken;
    bench.sandbox.lock(vault.uuid);
    bench.time += 9_999;
    expect(bench.start(vault).status).toBe(423);
    bench.time += 1;
    expect(bench.start(vault).status).toBe(410);
    expect(bench.end(vault, token).status).toBe(410);
    bench.time += 5_000;
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({ state: "deleted", pending: null });
    const deleted = bench.sandbox.audit().filter((item) => item.action === "DELETE_VAULT");
    expect(deleted).toMatchObject([
      { time: "2026-11-20T14:00:10.000Z", vaultUuid: vault.uuid, outcome: "SUCCESS" },
    ]);
  });
});

test("what happened while nobody asked has its own time in the audit, once", () => {
  const bench = new Bench();
  bench.offline({ expiryDate: "2026-11-20T14:00:10Z" });
  bench.time += 60_000;
  const deletions = () => bench.sandbox.audit().filter((item) => item.action === "DELETE_VAULT");
  expect(deletions()).toMatchObject([{ time: "2026-11-20T14:00:10.000Z" }]);
  expect(deletions()).toHaveLength(1);
});

describe("the rate", () => {
  test("admits 25 requests in any second, starts and ends together, and says when to come again", () => {
    const bench = new Bench({ policy: { unackedStarts: 100 } });
    const vault = bench.offline();
    for (let i = 0; i < 20; i += 1) expect(bench.start(vault).status).toBe(200);
    bench.time += 600;
    for (let i = 0; i < 5; i += 1) expect(bench.end(vault, "wrong").status).toBe(400);
    const limited = bench.start(vault);
    expect(limited).toMatchObject({
      status: 429,
      headers: { "retry-after": "1" },
      body: { retryAfter: 1 },
    });
    bench.time += 399;
    expect(bench.start(vault).status).toBe(429);
    bench.time += 1;
    for (let i = 0; i < 20; i += 1) expect(bench.start(vault).status).toBe(200);
    expect(bench.start(vault).status).toBe(429);
    expect(bench.sandbox.inspect(vault.uuid).counts).toMatchObject({ starts: 40, ends: 5 });
  });

  test("invalid requests of the application consume it, those of others do not", () => {
    const bench = new Bench({ policy: { rate: 2 } });
    const vault = bench.offline();
    const foreign = { application: { uuid: "0".repeat(36), apiKey: "0".repeat(36) } };
    for (let i = 0; i < 5; i += 1) expect(bench.start(vault, "get", foreign).status).toBe(401);
    expect(bench.start(vault, "get", { externalRef: "" }).status).toBe(400);
    expect(bench.start(vault).status).toBe(200);
    expect(bench.start(vault).status).toBe(429);
  });

  test("0 is no limit", () => {
    const bench = new Bench({ policy: { rate: 0 } });
    const vault = bench.offline();
    for (let i = 0; i < 100; i += 1) expect(bench.end(vault, "wrong").status).toBe(400);
  });
});
