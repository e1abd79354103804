import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { closed } from "../../src/exchange/breaker.ts";
import { replacing, written } from "../../src/store/tables.ts";
import { dialect, rowsIn } from "../../src/store/sqlite/database.ts";

it("numbers name values, as in PostgreSQL, in any order and as often as they stand there, and a $ is text elsewhere", () => {
  const statement = {
    sql: "SELECT $2 AS second, $1 AS first, $2 || '$1' AS text, json_extract('{\"a\": 7}', '$.a') AS a",
    values: ["one", "two"],
  };
  expect(rowsIn(new DatabaseSync(":memory:"), statement)).toEqual([
    { second: "two", first: "one", text: "two$1", a: 7 },
  ]);
});

it("the version of a breaker is a value, so that all versions share one statement", () => {
  const at = (version: number): string =>
    written((put) =>
      replacing(dialect, "service", { ...closed, version }, closed, dialect.open, put),
    ).sql;
  expect(at(7)).toBe(at(8));
});
