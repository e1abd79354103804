import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Redactor, jsonText, printable } from "../../src/terminal/redactor.ts";
import { runs } from "../support/campaign.ts";

const mark = "«redacted»";
const secret = 'Zoë "quoted" /slash\\ +plus=\nline 🔑';

function redactorOf(...secrets: string[]) {
  const redactor = new Redactor();
  for (const text of secrets) redactor.add(text);
  return redactor;
}

/** As credentials are, with + and /; and one whose own base64 has these and is padded. */
const credentials = ["3q2+7/8+vu8/Pj4+Pw==", "ab?>c~~", "+/+/"];

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const ascii = (text: string): string =>
  json(text).replace(
    /[\u0080-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const spellings: [string, (text: string) => string][] = [
  ["as such", (s) => s],
  ["JSON-escaped", json],
  ["JSON-escaped twice", (s) => json(json(s))],
  ["JSON-escaped, slashes too", (s) => json(s).replaceAll("/", "\\/")],
  ["JSON-escaped, for HTML", (s) => json(s).replaceAll("=", "\\u003d").replaceAll("+", "\\u002B")],
  ["JSON-escaped, ASCII only", ascii],
  ["JSON-escaped, ASCII only, twice", (s) => json(ascii(s))],
  ["percent-encoded", encodeURIComponent],
  [
    "percent-encoded in lower case",
    (s) => encodeURIComponent(s).replace(/%../g, (c) => c.toLowerCase()),
  ],
  ["percent-encoded in part", encodeURI],
  ["percent-encoded, but for /", (s) => encodeURIComponent(s).replaceAll("%2F", "/")],
  [
    "percent-encoded, but for + and =",
    (s) => encodeURIComponent(s).replace(/%2B|%3D/g, (c) => decodeURIComponent(c)),
  ],
  ["percent-encoded JSON", (s) => encodeURIComponent(json(s))],
  ["base64", (s) => Buffer.from(s).toString("base64")],
  [
    "base64 in JSON with escaped slashes",
    (s) => Buffer.from(s).toString("base64").replaceAll("/", "\\/"),
  ],
  ["base64, percent-encoded", (s) => encodeURIComponent(Buffer.from(s).toString("base64"))],
  ["base64 without padding", (s) => Buffer.from(s).toString("base64").replace(/=+$/, "")],
  ["base64url", (s) => Buffer.from(s).toString("base64url")],
  [
    "base64url with padding",
    (s) => Buffer.from(s).toString("base64").replaceAll("+", "-").replaceAll("/", "_"),
  ],
  ["hexadecimal", (s) => Buffer.from(s).toString("hex")],
  ["HEXADECIMAL", (s) => Buffer.from(s).toString("hex").toUpperCase()],
];

describe("redact", () => {
  test.each(spellings)("%s", (_, spell) => {
    for (const text of [secret, ...credentials, "4111111111111111", "aaaa", "a%20b%"]) {
      const { redact } = redactorOf(text);
      const where = `first <${spell(text)}> then <${spell(text)}>`;
      expect(redact(where)).toBe(`first <${mark}> then <${mark}>`);
    }
  });

  test("every spelling of any secret, anywhere, with any others", () => {
    const secrets = fc.uniqueArray(fc.string({ minLength: 4, unit: "grapheme" }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(
        secrets,
        fc.constantFrom(...spellings),
        fc.string(),
        fc.string(),
        (texts, [, spell], before, after) => {
          const { redact } = redactorOf(...texts);
          for (const text of texts) {
            const spelled = spell(text);
            // Separated: a partial escape before it, like "%4", would be decoded with its first character.
            const pieces = redact(`${before} ${spelled} ${after}`).split(mark);
            expect(pieces.length).toBeGreaterThan(1);
            for (const piece of pieces) expect(piece).not.toContain(spelled);
          }
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test("text without secrets stays as it is", () => {
    const { redact } = redactorOf(secret, "12");
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => redact(text) === text));
    const text = '{"a":"\\u00e9\\\\n","b":"%41%zz%C3"}\\';
    expect(redact(text)).toBe(text);
  });

  test("what stands around escapes stays as it was written", () => {
    expect(redactorOf("geheim").redact('\\u00e9\\n%20 "ge\\u0068eim" %2f')).toBe(
      `\\u00e9\\n%20 "${mark}" %2f`,
    );
  });

  test("the longest first, whatever the order of adding", () => {
    const inner = "secret";
    const outer = "my secret key";
    for (const order of [
      [inner, outer],
      [outer, inner],
    ]) {
      expect(redactorOf(...order).redact("<my secret key> <secret>")).toBe(`<${mark}> <${mark}>`);
    }
  });

  test("of secrets that overlap no end stays behind", () => {
    expect(redactorOf("ABCDEF", "DEFGHI").redact("xABCDEFGHIx")).toBe(`x${mark}x`);
    expect(redactorOf("abab").redact("xabababx")).toBe(`x${mark}x`);
  });

  test("secrets side by side", () => {
    expect(redactorOf("ABCD", "EFGH").redact("ABCDEFGH")).toBe(mark + mark);
  });

  test("the mark itself is not searched again", () => {
    expect(redactorOf("redacted", "password").redact("password")).toBe(mark);
  });

  test("a short secret only where it is a whole JSON string", () => {
    const { redact } = redactorOf("12", "a");
    expect(redact('12 at 12:12, "name":"a","pin":"12","date":"12.12", {\\"pin\\":\\"12\\"}')).toBe(
      `12 at 12:12, "name":"${mark}","pin":"${mark}","date":"12.12", {\\"pin\\":\\"${mark}\\"}`,
    );
  });

  test.each([
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "411111 11111 11111",
    "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    "4111\u00A01111\u20111111  1111",
    "4111%201111%201111%201111",
    "4111\\u00201111\\u00201111\\u00201111",
  ])("a card number in groups: %s", (number) => {
    const { redact, redactValue } = redactorOf("4111111111111111");
    expect(redact(`at 12:30, 2026-11-21: card ${number} of 3`)).toBe(
      `at 12:30, 2026-11-21: card ${mark} of 3`,
    );
    expect(redactValue([number, "4111 1111 1111 1112"])).toEqual([mark, "4111 1111 1111 1112"]);
  });

  test("an empty secret, and none at all", () => {
    expect(redactorOf("").redact('text ""')).toBe('text ""');
    expect(redactorOf().redact("text")).toBe("text");
  });

  test("fast with many long secrets", () => {
    const secrets = Array.from({ length: 40 }, (_, i) =>
      Buffer.alloc(3000, `${i}abcdefgh`).toString("base64"),
    );
    const { redact } = redactorOf(...secrets);
    const text = JSON.stringify({ log: "x".repeat(20_000), secrets: secrets.slice(0, 5) });
    const started = performance.now();
    const result = redact(text);
    expect(performance.now() - started).toBeLessThan(1000);
    expect(result).toBe(JSON.stringify({ log: "x".repeat(20_000), secrets: Array(5).fill(mark) }));
  });
});

describe("redactValue", () => {
  test("strings, keys, whole short strings and numbers; a copy", () => {
    const { redactValue } = redactorOf("secret-1", "12", "4111111111111111");
    const value = {
      a: ["x secret-1 y", 12, "12", "12:00", null, true],
      "secret-1": { number: 4111111111111111, month: 12 },
      "percent%20": "secret%2D1",
    };
    const before = structuredClone(value);
    expect(redactValue(value)).toEqual({
      a: [`x ${mark} y`, 12, mark, "12:00", null, true],
      [mark]: { number: mark, month: 12 },
      "percent%20": mark,
    });
    expect(value).toEqual(before);
  });

  test("the words of a way on that were secrets are for a person to fill in", () => {
    const { redactValue } = redactorOf("secret-1");
    const way = { argv: ["vault", "update", "V", "--content", "secret-1", "--save-cmd", "CMD"] };
    const argv = way.argv.with(4, mark);
    expect(redactValue(way)).toEqual({ argv, fill: [mark] });
    expect(redactValue({ ...way, fill: ["CMD"] })).toEqual({ argv, fill: ["CMD", mark] });
    const others = [
      { argv: ["vault"], fill: [] },
      { argv: ["a"], fill: 1 },
      { argv: 1, fill: 1 },
    ];
    expect(redactValue({ next: others })).toEqual({ next: others });
    expect(redactValue({ argv: ["secret-1"], fill: 1 })).toEqual({ argv: [mark], fill: [mark] });
    expect(redactValue({ argv: ["a"], fill: ["secret-1"] })).toEqual({ argv: ["a"], fill: [mark] });
  });

  test("a key that is special to objects stays an ordinary one", () => {
    const value: unknown = JSON.parse('{"__proto__":{"x":"secret-1"}}');
    expect(JSON.stringify(redactorOf("secret-1").redactValue(value))).toBe(
      `{"__proto__":{"x":"${mark}"}}`,
    );
  });
});

describe("a scope", () => {
  test("its secrets are replaced until it ends, and longer if others have added them too", () => {
    const redactor = new Redactor();
    const [one, two] = [redactor.scope(), redactor.scope()];
    redactor.add("for-good");
    for (const secret of ["for-good", "of-both", "of-both", "of-one"]) one.add(secret);
    two.add("of-both");
    const text = "for-good of-both of-one";
    expect(redactor.redact(text)).toBe(`${mark} ${mark} ${mark}`);
    one.end();
    one.end();
    expect(redactor.redact(text)).toBe(`${mark} ${mark} of-one`);
    expect(redactor.redactValue(["of-both", "of-one"])).toEqual([mark, "of-one"]);
    two.end();
    expect(redactor.redact(text)).toBe(`${mark} of-both of-one`);
  });

  test("what the redactor itself is told later stays too", () => {
    const redactor = new Redactor();
    const scope = redactor.scope();
    scope.add("secret-1");
    redactor.add("secret-1");
    scope.end();
    expect(redactor.redact("secret-1")).toBe(mark);
  });
});

describe("printable", () => {
  test.each([
    ["\u001B[2Jgone\u0007", "\\u{1b}[2Jgone\\u{7}"],
    ["over\rwritten", "over\\u{d}written"],
    ["line\n\tnext", "line\n\tnext"],
    [
      "\u0000\u0008\u000B\u001F\u007F\u0080\u009B\u009F",
      "\\u{0}\\u{8}\\u{b}\\u{1f}\\u{7f}\\u{80}\\u{9b}\\u{9f}",
    ],
    ["\u202Eevil\u2066x\u2069\u200F\u200E", "\\u{202e}evil\\u{2066}x\\u{2069}\\u{200f}\\u{200e}"],
    [
      "\u200Ba\u200Cb\u200Dc\u2060\u2064\u206F",
      "\\u{200b}a\\u{200c}b\\u{200d}c\\u{2060}\\u{2064}\\u{206f}",
    ],
    ["\uFEFF\u00AD\u034F\u180E\u3164\uFFF9", "\\u{feff}\\u{ad}\\u{34f}\\u{180e}\\u{3164}\\u{fff9}"],
    [
      "\u{E0001}\u{E0041}\u{E007F} \uFE00\u{E0100}\u{E01EF}",
      "\\u{e0001}\\u{e0041}\\u{e007f} \\u{fe00}\\u{e0100}\\u{e01ef}",
    ],
    ["Zoë 🔑 日本 \u00A0 ❤\uFE0F ☎\uFE0E e\u0301", "Zoë 🔑 日本 \u00A0 ❤\uFE0F ☎\uFE0E e\u0301"],
    ["", ""],
  ])("%j", (text, expected) => expect(printable(text)).toBe(expected));

  test("nothing that it returns is a control", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        (text) =>
          !/[^\P{Cc}\n\t]|[\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E0FFF}]/u.test(
            printable(text),
          ),
      ),
    );
  });

  test("as JSON they are escaped, and a program reads exactly the value", () => {
    const value = { "a\u200B": "b\u{E0041}\uFEFF\u001B ❤\uFE0F" };
    expect(jsonText(value)).toBe('{"a\\u200b":"b\\udb40\\udc41\\ufeff\\u001b ❤\uFE0F"}');
    expect(JSON.parse(jsonText(value))).toEqual(value);
  });
});
