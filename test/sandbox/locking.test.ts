import { describe, expect, test } from "vitest";
import { Bench, properties, wrongPair, year } from "./support.ts";

describe("failed accesses", () => {
  test("the third in a row is refused like the others, and locks", () => {
    const bench = new Bench();
    const vault = bench.offline();
    for (const failed of [1, 2]) {
      expect(bench.startWith(vault, wrongPair).status).toBe(403);
      expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
        state: "active",
        failedAccesses: failed,
      });
    }
    const third = bench.startWith(vault, wrongPair);
    expect([third.status, properties(third)]).toEqual([403, ["vault.credentials"]]);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "locked",
      lockReason: "failed",
      failedAccesses: 3,
    });
    expect(bench.start(vault).status).toBe(423);
    expect(bench.sandbox.accepts(vault.uuid, vault.credentials)).toBe(false);
  });

  test("are zeroed by a start that is right, reads and updates counting alike", () => {
    const bench = new Bench();
    const vault = bench.offline();
    bench.startWith(vault, wrongPair);
    bench.startWith(vault, wrongPair, "update");
    expect(bench.start(vault).status).toBe(200);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      failedAccesses: 0,
      maxFailedAccesses: 2,
      counts: { failed: 2 },
    });
    bench.startWith(vault, wrongPair);
    bench.startWith(vault, wrongPair);
    expect(bench.sandbox.inspect(vault.uuid).state).toBe("active");
  });

  test("one half of the pair is not enough", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { encryptedData, payload } = vault.credentials;
    expect(bench.startWith(vault, { ...wrongPair, encryptedData }).status).toBe(403);
    expect(bench.startWith(vault, { ...wrongPair, payload }).status).toBe(403);
  });

  test("leave a pending exchange as it is", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { token } = bench.start(vault).body.transactionToken;
    bench.startWith(vault, wrongPair);
    expect(bench.end(vault, token).status).toBe(200);
    expect(bench.sandbox.inspect(vault.uuid).failedAccesses).toBe(0);
  });

  test("do not count for errors of validation, application, token or rate, nor for a vault of another kind", () => {
    const bench = new Bench({ policy: { rate: 10 } });
    const vault = bench.offline();
    bench.start(vault, "get", { externalRef: "" });
    bench.start(vault, "get", {
      application: { ...bench.sandbox.application, apiKey: "0".repeat(36) },
    });
    bench.end(vault, "wrong");
    expect(bench.start({ ...vault, kind: "generic/offline" }).status).toBe(404);
    for (let i = 0; i < 20; i += 1) bench.end(vault, "wrong");
    expect(bench.startWith(vault, wrongPair).status).toBe(429);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      failedAccesses: 0,
      unackedStarts: 0,
      state: "active",
    });
  });

  test("the threshold is the policy's", () => {
    const bench = new Bench({ policy: { failedAttempts: 1 } });
    const vault = bench.offline();
    bench.startWith(vault, wrongPair);
    expect(bench.sandbox.inspect(vault.uuid).state).toBe("locked");
  });
});

describe("starts without acknowledgement", () => {
  test("the fifth in a row locks and hands out nothing", () => {
    const bench = new Bench();
    const vault = bench.offline();
    for (const starts of [1, 2, 3, 4]) {
      expect(bench.start(vault, starts === 2 ? "update" : "get").status).toBe(200);
      expect(bench.sandbox.inspect(vault.uuid).unackedStarts).toBe(starts);
    }
    const left = bench.sandbox.inspect(vault.uuid).pending?.token ?? "";
    const fifth = bench.start(vault);
    expect(fifth.status).toBe(423);
    expect(fifth.body).not.toHaveProperty("vault");
    expect(fifth.body).not.toHaveProperty("transactionToken");
    const after = bench.sandbox.inspect(vault.uuid);
    expect(after).toMatchObject({
      state: "locked",
      lockReason: "unacknowledged",
      unackedStarts: 5,
      pending: null,
      counts: { starts: 4 },
    });
    bench.sandbox.unlock(vault.uuid);
    expect(bench.end(vault, left).status).toBe(400);
    expect(bench.start(vault).status).toBe(200);
  });

  test("are zeroed by an acknowledgement alone: not by failures, time or dead tokens", () => {
    const bench = new Bench();
    const vault = bench.offline();
    bench.start(vault);
    bench.startWith(vault, wrongPair);
    bench.time += 60 * 60_000;
    bench.start(vault);
    expect(bench.sandbox.inspect(vault.uuid).unackedStarts).toBe(2);
    const next = bench.exchange(vault);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      unackedStarts: 0,
      maxUnackedStarts: 3,
    });
    for (let i = 0; i < 4; i += 1) expect(bench.start(next).status).toBe(200);
  });

  test("the threshold is the policy's", () => {
    const bench = new Bench({ policy: { unackedStarts: 2 } });
    const vault = bench.offline();
    expect(bench.start(vault).status).toBe(200);
    expect(bench.start(vault).status).toBe(423);
  });
});

describe("the console", () => {
  test("locks, and unlocks with both counters zero and the autoLockDate moved", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { token } = bench.start(vault).body.transactionToken;
    bench.startWith(vault, wrongPair);
    bench.sandbox.lock(vault.uuid.toUpperCase());
    expect(bench.start(vault).status).toBe(423);
    expect(bench.end(vault, token).status).toBe(423);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      lockReason: "console",
      unackedStarts: 1,
      failedAccesses: 1,
    });
    bench.time += 1000;
    bench.sandbox.unlock(vault.uuid);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "active",
      unackedStarts: 0,
      failedAccesses: 0,
      autoLockDate: bench.time + year,
    });
    expect(bench.end(vault, token).status).toBe(200);
  });

  test("does not know other vaults, and does not revive deleted ones", () => {
    const bench = new Bench();
    const vault = bench.generic({ maxUsage: 1 });
    bench.exchange(vault);
    expect(() => bench.sandbox.unlock(vault.uuid)).toThrow(/was deleted/);
    expect(() => bench.sandbox.lock("0".repeat(36))).toThrow(/has no vault/);
  });
});
