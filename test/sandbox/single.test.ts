import { describe, expect, test } from "vitest";
import { kinds, isCreditCard, type Kind } from "../../src/protocol/endpoints.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { Bench, card, otherText, properties, wrongPair, type Answer } from "./support.ts";

/** Extended operations: these tests fix behavior that no source confirms, so that it does not change unnoticed. */
class ExtendedBench extends Bench {
  override create(kind: Kind, vault: Record<string, unknown> = {}, more = {}): Answer {
    const contents = isCreditCard(kind) ? { creditCard: card } : { content: "a text" };
    return super.create(kind, { ...contents, ...vault }, { externalRef: "order-1", ...more });
  }

  delete(vault: KnownVault): Answer {
    return this.single(vault, "delete", { ...this.startBody(vault), externalRef: "closed" });
  }
}

describe.each(kinds)("a %s vault", (kind) => {
  test("is created, read, and deleted; audit items say so", () => {
    const bench = new ExtendedBench();
    const created = bench.create(kind, {}, { metadata: { team: "ops" } });
    expect(created.status).toBe(200);
    expect(created.body.vault).not.toHaveProperty("content");
    const vault: KnownVault = {
      kind,
      label: "",
      uuid: created.body.vault["uuid"] as string,
      credentials: created.body.vault.credentials,
    };
    const read = bench.exchange(vault);
    expect(bench.single(vault, "info").body).toMatchObject({
      metadata: { team: "ops" },
      responseStatus: { status: "SUCCESS" },
    });
    expect(bench.delete(read).status).toBe(200);
    expect(bench.start(read).status).toBe(410);
    expect(bench.single(vault, "info").status).toBe(410);
    expect(bench.delete(read).status).toBe(410);
    const items = bench.sandbox
      .audit()
      .map(({ action, outcome, vaultUuid, externalRef }) => [
        action,
        outcome,
        vaultUuid,
        externalRef,
      ]);
    expect(items).toEqual([
      ["CREATE_VAULT", "SUCCESS", vault.uuid, "order-1"],
      ["READ_VAULT", "SUCCESS", vault.uuid, null],
      ["ACKNOWLEDGE_READ_VAULT", "SUCCESS", vault.uuid, null],
      ["DELETE_VAULT", "SUCCESS", vault.uuid, "closed"],
    ]);
  });
});

describe("create", () => {
  test("takes what belongs to the kind", () => {
    const bench = new ExtendedBench();
    const made = bench.create("generic/offline", {
      maxUsage: 3,
      expiryDate: "2099-01-01T00:00:00Z",
    });
    expect(made.body.vault).toMatchObject({
      usesRemaining: 3,
      expiryDate: "2099-01-01T00:00:00.000Z",
    });
    const online = bench.create("generic/online", { hashedPin: "cGlu" });
    const vault: KnownVault = {
      kind: "generic/online",
      label: "",
      uuid: online.body.vault["uuid"] as string,
      credentials: online.body.vault.credentials,
    };
    expect(bench.start(vault).status).toBe(403);
    expect(
      bench.start({ ...vault, credentials: { ...vault.credentials, hashedPin: "cGlu" } }).body
        .vault,
    ).toMatchObject({
      content: "a text",
    });
  });

  test("refuses what breaks a rule, and makes nothing", () => {
    const bench = new ExtendedBench();
    expect(
      properties(
        bench.create("credit-card/offline", {
          creditCard: { ...card, number: "4111111111111112" },
        }),
      ),
    ).toEqual(["vault.creditCard.number"]);
    expect(properties(bench.create("generic/offline", { maxUsage: 0 }))).toEqual([
      "vault.maxUsage",
    ]);
    expect(properties(bench.create("generic/offline", { content: undefined }))).toEqual([
      "vault.content",
    ]);
    expect(properties(bench.create("generic/online", {}, { device: undefined }))).toEqual([
      "device",
    ]);
    expect(properties(bench.create("generic/offline", {}, { metadata: { k: "ü" } }))).toEqual([
      "metadata.k",
    ]);
    expect(
      bench.create(
        "generic/offline",
        {},
        { application: { ...bench.sandbox.application, apiKey: wrongKey } },
      ).status,
    ).toBe(401);
    expect(bench.sandbox.vaults()).toEqual([]);
    expect(bench.sandbox.audit().map(({ action, vaultUuid }) => [action, vaultUuid])).toEqual([
      ["API_KEY_CHECK", null],
    ]);
  });
});

describe("delete", () => {
  test("with wrong credentials is a failed access, and three of them lock", () => {
    const bench = new ExtendedBench();
    const vault = bench.generic();
    const wrong = { ...vault, credentials: wrongPair };
    expect(
      [bench.delete(wrong), bench.startWith(vault, wrongPair), bench.delete(wrong)].map(
        ({ status }) => status,
      ),
    ).toEqual([403, 403, 403]);
    expect(bench.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "locked",
      lockReason: "failed",
      failedAccesses: 3,
    });
    expect(bench.delete(vault).status).toBe(423);
    expect(bench.sandbox.audit().at(-1)).toMatchObject({
      action: "DELETE_VAULT",
      outcome: "FAILURE",
      externalRef: "closed",
    });
  });

  test("with an exchange pending takes the old pair, not the offered one", () => {
    const bench = new ExtendedBench();
    const vault = bench.generic();
    const { credentials } = bench.start(vault).body.vault;
    expect(bench.delete({ ...vault, credentials }).status).toBe(403);
    expect(bench.delete(vault).status).toBe(200);
  });

  test("is recorded with the vault's own uuid, in whichever case the call has it", () => {
    const bench = new ExtendedBench();
    const vault = bench.generic();
    expect(bench.delete({ ...vault, uuid: vault.uuid.toUpperCase() }).status).toBe(200);
    const { action, vaultUuid } = bench.sandbox.audit().at(-1) ?? {};
    expect({ action, vaultUuid }).toEqual({ action: "DELETE_VAULT", vaultUuid: vault.uuid });
  });

  test("of another kind, or of nothing, is not found", () => {
    const bench = new ExtendedBench();
    const vault = bench.generic();
    expect(bench.delete({ ...vault, kind: "credit-card/offline" }).status).toBe(404);
    expect(bench.single(vault, "delete", {}).status).toBe(400);
  });
});

describe("info", () => {
  test("of a locked vault is answered; it counts nothing and moves no date", () => {
    const bench = new ExtendedBench();
    const vault = bench.generic();
    bench.sandbox.lock(vault.uuid);
    const before = bench.sandbox.inspect(vault.uuid);
    expect(bench.single(vault, "info")).toMatchObject({
      status: 200,
      body: { autoLockDate: new Date(before.autoLockDate).toISOString(), metadata: {} },
    });
    expect(bench.sandbox.inspect(vault.uuid)).toEqual(before);
    expect(bench.sandbox.audit()).toHaveLength(1);
  });

  test("needs the application in its headers", () => {
    const bench = new ExtendedBench();
    expect(bench.single(bench.generic(), "info", undefined, {}).status).toBe(401);
    expect(bench.single({ kind: "generic/offline", uuid: "x" }, "info").status).toBe(400);
  });
});

test("a text is updated by its end call (extended)", () => {
  const bench = new ExtendedBench();
  const vault = bench.generic();
  const { transactionToken } = bench.start(vault, "update").body;
  expect(bench.sandbox.inspect(vault.uuid).content).not.toBe(otherText);
  expect(bench.end(vault, transactionToken.token, "update").status).toBe(200);
  expect(bench.sandbox.inspect(vault.uuid).content).toBe(otherText);
});

test("another method is refused, and the right one named", () => {
  const bench = new Bench();
  const { kind, uuid } = bench.generic();
  const allowed = (method: string, path: string) =>
    bench.raw({ method, path: `/vaultsvc/v1-2/vault/${kind}${path}` }).headers["allow"];
  expect([
    allowed("GET", ""),
    allowed("PUT", `/${uuid}`),
    allowed("POST", `/${uuid}/info`),
  ]).toEqual(["POST", "DELETE", "GET"]);
});

const wrongKey = "ffffffff-ffff-4fff-8fff-ffffffffffff";
