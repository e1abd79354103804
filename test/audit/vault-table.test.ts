import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashOf, VaultTable } from "../../src/audit/fold/vault-table.ts";
import { viewOf } from "../../src/audit/read/bytes.ts";
import { vaultUuid } from "./support.ts";

const hexadecimal = fc.stringMatching(/^[0-9a-fA-F-]{36}$/);

describe("the table of vaults", () => {
  it("numbers them in the order in which they appear, in either case of their letters", () => {
    fc.assert(
      fc.property(fc.array(hexadecimal, { maxLength: 3000 }), (uuids) => {
        const table = new VaultTable(10_000);
        const expected = new Map<string, number>();
        for (const uuid of uuids) {
          const known = uuid.toLowerCase();
          if (!expected.has(known)) expected.set(known, expected.size);
          expect(table.of(uuid)).toBe(expected.get(known));
        }
        for (const [uuid, number] of expected) {
          expect([table.of(uuid), table.of(uuid.toUpperCase()), table.uuid(number)]).toEqual([
            number,
            number,
            uuid,
          ]);
        }
        expect(table.size).toBe(expected.size);
      }),
      { numRuns: 30, seed: 6 },
    );
  });

  it("holds many", () => {
    const table = new VaultTable(100_000);
    for (let number = 0; number < 100_000; number += 1)
      expect(table.of(vaultUuid(number))).toBe(number);
    for (let number = 0; number < 100_000; number += 997)
      expect(table.uuid(number)).toBe(vaultUuid(number));
  });

  it("spreads uuids that repeat the part in which they differ", () => {
    const hashes = new Set<number>();
    for (let number = 0; number < 65_536; number += 1) {
      const part = number.toString(16).padStart(4, "0");
      const { view } = viewOf(Buffer.from(`2750${part}-b1ea-463a-99fa-f5de362c${part}`));
      hashes.add(
        hashOf(Int32Array.from({ length: 9 }, (_, word) => view.getInt32(4 * word, true))),
      );
    }
    expect(hashes.size).toBeGreaterThan(65_000);
  });

  it("refuses one more than its limit, and goes on knowing the others", () => {
    const table = new VaultTable(2);
    expect([table.of(vaultUuid(1)), table.of(vaultUuid(2))]).toEqual([0, 1]);
    expect(() => table.of(vaultUuid(3))).toThrow(/more than 2 vaults/);
    expect(table.of(vaultUuid(1))).toBe(0);
  });

  it("does not take what is no uuid", () => {
    const table = new VaultTable(10);
    for (const text of [
      "",
      "x".repeat(36),
      vaultUuid(1).slice(1),
      `${vaultUuid(1)}0`,
      vaultUuid(1).replace("4", "g"),
      "é".repeat(36),
    ]) {
      expect(table.of(text)).toBe(-1);
    }
    expect(table.size).toBe(0);
  });

  it("with one wanted, remembers nothing of others", () => {
    const table = new VaultTable(2, vaultUuid(5).toUpperCase());
    for (let number = 0; number < 1000; number += 1) table.of(vaultUuid(number));
    expect(table.size).toBe(2);
    expect(table.isWanted(table.of(vaultUuid(5)))).toBe(true);
    expect(table.isWanted(table.of(vaultUuid(6)))).toBe(false);
    expect(table.of("\0".repeat(36))).toBe(-1);
  });

  it("with first digits, knows the vaults that have them", () => {
    const start = vaultUuid(0).slice(0, 30);
    const table = new VaultTable(3000, start.toUpperCase());
    const wanted = Array.from({ length: 2000 }, (_, number) => table.of(vaultUuid(number)));
    expect(new Set(wanted).size).toBe(2000);
    expect(wanted.every((number) => table.isWanted(number))).toBe(true);
    expect(wanted.map((number) => table.uuid(number))).toEqual(
      Array.from({ length: 2000 }, (_, number) => vaultUuid(number)),
    );
    expect(table.isWanted(table.of(`9${vaultUuid(1).slice(1)}`))).toBe(false);
  });
});
