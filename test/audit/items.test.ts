import { describe, expect, test } from "vitest";
import { itemOf } from "../../src/audit/read/entries.ts";
import { TimeReader } from "../../src/audit/columns/times.ts";
import { roles } from "../../src/audit/read/item.ts";
import { uuid } from "./support.ts";
import type { Columns } from "../../src/documents/audit.ts";

/** A column for each role, named like the role. */
const columns: Columns = Object.fromEntries(
  roles.map((role) => [role, { name: role, by: "name" }]),
);

const itemWith = (values: Record<string, string>) =>
  itemOf(new Map(Object.entries(values)), columns, new TimeReader(), 0, 1);

const good = { time: "2026-11-20T14:02:11Z", action: "READ_VAULT" };

describe("an item", () => {
  test("of all that a record can have", () => {
    const columns = {
      time: { name: "when", by: "name" },
      action: { name: "what", by: "value" },
      vault: { name: "vault.uuid", by: "--map" },
      outcome: { name: "o", by: "name" },
      ip: { name: "i", by: "name" },
      ref: { name: "r", by: "name" },
      endpoint: { name: "e", by: "name" },
      application: { name: "a", by: "name" },
      id: { name: "x", by: "name" },
      description: { name: "d", by: "name" },
    } as const;
    const texts = {
      when: good.time,
      what: "READ_VAULT",
      o: "OK",
      i: "10.0.0.1",
      r: "order-1",
      e: "GET /x",
      a: "app",
      x: "7",
      d: "text",
    };
    const fields = new Map(Object.entries({ ...texts, "vault.uuid": uuid(1).toUpperCase() }));
    expect(itemOf(fields, columns, new TimeReader(), 2, 41)).toEqual({
      input: 2,
      line: 41,
      time: Date.UTC(2026, 10, 20, 14, 2, 11),
      action: "READ_VAULT",
      vault: uuid(1),
      outcome: "OK",
      description: "text",
      application: "app",
      address: "10.0.0.1",
      endpoint: "GET /x",
      externalRef: "order-1",
      id: "7",
    });
  });

  test.each([
    [{ action: "READ_VAULT" }, "no time"],
    [{ time: good.time }, "no action"],
    [{ ...good, time: "yesterday" }, 'invalid time: "yesterday"'],
    [
      { ...good, time: "\u001b]0;x\u0007\u009b\u202e" },
      String.raw`invalid time: "\u001b]0;x\u0007\u009b\u202e"`,
    ],
    [{ ...good, time: "x".repeat(1_000_000) }, `invalid time: "${"x".repeat(39)}…"`],
  ])("is none without what it needs (%#)", (values, reason) => {
    expect(itemWith(values)).toEqual({ reason });
  });

  test.each([
    [undefined, null],
    [uuid(1).toUpperCase(), uuid(1)],
    [`POST /vaultsvc/v1-2/vault/credit-card/offline/${uuid(7).toUpperCase()}/get-start`, uuid(7)],
    [`https://vault.example/vault/generic/offline/${uuid(7)}`, uuid(7)],
    [`/vault/generic/offline/${uuid(7)}0/get-start`, null],
    ["POST /vault/credit-card/offline", null],
    [" Wallet 7 ", "wallet 7"],
  ])("has the vault of %s", (vault, expected) => {
    expect(itemWith(vault === undefined ? good : { ...good, vault })).toMatchObject({
      vault: expected,
    });
  });
});
