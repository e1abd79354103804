import { describe, expect, test } from "vitest";
import { completePolicy, parsePolicy } from "../../src/sandbox/policy.ts";
import { demoSeed, parseSeed } from "../../src/sandbox/seeds.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { Bench, card } from "./support.ts";

const text = (contents: unknown): string =>
  typeof contents === "string" ? contents : JSON.stringify(contents);

describe("a seed", () => {
  test("demo has a vault of each kind and one with three reads", () => {
    const bench = new Bench({ seed: demoSeed });
    expect(bench.sandbox.vaults()).toMatchObject(
      demoSeed.map(({ kind, label }) => ({ kind, label })),
    );
    for (const vault of bench.sandbox.vaults()) bench.exchange(vault);
    expect(
      bench.sandbox.vaults().map(({ uuid }) => bench.sandbox.inspect(uuid).usesRemaining),
    ).toEqual([null, null, null, 2, null]);
  });

  test("of a file may name uuid and credentials", () => {
    const uuid = "123E4567-e89b-42d3-a456-426614174000";
    const credentials = { encryptedData: "mine", payload: "too" };
    const bench = new Bench({
      seed: parseSeed(
        text([{ kind: "generic/offline", content: "", uuid, credentials }]),
        "--seed",
      ),
    });
    expect(bench.sandbox.vaults()).toEqual([
      { uuid, kind: "generic/offline", credentials, label: "generic/offline" },
    ]);
    bench.exchange({ uuid, kind: "generic/offline", credentials, label: "" });
  });

  test("is what a reset goes back to, with new credentials: no client is brought back to those that it has replaced", () => {
    const bench = new Bench({ seed: demoSeed });
    const before = bench.sandbox.vaults();
    for (const vault of before) bench.exchange(vault);
    bench.generic();
    bench.sandbox.reset();
    const after = bench.sandbox.vaults();
    const withoutPair = (vaults: readonly KnownVault[]) =>
      vaults.map(({ credentials, ...vault }) => [vault, credentials.hashedPin]);
    expect(withoutPair(after)).toEqual(withoutPair(before));
    for (const [index, { uuid, credentials }] of after.entries()) {
      expect(bench.sandbox.accepts(uuid, credentials)).toBe(true);
      expect(bench.sandbox.accepts(uuid, before[index]?.credentials ?? credentials)).toBe(false);
    }
    expect(bench.sandbox.audit().map(({ action }) => action)).toEqual(
      Array.from({ length: 5 }, () => "CREATE_VAULT"),
    );
  });

  test("is what a rewind goes back to, credentials included", () => {
    const bench = new Bench({ seed: demoSeed });
    const before = bench.sandbox.vaults();
    for (const vault of before) bench.exchange(vault);
    bench.sandbox.rewind();
    expect(bench.sandbox.vaults()).toEqual(before);
  });

  const note = { kind: "generic/offline", content: "x" };
  test.each<[unknown, RegExp]>([
    ["{", /--seed line 1: not valid JSON/],
    [{}, /vault 1: kind is missing/],
    ["note", /vault 1: the vault must be an object \(is a string, not an object\)/],
    [[7], /vault 1: the vault must be an object/],
    [[note, { kind: "file/offline" }], /vault 2: kind must be one of/],
    [[{ ...note, color: "red" }], /vault 1: color is not one of kind, label, /],
    [[{ ...note, maxUsage: 0 }], /vault 1: maxUsage must be/],
    [[{ ...note, expiryDate: "soon" }], /vault 1: expiryDate must be/],
    [[{ ...note, creditCard: card }], /creditCard is not one of kind, /],
    [[{ ...note, hashedPin: "eA==" }], /hashedPin is not one of kind, /],
    [[{ ...note, label: 7 }], /label must be text/],
    [[{ kind: "credit-card/online" }], /creditCard is missing/],
    [
      [{ kind: "credit-card/online", creditCard: card, maxUsage: 2 }],
      /maxUsage is not one of kind, /,
    ],
    [
      [{ kind: "credit-card/offline", creditCard: { ...card, number: "123" } }],
      /creditCard.number must be/,
    ],
    [[{ ...note, uuid: "1" }], /uuid must be/],
    [
      [
        { ...note, uuid: "a".repeat(36) },
        { ...note, uuid: "A".repeat(36) },
      ],
      /two vaults have the UUID/,
    ],
  ])("%j is refused", (contents, message) => {
    expect(() => parseSeed(text(contents), "--seed")).toThrow(message);
    expect(() => parseSeed(text(contents), "--seed")).toThrow(
      expect.objectContaining({ code: "invalid-input" }),
    );
  });

  test("is a list, on lines as in an array", () => {
    const lines = `\uFEFF${text(note)}\r\n${JSON.stringify(note, null, 2)}\n\n`;
    expect(parseSeed(lines, "--seed")).toEqual([note, note]);
  });
});

describe("a policy", () => {
  test("is completed with the defaults of the interface", () => {
    expect(completePolicy({})).toMatchObject({
      failedAttempts: 3,
      unackedStarts: 5,
      rate: 25,
      tokenTtlMs: 300_000,
      idempotentEnd: false,
    });
    const policy = parsePolicy(text({ failedAttempts: 2, idempotentEnd: true }), "--policy");
    expect(completePolicy(policy)).toEqual({
      ...completePolicy({}),
      failedAttempts: 2,
      idempotentEnd: true,
    });
  });

  test.each<[unknown, RegExp]>([
    ["{", /--policy: not valid JSON/],
    [[], /must be an object/],
    [{ lockAfter: 3 }, /lockAfter is not one of failedAttempts, /],
    [{ rate: -1 }, /rate must be a whole number of at least 0/],
    [{ tokenTtlMs: 0.5 }, /tokenTtlMs must be/],
    [{ idempotentEnd: "yes" }, /idempotentEnd must be true or false/],
  ])("%j is refused", (contents, message) => {
    expect(() => parsePolicy(text(contents), "--policy")).toThrow(message);
  });
});
