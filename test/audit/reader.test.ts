import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VaultError } from "../../src/errors.ts";
import { contentHashOf, viewOf } from "../../src/audit/read/bytes.ts";
import { Classifier } from "../../src/audit/meaning/classifier.ts";
import { TimeReader } from "../../src/audit/columns/times.ts";
import { VaultTable } from "../../src/audit/fold/vault-table.ts";
import type { Entry, Item } from "../../src/audit/read/item.ts";
import { roles } from "../../src/audit/read/item.ts";
import { entryOf, ItemReader, itemOf } from "../../src/audit/read/reader.ts";
import { recognizeForm } from "../../src/audit/read/sniff.ts";
import type { Columns } from "../../src/documents/audit.ts";
import { auditToCsv } from "../../src/sandbox/control/audit-export.ts";
import { runs } from "../support/campaign.ts";
import { line, readAll, uuid, vaultUuid } from "./support.ts";

const column = (name: string) => ({ name, by: "name" as const });
const names = {
  id: "id",
  time: "time",
  action: "action",
  outcome: "outcome",
  vault: "vaultUuid",
  description: "description",
};
const columnsOf = (by: Record<string, string>): Columns =>
  Object.fromEntries(Object.entries(by).map(([role, name]) => [role, column(name)]));

/** Reads a content, with the reader of bytes or by parsing each record whole. */
function read(content: Buffer, columns: Columns, isFast: boolean, size = 100_000) {
  const layout = {
    index: 0,
    columns,
    times: new TimeReader(),
    vaults: new VaultTable(1000),
    classifier: new Classifier(),
  };
  const entries: Entry[] = [];
  const skips: string[] = [];
  let fast = 0;
  const ignore = (): void => undefined;
  const form = recognizeForm(content.subarray(0, 65_536), content.length < 65_536);
  const cutter = form.cutter({
    offset: 0,
    reader: isFast ? new ItemReader(layout, form) : undefined,
    add: (entry) => {
      fast += 1;
      entries.push({ ...entry });
    },
    record: ({ line, fields, given, from, to }) => {
      const item = itemOf(fields, layout);
      const place = { line, offset: from, length: to - from };
      if (typeof item === "string") skips.push(`${line}: ${item}`);
      else entries.push(entryOf(item, place, contentHashOf(given, from, to), layout));
    },
    skip: (number, reason) => void skips.push(`${number}: ${reason}`),
    unread: ignore,
    cut: ignore,
    passOver: ignore,
  });
  let from = 0;
  for (
    let to = 0;
    to < content.length;
    from = cutter.take(viewOf(content), from, to, to === content.length)
  )
    to = Math.min(to + size, content.length);
  const named = entries.map((entry) => ({
    ...entry,
    vault: entry.vault < 0 ? null : layout.vaults.uuid(entry.vault),
  }));
  return { fast, told: { entries: named, skips, words: layout.classifier.unknowns } };
}

/** Expects the same from both, and returns how many entries were read from bytes. */
function expectSame(
  content: string | Buffer,
  by: Record<string, string> = names,
  size?: number,
): number {
  const bytes = Buffer.from(content);
  const [fast, whole] = [true, false].map((isFast) => read(bytes, columnsOf(by), isFast, size));
  expect(fast?.told).toEqual(whole?.told);
  return fast?.fast ?? 0;
}

const value = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom(
    'a "quoted" one',
    "back\\slash",
    "ends with \\",
    "",
    "x\u2028y",
    "{}[],:",
    'x","action":"READ_VAULT',
    "'=1",
    " x ",
  ),
  fc.constantFrom<unknown>(null, true, false, 12, -1.5e3, 200, [1, { action: "no" }], {
    vaultUuid: "no",
    deep: { list: [] },
  }),
);
const record = fc.record({
  id: fc.oneof(value, fc.uuid()),
  time: fc.constantFrom<unknown>(
    "2026-11-20T14:02:11.123Z",
    "2026-11-20T14:02:11+02:00",
    "2026-11-20 14:02",
    1_790_000_000_123,
    "soon",
    null,
  ),
  action: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom<unknown>(
        "READ_VAULT",
        "ACKNOWLEDGE_READ_VAULT",
        "START_USE_VAULT",
      ),
    },
    value,
  ),
  outcome: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<unknown>("SUCCESS", "FAILURE", true, 200) },
    value,
  ),
  vaultUuid: fc.constantFrom<unknown>(
    vaultUuid(1),
    vaultUuid(2).toUpperCase(),
    `{${vaultUuid(3)}}`,
    `/vault/generic/offline/${vaultUuid(4)}/get-start`,
    "none",
    null,
  ),
  description: fc.oneof(fc.constant("bad credentials"), value),
  extra: value,
  endpoint: fc.constantFrom<unknown>(`POST /vault/${vaultUuid(5)}/get-start`, null),
});
const cell = (one: unknown): string =>
  typeof one === "string" ? one : one === null ? "" : JSON.stringify(one);
const csv = (rows: readonly object[], quote: (text: string) => string): string =>
  rows
    .map(
      (row) =>
        `${Object.values(row)
          .map((one) => quote(cell(one)))
          .join(",")}\n`,
    )
    .join("");
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const plainLine = `${line(0, "READ_VAULT", { description: "d" })}\n`;

describe("the reader of bytes makes of a record what parsing it whole makes of it", () => {
  test("whatever it is like, in every form, with another byte anywhere, wherever a block ends", () => {
    let fast = 0;
    const damage = fc.tuple(
      fc.nat(3000),
      fc.constantFrom("", '"', "\\", ",", "}", "\t", "0", "x", " ", "\r", "{", "\n", "é"),
      fc.nat(2),
    );
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 12 }),
        fc.array(damage, { maxLength: 2 }),
        fc.nat(400),
        (rows, damages, size) => {
          const head = `${Object.keys(rows[0] ?? {}).join(",")}\n`;
          const lines = rows.map((row) => JSON.stringify(row));
          const forms = [
            plainLine + lines.join("\n"),
            plainLine + lines.map((text) => `${text.replaceAll('":', '" : ')}\r\n`).join(""),
            `[${plainLine},${lines.join(",")}]`,
            JSON.stringify({ items: [JSON.parse(plainLine), ...rows] }, null, 2),
            head + csv(rows, quoted),
            head + csv(rows, (text) => (/[",\r\n]/.test(text) ? quoted(text) : text)),
          ];
          for (const form of forms) {
            let text = form;
            for (const [at, by, length] of damages)
              if (at < text.length && at > plainLine.length)
                text = text.slice(0, at) + by + text.slice(at + length);
            fast += expectSame(text, names, 1 + size * 3);
            expectSame(text, { ...names, endpoint: "endpoint", ref: "extra" });
          }
        },
      ),
      { seed: 7, numRuns: runs(300) },
    );
    expect(fast).toBeGreaterThan(300);
  });

  test.each<[string, string, Record<string, string>, number?]>([
    [
      "nested columns",
      '{"event":{"at":"2026-11-20T14:02:11Z","what":{"action":"READ_VAULT"}},"vault.uuid":"u","event.x":1}',
      { time: "event.at", action: "event.what.action", vault: "vault.uuid" },
      0,
    ],
    [
      "nested columns with a uuid",
      `{"event":{"at":"2026-11-20T14:02:11Z","what":{"action":"READ_VAULT"}},"vault":{"uuid":"${uuid(1)}"}}`,
      { time: "event.at", action: "event.what.action", vault: "vault.uuid" },
      1,
    ],
    [
      "a column of two roles",
      plainLine,
      { ...names, description: "outcome", endpoint: "action" },
      1,
    ],
    ["a column twice", plainLine.replace("{", '{"outcome":"FAILURE",'), names, 0],
    [
      "an escape in a description",
      plainLine.replace('"d"', String.raw`"bad \"credentials\""`),
      names,
      1,
    ],
    ["an escape elsewhere", plainLine.replace("READ_VAULT", String.raw`READ\u005fVAULT`), names, 0],
    [
      "a vault in the endpoint",
      `{"time":"2026-11-20T14:02:11Z","action":"x","endpoint":"POST /vault/${uuid(3)}/get-start"}`,
      { ...names, endpoint: "endpoint" },
      1,
    ],
  ])("%s", (_what, text, by, fast = 1) => {
    for (const content of [`${text.trim()}\n`, `[${line(1, "READ_VAULT")},${text.trim()}]`]) {
      const other = content.startsWith("[") && by === names ? 1 : 0;
      const count = expectSame(content, by);
      if (!content.startsWith("[")) expect(count - other).toBe(fast);
    }
  });

  test("many actions, outcomes and descriptions", () => {
    const lines = Array.from({ length: 4000 }, (_, n) =>
      line(n, `action ${n % 1500}`, {
        outcome: `outcome ${n}`,
        description: `rate limit ${n}`.repeat(n % 40),
      }),
    );
    expect(expectSame(`${lines.join("\n")}\n`)).toBe(4000);
  });
});

const row = (n: number, time = Date.UTC(2026, 10, 20) + n * 1000): Record<string, string> => ({
  id: uuid(n),
  time: new Date(time).toISOString(),
  action: "READ_VAULT",
  vault: uuid(1, "7"),
});
const ndjson = (rows: readonly object[]): string =>
  rows.map((one) => `${JSON.stringify(one)}\n`).join("");

describe("an input", () => {
  test("has the same items in every form, each of which can be read again", async () => {
    const items = Array.from({ length: 3000 }, (_, n) => ({
      id: uuid(n),
      time: row(n)["time"],
      action: "READ_VAULT",
      outcome: "SUCCESS",
      vaultUuid: uuid(n % 7),
      applicationUuid: uuid(9),
      externalRef: `r-${n % 5}`,
      ipAddress: "10.0.0.1",
      endpoint: "POST /x",
      description: n % 9 === 0 ? 'a "b",\nc' : "started",
    }));
    const expected = (await readAll(ndjson(items))).items.map(({ line: _line, ...rest }) => rest);
    expect(expected).toHaveLength(3000);
    const utf16 = Buffer.from(`\ufeff${auditToCsv(items as never)}`, "utf16le");
    const wrapped = items.map((one) => ({ log: `${JSON.stringify(one)}\n`, stream: "stdout" }));
    const bytes = items.map((one) => ({
      MESSAGE: [...Buffer.from(JSON.stringify(one))],
      _HOSTNAME: "h",
    }));
    for (const content of [
      JSON.stringify(items),
      JSON.stringify({ total: 1, items }, null, 2),
      auditToCsv(items as never),
      utf16,
      gzipSync(ndjson(items)),
      ndjson(wrapped),
      ndjson(bytes),
    ]) {
      const { items: found, skips } = await readAll(content, { size: 10_000 });
      expect(skips).toEqual([]);
      expect(found.map(({ line: _line, ...rest }) => rest)).toEqual(expected);
    }
  });

  test("tells its order, what it passed over and what it skipped", async () => {
    const rows = Array.from({ length: 2000 }, (_, n) => row(n));
    const lines = ndjson([
      row(0),
      { ...row(1), time: "soon" },
      { ...row(2), action: "" },
      { x: 1 },
      ...rows,
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
    const reversed = await readAll(ndjson(rows.toReversed()));
    expect([
      reversed.source.report.order,
      reversed.items.map(({ line }) => line).slice(0, 2),
    ]).toEqual(["newest-first", [2000, 1999]]);
    const vaults = [{ uuid: uuid(1, "7"), created: "2026-01-01T00:00:00Z", label: "x" }];
    const { source, ...told } = await readAll(
      JSON.stringify({
        links: [{ rel: "self" }],
        vaults,
        items: rows.slice(0, 9),
        failed: [{ ...row(1), time: "soon" }],
      }),
    );
    expect(source.warnings).toEqual([
      "items: what looks like no audit item was passed over: 1 in links, 1 in vaults.",
    ]);
    expect([told.items.length, told.skips]).toEqual([9, ['12: invalid time: "soon"']]);
  });

  test("of a row without its delimiters leaves the vault that it names in doubt", async () => {
    const rows = [row(1), row(2)].map((one) => Object.values({ ...one, note: "x" }).join(","));
    const { skips } = await readAll(
      `id,time,action,vault,note\n${rows.join("\n")}\n${rows[0]?.replace("READ_VAULT,", "READ_VAULT ")}\n`,
    );
    expect(skips).toEqual(["4: 4 cells where the header has 5"]);
  });

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
        `"vault":"${uuid(1)}"}`,
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
  test("of any bytes raises nothing but a clear refusal", async () => {
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
      { seed: 20_261_120, numRuns: runs(2000) },
    );
  });
});

describe("an item", () => {
  const columns = columnsOf(Object.fromEntries(roles.map((role) => [role, role])));
  const good = { time: "2026-11-20T14:02:11Z", action: "READ_VAULT" };
  const itemWith = (values: object) =>
    itemOf(new Map(Object.entries(values) as [string, string][]), {
      columns,
      times: new TimeReader(),
    });

  test.each<[object, unknown]>([
    [{ action: "READ_VAULT" }, "no time"],
    [{ time: good.time }, "no action"],
    [
      { ...good, time: "\u001b]0;x\u0007\u009b\u202e" },
      String.raw`invalid time: "\u001b]0;x\u0007\u009b\u202e"`,
    ],
    [{ ...good, time: "x".repeat(1_000_000) }, `invalid time: "${"x".repeat(39)}…"`],
    [good, { vault: undefined, time: Date.UTC(2026, 10, 20, 14, 2, 11) }],
    [
      { ...good, vault: uuid(1).toUpperCase(), ip: "i", ref: "r" },
      { vault: uuid(1), address: "i", externalRef: "r" },
    ],
    [
      { ...good, vault: `POST /vault/offline/${uuid(7).toUpperCase()}/get-start` },
      { vault: uuid(7) },
    ],
    [{ ...good, vault: `/vault/generic/offline/${uuid(7)}0/get-start` }, { vault: undefined }],
    [{ ...good, vault: " Wallet 7 " }, { vault: "wallet 7" }],
  ])("%#", (values, expected) => {
    if (typeof expected === "string") expect(itemWith(values)).toBe(expected);
    else
      expect({ vault: undefined, ...(itemWith(values) as Item) }).toMatchObject(expected as object);
  });
});
