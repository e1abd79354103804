import fc from "fast-check";

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random values that are the same for the same seed, fast enough for millions of items (sfc32). */
export class Dice {
  #a = 0x9e3779b9;
  #b = 0x243f6a88;
  #c = 0xb7e15162;
  #counter = 1;

  constructor(seed: string) {
    for (const character of seed) {
      this.#a = (this.#a ^ (character.codePointAt(0) ?? 0)) | 0;
      this.word();
    }
    for (let i = 0; i < 16; i += 1) this.word();
  }

  /** 32 bits. */
  word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** At least 0, less than 1. */
  fraction(): number {
    return this.word() / 0x1_0000_0000;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.fraction() * list.length)] as T;
  }

  /** By weight. */
  draw<T extends { weight: number }>(list: readonly T[]): T {
    let left = this.fraction() * list.reduce((sum, { weight }) => sum + weight, 0);
    return list.find(({ weight }) => (left -= weight) < 0) ?? (list.at(-1) as T);
  }

  /** A waiting time with this mean, at most four times as long, at least 1. */
  wait(mean: number): number {
    return 1 + Math.floor(Math.min(4, -Math.log(1 - this.fraction())) * mean);
  }

  /** Version 4. */
  uuid(): string {
    const byte = (word: number, shift: number): string => hex[(word >>> shift) & 0xff] ?? "";
    const [a, b, c, d] = [
      this.word(),
      (this.word() & 0xffff0fff) | 0x4000,
      (this.word() & 0x3fffffff) | 0x80000000,
      this.word(),
    ];
    const whole = (word: number): string =>
      byte(word, 24) + byte(word, 16) + byte(word, 8) + byte(word, 0);
    const [second, third] = [whole(b), whole(c)];
    return `${whole(a)}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${third.slice(4)}${whole(d)}`;
  }
}

/** Values that programs stumble over, of every kind that JSON has. */
const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0.5,
  -1,
  2 ** 53,
  1e308,
  "",
  " ",
  "0",
  "null",
  "SUCCESS",
  "ERROR",
  "\u0000",
  "\uD800",
  "\u001B[2J\u009B31m\u202E\u2028",
  "__proto__",
  "constructor",
  "9999-12-31T23:59:60Z",
  "-000001-01-01T00:00:00Z",
  "x".repeat(5000),
  "\u{1F511}".repeat(70),
  [],
  {},
  [[[[[[[[[[]]]]]]]]]],
  { a: { a: { a: { a: { a: { a: {} } } } } } },
  { toString: 1, valueOf: null, length: -1 },
  Array.from({ length: 300 }, (_, n) => n),
];

/** One change of a text of bytes. Places are shares of its length, so that a change fits a text of any length. */
const byteChange = fc.record({
  how: fc.constantFrom("flip", "drop", "repeat", "insert", "cut", "swap", "truncate"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  to: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.constantFrom(1, 1, 1, 2, 3, 8, 40),
  bytes: fc.constantFrom(
    "\u0000",
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r\n",
    "\r",
    ";",
    "\t",
    "'",
    "0",
    "-",
    "e",
    "\\u",
    "\uFEFF",
    "\u2028",
    "é",
    "<",
    "nul",
  ),
  bit: fc.integer({ min: 0, max: 7 }),
});
type ByteChange = typeof byteChange extends fc.Arbitrary<infer T> ? T : never;

export const byteChanges = fc.array(byteChange, { minLength: 1, maxLength: 5 });

export function changeBytes(bytes: Buffer, changes: readonly ByteChange[]): Buffer {
  return changes.reduce((text, { how, at, to, length, bytes: more, bit }) => {
    const from = Math.floor(at * text.length);
    const until = Math.min(text.length, from + length);
    const parts = (...pieces: (Buffer | string)[]): Buffer =>
      Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)));
    switch (how) {
      case "flip": {
        const copy = Buffer.from(text);
        if (from < copy.length) copy[from] = (copy[from] ?? 0) ^ (1 << bit);
        return copy;
      }
      case "drop":
        return parts(text.subarray(0, from), text.subarray(until));
      case "repeat":
        return parts(text.subarray(0, until), text.subarray(from));
      case "insert":
        return parts(text.subarray(0, from), more, text.subarray(from));
      case "cut":
        return parts(text.subarray(0, from), more, text.subarray(until));
      case "swap": {
        const other = Math.floor(to * text.length);
        return parts(
          text.subarray(0, from),
          text.subarray(other, other + length),
          text.subarray(until),
        );
      }
      case "truncate":
        return text.subarray(0, from);
    }
  }, bytes);
}

/** One change of a JSON value, at a place that is found by going down `path` as far as there is something. */
const jsonChange = fc.record({
  how: fc.constantFrom("replace", "remove", "rename", "wrap", "list", "copy", "twice"),
  path: fc.array(fc.nat(40), { maxLength: 5 }),
  value: fc.oneof(fc.constantFrom(...oddValues), fc.jsonValue({ maxDepth: 2 })),
  name: fc.constantFrom(
    "__proto__",
    "constructor",
    "uuid",
    "vault",
    "token",
    "status",
    "",
    "\u0000",
    "toString",
    "id",
  ),
});
type JsonChange = typeof jsonChange extends fc.Arbitrary<infer T> ? T : never;

export const jsonChanges = fc.array(jsonChange, { minLength: 1, maxLength: 4 });

/** As text, since a key can stand twice. */
export function changeJson(value: unknown, changes: readonly JsonChange[]): string {
  return changes.reduce((text, change) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return text;
    }
    return write(parsed, change, change.path);
  }, JSON.stringify(value));
}

function write(value: unknown, change: JsonChange, path: readonly number[]): string {
  const isList = Array.isArray(value);
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const [first, ...rest] = path;
  if (first === undefined || entries.length === 0) return changed(value, change);
  const chosen = first % entries.length;
  const parts = entries.flatMap(([key, inner], index): string[] => {
    const named = (name: string, text: string): string =>
      isList ? text : `${JSON.stringify(name)}:${text}`;
    if (index !== chosen) return [named(key, JSON.stringify(inner))];
    const isHere = rest.length === 0;
    if (isHere && change.how === "remove") return [];
    if (isHere && change.how === "rename") return [named(change.name, JSON.stringify(inner))];
    if (isHere && change.how === "twice")
      return [named(key, JSON.stringify(inner)), named(key, JSON.stringify(change.value))];
    return [named(key, write(inner, change, rest))];
  });
  return isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
}

function changed(value: unknown, { how, value: other, name }: JsonChange): string {
  if (how === "wrap") return `{${JSON.stringify(name)}:${JSON.stringify(value)}}`;
  if (how === "list") return `[${JSON.stringify(value)}]`;
  if (how === "copy") return JSON.stringify([value, value]);
  return JSON.stringify(other);
}
