import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { auditToCsv, auditToNdjson } from "../../src/sandbox/control/audit-export.ts";
import type { AuditItem } from "../../src/sandbox/model/state.ts";
import { VaultError } from "../../src/errors.ts";
import { runs } from "../support/campaign.ts";
import { readAll, uuid } from "./support.ts";

const vault = uuid(1, "7");
const row = (n: number, time = Date.UTC(2026, 10, 20) + n * 1000): Record<string, string> => ({
  id: uuid(n),
  time: new Date(time).toISOString(),
  action: "READ_VAULT",
  vault,
});
const ndjson = (rows: readonly object[]): string =>
  rows.map((one) => `${JSON.stringify(one)}\n`).join("");
const rows = (count: number): Record<string, string>[] =>
  Array.from({ length: count }, (_, n) => row(n));

describe("the items of an input", () => {
  test("in the order of the input, with their lines", async () => {
    const { items, skips, columns, order } = await readAll(ndjson(rows(3000)), { size: 1000 });
    expect(items.map(({ line }) => line)).toEqual(Array.from({ length: 3000 }, (_, n) => n + 1));
    expect(items[2999]).toMatchObject({ input: 0, id: uuid(2999), vault, action: "READ_VAULT" });
    expect(skips).toEqual([]);
    expect(Object.keys(columns)).toEqual(["time", "action", "vault", "id"]);
    expect(order).toBe("oldest-first");
  });

  test("newest first", async () => {
    expect((await readAll(ndjson(rows(50).toReversed()))).order).toBe("newest-first");
    expect((await readAll(ndjson(rows(50).with(7, row(40))))).order).toBe("oldest-first");
  });

  test("what is none is told with its line, before and after the columns are known", async () => {
    const lines = ndjson([
      row(0),
      { ...row(1), time: "soon" },
      { ...row(2), action: "" },
      { x: 1 },
      ...rows(2000),
      { ...row(9), time: null },
    ]);
    const { items, skips } = await readAll(`?\n${lines}{"time":"2026-`);
    expect(items).toHaveLength(2001);
    expect(skips).toEqual([
      "1: not JSON",
      '3: invalid time: "soon"',
      "4: no action",
      "5: no time",
      "2006: no time",
      "2007: not JSON: the last line is cut off",
    ]);
  });

  test("of gzip that is cut off", async () => {
    const { items, skips } = await readAll(gzipSync(ndjson(rows(5000))).subarray(0, -1000));
    expect(items.length).toBeGreaterThan(3000);
    expect(skips.at(-1)).toBe(`${items.length + 2}: the gzip data is cut off: reading stopped`);
  });

  test.each(["", "\n\n", "[]", '{"items":[]}', "time,action,vault\n", "\ufeff", gzipSync("")])(
    "%j has none",
    async (content) => {
      expect(await readAll(content)).toMatchObject({ items: [], skips: [], columns: {} });
    },
  );

  test("of another kind of file there is none", async () => {
    await expect(readAll("word\n".repeat(200_000))).rejects.toMatchObject({
      code: "invalid-input",
      message: expect.stringMatching(
        /^items: none of its first 1[0-4]\d{4} lines is an audit item$/,
      ) as unknown,
      facts: { hint: "read as ndjson; line 1: not JSON" },
    });
  });

  test("columns may be given", async () => {
    const given = rows(3).map(({ time, action, vault, id }) => ({
      a: time,
      b: `x ${action}`,
      c: vault,
      d: id,
      e: "v",
    }));
    const { items } = await readAll(ndjson(given), { map: { vault: "e", ref: "d" } });
    expect(items[1]).toMatchObject({ vault: "v", externalRef: uuid(1) });
  });
});

describe("the same items in every form", () => {
  const cell = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.stringMatching(/^[=+\-@'",;\t \n\r|a]{0,8}$/),
    fc.constantFrom("\u001b[31m", "__proto__", "null", "🔑", "NaN"),
  );
  // CSV cannot tell defused cells from similar text, nor empty cells from absent ones; it ignores outer space and kinds of line breaks.
  const text = cell.map(
    (value) =>
      value
        .replaceAll(/\r\n?/g, "\n")
        .trim()
        .replace(/^'+(?=[=+\-@\t])/, "") || null,
  );
  const item: fc.Arbitrary<AuditItem> = fc.record({
    id: fc.uuid(),
    time: fc
      .date({ min: new Date("2020-01-01"), max: new Date("2030-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString()),
    action: fc.constantFrom(
      "READ_VAULT",
      "ACKNOWLEDGE_READ_VAULT",
      "UPDATE_VAULT",
      "API_KEY_CHECK",
    ),
    outcome: fc.constantFrom("SUCCESS", "FAILURE"),
    vaultUuid: fc.constantFrom(uuid(1), uuid(2), uuid(3)),
    applicationUuid: fc.constant(uuid(9)),
    externalRef: text,
    ipAddress: fc.option(fc.ipV4()),
    endpoint: fc.option(
      fc.constant(`POST /vaultsvc/v1-2/vault/generic/offline/${uuid(1)}/get-start`),
    ),
    description: text.map((value) => value ?? "x"),
  });

  test("NDJSON, arrays, wrappers, CSV, gzip, UTF-16", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 200 }),
        async (items, size) => {
          const expected = items.map((one) => ({
            input: 0,
            time: Date.parse(one.time),
            action: one.action,
            vault: one.vaultUuid,
            outcome: one.outcome,
            description: one.description,
            application: one.applicationUuid,
            address: one.ipAddress,
            endpoint: one.endpoint,
            externalRef: one.externalRef,
            id: one.id,
          }));
          // A column that is empty in the sample cannot be found by its values.
          const map = {
            time: "time",
            action: "action",
            vault: "vaultUuid",
            description: "description",
            id: "id",
          };
          const forms: [string, string | Uint8Array][] = [
            ["NDJSON", auditToNdjson(items)],
            ["an array", JSON.stringify(items)],
            ["an indented array", JSON.stringify(items, null, 2)],
            ["a wrapper", JSON.stringify({ total: 1, items })],
            ["CSV", auditToCsv(items)],
            ["gzip", gzipSync(auditToNdjson(items))],
            ["UTF-16", Buffer.from(`\ufeff${auditToCsv(items)}`, "utf16le")],
          ];
          for (const [form, content] of forms) {
            const read = await readAll(content, { map, size });
            expect(read.skips, form).toEqual([]);
            expect(
              read.items.map(({ line: _line, ...rest }) => rest),
              form,
            ).toEqual(expected);
          }
        },
      ),
      { seed: 20_261_120, numRuns: runs(60) },
    );
  });
});

describe("whatever the bytes are", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .constantFrom(
        "[",
        "]",
        "{",
        "}",
        '"',
        "\\",
        ",",
        ";",
        "\t",
        "\n",
        "\r\n",
        ":",
        "null",
        '{"time":"2026-11-20T14:02:11Z","action":"READ_VAULT",',
      )
      .map((text) => Buffer.from(text)),
    fc
      .constantFrom(
        `"vault":"${vault}"}`,
        "[{",
        '{"a":[{',
        "time,action,vault\n",
        '""',
        "\u2028",
        "1e999",
        "-",
        "\\ud800",
      )
      .map((text) => Buffer.from(text)),
    fc
      .constantFrom([0x1f, 0x8b, 8, 0], [0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff], [0])
      .map((bytes) => Buffer.from(bytes)),
  );

  test("nothing but a clear refusal is raised", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 40 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 50 }),
        async (pieces, zip, size) => {
          const bytes = Buffer.concat(pieces);
          try {
            const { items, skips } = await readAll(zip ? gzipSync(bytes) : bytes, { size });
            for (const { line, time } of items)
              expect(line > 0 && Number.isInteger(time)).toBe(true);
            for (const skip of skips) expect(skip).toMatch(/^[1-9]\d*: [\u0020-\u007e…]+$/);
          } catch (error) {
            expect(error).toBeInstanceOf(VaultError);
            expect(error).toMatchObject({ code: "invalid-input" });
          }
        },
      ),
      { seed: 20_261_120, numRuns: runs(3000) },
    );
  });
});
