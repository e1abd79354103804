import { expect, test } from "vitest";
import { newId } from "../../src/exchange/records.ts";

const noon = Date.parse("2026-11-20T12:00:00Z");
const at = (time: number) => ({ now: () => time });

test("an id is a ULID, by a clock with fractions of a millisecond as that of a database too", () => {
  const [whole, fraction] = [newId(at(noon)), newId(at(noon + 0.456))];
  expect(whole).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  expect(fraction).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  expect(fraction.slice(0, 10)).toBe(whole.slice(0, 10));
});
