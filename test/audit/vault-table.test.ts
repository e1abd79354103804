import fc from "fast-check";
import { expect, test } from "vitest";
import { hashOf, VaultTable } from "../../src/audit/fold/vault-table.ts";
import { viewOf } from "../../src/audit/read/bytes.ts";
import { vaultUuid } from "./support.ts";

test("numbers vaults in the order in which they appear, in either case of their letters", () => {
  const hexadecimal = fc.stringMatching(/^[0-9a-fA-F-]{36}$/);
  fc.assert(
    fc.property(fc.array(hexadecimal, { maxLength: 3000 }), (uuids) => {
      const table = new VaultTable(10_000);
      const expected = [...new Set(uuids.map((uuid) => uuid.toLowerCase()))];
      for (const uuid of uuids) expect(table.uuid(table.of(uuid))).toBe(uuid.toLowerCase());
      expect(expected.map((uuid) => table.of(uuid.toUpperCase()))).toEqual([...expected.keys()]);
      expect(table.size).toBe(expected.length);
    }),
    { numRuns: 30, seed: 6 },
  );
});

test("spreads uuids that repeat the part in which they differ", () => {
  const hashes = new Set<number>();
  for (let number = 0; number < 65_536; number += 1) {
    const part = number.toString(16).padStart(4, "0");
    const { view } = viewOf(Buffer.from(`2750${part}-b1ea-463a-99fa-f5de362c${part}`));
    hashes.add(hashOf(Int32Array.from({ length: 9 }, (_, word) => view.getInt32(4 * word, true))));
  }
  expect(hashes.size).toBeGreaterThan(65_000);
});

test("refuses one more than its limit, and what is no uuid", () => {
  const table = new VaultTable(2);
  expect([1, 2].map((number) => table.of(vaultUuid(number)))).toEqual([0, 1]);
  expect(() => table.of(vaultUuid(3))).toThrow(/more than 2 vaults/);
  const wrong = ["", "x".repeat(36), `${vaultUuid(1)}0`, vaultUuid(1).replace("4", "g")];
  expect(wrong.map((text) => table.of(text))).toEqual([-1, -1, -1, -1]);
  expect(table.of(vaultUuid(1))).toBe(0);
});

test("with the first digits of one wanted, remembers nothing of others", () => {
  const table = new VaultTable(3, vaultUuid(5).slice(0, 35).toUpperCase());
  const isWanted = (number: number): boolean => table.isWanted(table.of(vaultUuid(number)));
  expect([5, 6, 15, 1005].map(isWanted)).toEqual([true, true, false, false]);
  expect(table.size).toBe(3);
});
