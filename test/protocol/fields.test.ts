import * as fc from "fast-check";
import * as z from "zod/mini";
import { describe, expect, test } from "vitest";
import {
  anyInteger,
  base64,
  creditCard,
  dateTime,
  device,
  externalRef,
  instant,
  opaque,
  passesLuhn,
  positiveLong,
  uuid,
} from "../../src/protocol/fields.ts";
import { characters } from "../../src/protocol/limits.ts";
import { validate } from "../../src/protocol/validate.ts";
import { creditCard as card, device as goodDevice, spoil } from "../support/examples.ts";

const accepts = (schema: z.core.$ZodType, value: unknown): boolean => validate(schema, value).ok;

/** A table for each format: what it accepts, and what it refuses. */
const formats: [string, z.core.$ZodType, unknown[], unknown[]][] = [
  [
    "uuid: 36 characters, hexadecimal and dashes",
    uuid,
    [
      "123e4567-e89b-42d3-a456-426614174000",
      "ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB",
      "0".repeat(36),
    ],
    [
      [
        "",
        "0".repeat(35),
        "0".repeat(37),
        `${"0".repeat(35)}g`,
        `${"0".repeat(35)} `,
        `${"0".repeat(36)}\n`,
      ],
      ["{123e4567-e89b-42d3-a456-42661417400}", 36, null, undefined, {}],
    ].flat(),
  ],
  [
    "externalRef: 1 to 64 Unicode characters",
    externalRef,
    ["x", "x".repeat(64), "é".repeat(64), "🛒".repeat(64), " ", "注文 5"],
    ["", "x".repeat(65), "🛒".repeat(65), "\uD83D", "a\uDED2b", 1, null, undefined],
  ],
  [
    "base64",
    base64,
    ["QQ==", "QUI=", "QUJD", "++//", "A".repeat(4000)],
    [
      "",
      "Q",
      "QQ",
      "QQ=",
      "QQ===",
      "QUJD=",
      "QU=D",
      "-_-_",
      "QUJD\n",
      "QU JD",
      "=",
      "====",
      1,
      null,
    ],
  ],
  ["opaque: not empty", opaque, ["x", " ", "🔑"], ["", 1, null, undefined, {}]],
  [
    "date-time of ISO 8601",
    dateTime,
    [
      [
        "2026-11-20T14:02:11Z",
        "2026-11-20T14:02Z",
        "2026-11-20T14:02:11.123456789Z",
        "2026-11-20T14:02:11,5Z",
      ],
      [
        "2026-11-20T14:02:11",
        "2026-11-20T14:02:11+01:00",
        "2026-11-20T14:02:11-0330",
        "2026-11-20T14:02:11+01",
      ],
      [
        "2024-02-29T00:00:00Z",
        "2000-02-29T00:00:00Z",
        "2016-12-31T23:59:60Z",
        "2026-12-31T23:59:59+14:00",
        "0999-01-01T00:00:00Z",
      ],
    ].flat(),
    [
      [
        "",
        "2026-11-20",
        "14:02:11Z",
        "2026-11-20 14:02:11Z",
        "2026-11-20T14Z",
        "2026-1-2T3:04:05Z",
        "20261120T140211Z",
      ],
      [
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-04-31T00:00:00Z",
      ],
      [
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T23:60:00Z",
        "2026-11-20T23:59:61Z",
      ],
      [
        "2026-11-20T14:02:11+24:00",
        "2026-11-20T14:02:11+01:60",
        "2026-11-20T14:02:11.Z",
        "2026-11-20T14:02.5Z",
      ],
      [
        "2026-11-20T14:02:11Z\n",
        "x2026-11-20T14:02:11Z",
        "token 5",
        1_795_183_331_000,
        null,
        undefined,
      ],
    ].flat(),
  ],
  [
    "usesRemaining: a whole number of at least 1",
    positiveLong,
    [1, 2, 2 ** 31, Number.MAX_SAFE_INTEGER],
    [0, -1, 1.5, 2 ** 53, "1", null, NaN],
  ],
  [
    "timeToExpire: a whole number",
    anyInteger,
    [0, -1, 300, 2 ** 40],
    [1.5, Infinity, NaN, "300", null],
  ],
];

describe.each(formats)("%s", (_, schema, right, wrong) => {
  test.each(right.map((value) => [value]))("takes %j", (value) =>
    expect(accepts(schema, value)).toBe(true),
  );
  test.each(wrong.map((value) => [value]))("refuses %j", (value) =>
    expect(accepts(schema, value)).toBe(false),
  );
});

/** Objects with one invalid field each. */
function fieldTable(
  schema: z.core.$ZodType,
  good: object,
  table: [string, unknown[], unknown[]][],
) {
  test("takes the example", () =>
    expect(validate(schema, good)).toEqual({ ok: true, violations: [], value: good }));
  test.each(table.flatMap(([path, right]) => right.map((value) => [path, value])))(
    "%s takes %j",
    (path, value) => {
      expect(accepts(schema, spoil(good, String(path), value))).toBe(true);
    },
  );
  test.each(table.flatMap(([path, , wrong]) => wrong.map((value) => [path, value])))(
    "%s refuses %j",
    (path, value) => {
      const { violations } = validate(schema, spoil(good, String(path), value));
      expect(violations.map((v) => v.path)).toEqual([path]);
    },
  );
  test.each([null, undefined, "text", 1, []].map((value) => [value]))("refuses %j", (value) =>
    expect(accepts(schema, value)).toBe(false),
  );
}

const named = ["ab", "Firefox 128", "a-b_c D9", "--"];
const notNamed = ["", "a", "a.b", "Müller", "ab\n", "🦊🦊", 12, null, undefined];

describe("device", () => {
  fieldTable(device, goodDevice, [
    ["browserType", named, notNamed],
    ["osType", named, notNamed],
    [
      "browserVersion",
      ["12", "1.", "128.0.1", ".."],
      ["", "1", "128.0b", "1 2", "v1", 128, null, undefined],
    ],
    ["fonts", [["a"], ["a", "b"], [""]], [[], "Arial", null, undefined, {}]],
  ]);

  test("a font that is no text is named", () => {
    const checked = validate(device, { ...goodDevice, fonts: ["Arial", 5] });
    expect(checked).toEqual({
      ok: false,
      violations: [
        { path: "fonts.1", rule: 'must be text, such as "Arial" (is a number, not a string)' },
      ],
    });
  });
});

describe("creditCard", () => {
  fieldTable(creditCard, card, [
    ["expiryMonth", [1, 12], [0, 13, -1, 1.5, "4", null, undefined]],
    ["expiryYear", [1000, 2029, 9999], [999, 10_000, 29, -2029, 2029.5, "2029", null, undefined]],
    [
      "name",
      ["", "x".repeat(30), "é".repeat(30), "🛒".repeat(30)],
      ["x".repeat(31), "🛒".repeat(31), 1, null, undefined],
    ],
    [
      "number",
      [
        "00000000",
        "12345674",
        "4111111111111111",
        "378282246310005",
        "6304000000000000000",
        "0000000000000000000",
      ],
      [
        [
          "",
          "0000000",
          "1234567",
          "00000000000000000000",
          "4111111111111112",
          "4111 1111 1111 1111",
          "4111-1111-1111-1111",
        ],
        [
          "٤١١١١١١١١١١١١١١١",
          "4111111111111111\n",
          "4111111111111111a",
          4111111111111111,
          null,
          undefined,
        ],
      ].flat(),
    ],
  ]);
});

describe("Luhn", () => {
  test("exactly one check digit fits", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9]{7,18}$/), (digits) => {
        const fitting = Array.from({ length: 10 }, (_, check) =>
          passesLuhn(`${digits}${check}`),
        ).filter(Boolean);
        return fitting.length === 1;
      }),
    );
  });

  test("any single digit that is wrong is found", () => {
    const number = "4111111111111111";
    for (let i = 0; i < number.length; i += 1) {
      for (let d = 0; d < 10; d += 1) {
        const changed = `${number.slice(0, i)}${d}${number.slice(i + 1)}`;
        expect(passesLuhn(changed)).toBe(changed === number);
      }
    }
  });
});

test.each([
  ["", 0],
  ["abc", 3],
  ["é", 1],
  ["e\u0301", 2],
  ["🛒", 1],
  ["👩‍🚀", 3],
])("%j has %i characters", (text, count) => expect(characters(text)).toBe(count));

test.each([
  ["2026-11-20T14:02:11Z", "2026-11-20T14:02:11.000Z"],
  ["2026-11-20T14:02Z", "2026-11-20T14:02:00.000Z"],
  ["2026-11-20T14:02:11", "2026-11-20T14:02:11.000Z"],
  ["2026-11-20T14:02:11,5Z", "2026-11-20T14:02:11.500Z"],
  ["2026-11-20T14:02:11+01", "2026-11-20T13:02:11.000Z"],
  ["2026-11-20T14:02:11-0330", "2026-11-20T17:32:11.000Z"],
  ["2026-11-20T00:30:00+01:00", "2026-11-19T23:30:00.000Z"],
  ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"],
])("%s is the instant %s", (value, expected) =>
  expect(new Date(instant(value) ?? NaN).toISOString()).toBe(expected),
);

test.each(["", "token 5", "2026-11-20", "Fri, 20 Nov 2026 10:00:05 GMT", "2026-02-30T00:00:00Z"])(
  "%j is no instant",
  (value) => {
    expect(instant(value)).toBeNull();
  },
);

test("a rule says what is missing, what is wrong, and shows a right value", () => {
  const checked = validate(creditCard, { expiryMonth: 13, name: "x", number: "4111111111111112" });
  expect(checked).toEqual({
    ok: false,
    violations: [
      { path: "expiryMonth", rule: "must be a month, 1 to 12" },
      { path: "expiryYear", rule: "is missing: must be a year of 4 digits, such as 2029" },
      {
        path: "number",
        rule: "must be 8 to 19 digits that pass the Luhn check, such as 4111111111111111",
      },
    ],
  });
  expect(validate(uuid, "x")).toMatchObject({
    violations: [{ path: "", rule: expect.stringContaining("such as 123e4567-") as string }],
  });
});

test("a schema that names no rule has one for a person", () => {
  const schema = z.object({ label: z.string(), either: z.union([z.number(), z.boolean()]) });
  expect(validate(schema, [])).toEqual({
    ok: false,
    violations: [{ path: "", rule: "must be an object (is a list, not an object)" }],
  });
  expect(validate(schema, { label: 3, either: "x" })).toEqual({
    ok: false,
    violations: [
      { path: "label", rule: "must be a string (is a number, not a string)" },
      { path: "either", rule: "is not valid" },
    ],
  });
});
