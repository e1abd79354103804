import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../support/campaign.ts";
import { line, replayText, vaultUuid, withoutSecondReading } from "./support.ts";
import type { Replayed } from "./support.ts";

/** Returns the part of a result that does not depend on the reader. */
function told({ result, reports }: Replayed) {
  const { summary } = result;
  return { reports: withoutSecondReading(reports), summary: { ...summary, inputs: [] } };
}

async function expectSame(text: string | Uint8Array): Promise<ReturnType<typeof told>> {
  const [fast, general] = [
    told(await replayText(text)),
    told(await replayText(text, {}, "stream")),
  ];
  expect(fast).toEqual(general);
  return fast;
}

const value = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom(
    'a "quoted" one',
    "back\\slash",
    "ends with \\",
    "",
    "x\u2028y",
    "{}[],:",
    'x","action":"READ_VAULT',
  ),
  fc.constant(null),
  fc.integer(),
  fc.boolean(),
);

const item = fc
  .record({
    at: fc.integer({ min: 0, max: 300 }),
    vault: fc.integer({ min: 1, max: 4 }),
    action: fc.constantFrom(
      "READ_VAULT",
      "ACKNOWLEDGE_READ_VAULT",
      "UPDATE_VAULT",
      "CREATE_VAULT",
      "DELETE_VAULT",
      "SOMETHING_ELSE",
      "START_USE_VAULT",
    ),
    outcome: fc.constantFrom("SUCCESS", "FAILURE", "", "ok", null, true, false, 200, 1.5e3),
    description: value,
    extra: value,
    isUpper: fc.boolean(),
    order: fc.constantFrom(0, 1, 2),
    spaces: fc.boolean(),
    form: fc.constantFrom("iso", "offset", "number"),
  })
  .map(({ at, vault, action, outcome, description, extra, isUpper, order, spaces, form }) => {
    const whole = JSON.parse(line(at, action, { outcome, description })) as Record<string, unknown>;
    whole["vaultUuid"] = isUpper ? vaultUuid(vault).toUpperCase() : vaultUuid(vault);
    if (form === "offset") whole["time"] = String(whole["time"]).replace("Z", "+00:00");
    if (form === "number") whole["time"] = Date.parse(String(whole["time"]));
    const entries = Object.entries({
      ...whole,
      nested: { deep: [extra, { list: 1 }], vaultUuid: "no" },
      extra,
    });
    const turned =
      order === 0
        ? entries
        : order === 1
          ? entries.toReversed()
          : [...entries.slice(3), ...entries.slice(0, 3)];
    const text = JSON.stringify(Object.fromEntries(turned));
    if (description === null) return text.replace("_VAULT", "\\u005fVAULT");
    return spaces ? text.replaceAll('":', '" : ') : text;
  });

const broken = fc.constantFrom(
  `{"id":"i","time":"2026-11-20T12:00:09Z","action":"READ_VAULT","outcome":"a\tb","vaultUuid":"${vaultUuid(1)}"}`,
  `{"id":"i","time":"2026-11-20T12:00:09Z","action":"READ_VAULT","outcome":01,"vaultUuid":"${vaultUuid(1)}"}`,
  `{"id":"i","time":"2026-11-20T12:00:09Z","action":"READ_VAULT","outcome":tru,"vaultUuid":"${vaultUuid(1)}"}`,
  `{"id":"i","time":"2026-11-20T12:00:09Z","action":"","outcome":true,"vaultUuid":"${vaultUuid(1)}"}`,

  "",
  "  ",
  "[1,2]",
  "null",
  "12",
  "{",
  '{"id":"x"}',
  "no JSON at all",
  '{"time":"2026-11-20T12:00:00Z","action":7}',
);

describe("NDJSON in a file is read from its bytes, and says the same as by the general way", () => {
  it("whatever its lines are like", { timeout: 600_000 }, async () => {
    // Plain first lines, by which columns are recognized.
    const start = Array.from({ length: 5 }, (_, index) =>
      line(index, "READ_VAULT", { vaultUuid: vaultUuid(9), description: "read started" }),
    );
    const lines = fc.array(
      fc.oneof({ weight: 9, arbitrary: item }, { weight: 1, arbitrary: broken }),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        async (some, newline, ends) => {
          await expectSame([...start, ...some].join(newline) + (ends ? newline : ""));
        },
      ),
      { numRuns: runs(40), seed: 4 },
    );
  });

  it("lines that are longer than what is read at once", async () => {
    const long = "x".repeat(700_000);
    const lines = [
      line(0, "CREATE_VAULT"),
      line(1, "READ_VAULT", { description: long }),
      line(2, "ACKNOWLEDGE_READ_VAULT"),
    ];
    const { reports, summary } = await expectSame(`${lines.join("\n")}\n`);
    expect(reports).toMatchObject([{ verdict: "ok", items: 3 }]);
    expect(summary.skippedLines).toBe(0);
  });

  it("lines that are too long to be one are left out by number, at the end of the file too", async () => {
    const tooLong = `{"id":"${"x".repeat(3_000_000)}"}`;
    const lines = [
      line(0, "CREATE_VAULT"),
      tooLong,
      line(1, "READ_VAULT"),
      line(2, "ACKNOWLEDGE_READ_VAULT"),
      tooLong,
    ];
    const { reports, summary } = await expectSame(lines.join("\n"));
    expect(reports).toMatchObject([{ verdict: "ok", items: 3 }]);
    expect(summary.skipped.map(({ line: number, reason }) => [number, reason])).toEqual([
      [2, "longer than 1 MiB"],
      [5, "longer than 1 MiB"],
    ]);
  });

  it.each<[string, (item: Record<string, unknown>) => string]>([
    ["a list as outcome", (item) => JSON.stringify({ ...item, outcome: ["FAILURE"] })],
    ["a list as id", (item) => JSON.stringify({ ...item, id: [item["action"], "a"] })],
    [
      "an object as description",
      (item) => JSON.stringify({ ...item, description: { text: "bad credentials" } }),
    ],
    ["an empty list as vault", (item) => JSON.stringify({ ...item, vaultUuid: [] })],
    [
      "an outcome twice, of which the last is null",
      (item) => JSON.stringify(item).replace(/}$/, ',"outcome":null}'),
    ],
    [
      "an outcome twice, of which the last is a list",
      (item) => JSON.stringify(item).replace(/}$/, ',"outcome":["x"]}'),
    ],
    [
      "an object twice",
      (item) =>
        JSON.stringify({ ...item, more: { id: 1 } }).replace(/}$/, ',"more":{"action":"x"}}'),
    ],
    ["an id twice", (item) => JSON.stringify(item).replace("{", '{"id":"first",')],
  ])("lines that are alike, with %s", async (_, write) => {
    const plain = [
      line(0, "READ_VAULT"),
      line(1, "READ_VAULT", { outcome: "FAILURE" }),
      line(1, "CREATE_VAULT", { description: "x" }),
    ];
    const lines = Array.from({ length: 8 }, (_item, at) =>
      write(
        JSON.parse(line(5 + (at >> 1), "READ_VAULT", { outcome: "FAILURE" })) as Record<
          string,
          unknown
        >,
      ),
    );
    await expectSame(`${[...plain, ...lines].join("\n")}\n`);
  });

  it("lines without an id are told apart by what stands in them, not by how they end", async () => {
    const plain = line(3, "READ_VAULT", { id: undefined });
    const told = (more: Record<string, unknown>): string =>
      JSON.stringify({ ...(JSON.parse(plain) as object), ...more });
    const [empty, none] = [told({ ref: {} }), told({ ref: null })];
    const start = [
      line(0, "CREATE_VAULT"),
      line(1, "READ_VAULT"),
      line(2, "ACKNOWLEDGE_READ_VAULT"),
    ].join("\n");
    const { summary } = await expectSame(
      `${start}\n${plain}\n${plain}\r\n${empty}\n${none}\n${none}\r\n${plain.replace(":", ": ")}\n${empty}`,
    );
    expect(summary).toMatchObject({ items: 10, duplicates: 0, skippedLines: 0 });
  });

  it("many lines, over many pieces of the file", async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) =>
      line(index, index % 2 === 0 ? "READ_VAULT" : "ACKNOWLEDGE_READ_VAULT", {
        vaultUuid: vaultUuid(index % 7),
        ref: "r".repeat(index % 301),
        ...(index % 97 === 0 ? { ref: 'with "quotes"' } : {}),
      }),
    );
    const { summary } = await expectSame(`${lines.join("\n")}\n`);
    expect(summary).toMatchObject({ items: 20_000, skippedLines: 0 });
  });

  it("a cut-off last line is told as such", async () => {
    const { summary } = await expectSame(
      `${line(0, "CREATE_VAULT")}\n${line(1, "READ_VAULT").slice(0, -20)}`,
    );
    expect(summary.skipped).toEqual([
      { input: "items", line: 2, reason: "not JSON: the last line is cut off" },
    ]);
  });
});
