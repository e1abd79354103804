import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { readVault } from "../../src/store/read-vaults.ts";
import { all, dialect } from "../../src/store/sqlite/query.ts";
import { migrations } from "../../src/store/sqlite/schema.ts";

test.each([{}, { exchange: "01EXCHANGE" }, { prints: ["a fingerprint"] }])(
  "a vault is read in the same time however often it was read before: %j",
  (named) => {
    const db = new DatabaseSync(":memory:");
    for (const migration of migrations) db.exec(migration);
    const vault = { service: "https://service", uuid: "2750e165-b1ea-463a-99fa-f5de362c72e5" };
    const steps = readVault(dialect, vault, named)
      .flatMap(({ sql }) => all<{ detail: string }>(db, `EXPLAIN QUERY PLAN ${sql}`))
      .map(({ detail }) => detail);
    db.close();
    const grows =
      /^SCAN (?!(?:vault|matter|kept|ended|refused|json_each)\b)|SEARCH (?:exchanges|credentials|superseded) .*\(vault=\?\)$/;
    // The index has the credentials that are kept, which are few.
    const isFew = /credentials_kept/;
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.filter((step) => grows.test(step) && !isFew.test(step))).toEqual([]);
  },
);
