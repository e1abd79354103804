import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openInput, type Input } from "../../src/audit/read/records/input.ts";
import { tempDir } from "../support/cleanup.ts";
import { inputOf } from "./support.ts";

const text = '{"time":"2026-11-20T14:02:11Z","name":"Müller 🔑"}\n';

async function textOf(input: Input): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of input.chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();

describe("the bytes of an input", () => {
  const utf16 = Buffer.from(`\ufeff${text}`, "utf16le");
  test.each([
    ["as they are", Buffer.from(text), false, true],
    ["after a byte-order mark", Buffer.from(`\ufeff${text}`), false, false],
    ["of UTF-16, little-endian", utf16, false, false],
    ["of UTF-16, big-endian", swapped(utf16), false, false],
    ["of gzip", gzipSync(text), true, false],
    [
      "of gzip in members",
      Buffer.concat([gzipSync(text.slice(0, 20)), gzipSync(text.slice(20))]),
      true,
      false,
    ],
    ["of gzip with a byte-order mark", gzipSync(`\ufeff${text}`), true, false],
    ["of gzip of UTF-16", gzipSync(swapped(utf16)), true, false],
  ])("%s, from a file and in chunks of any size", async (_what, bytes, isGzip, isPlain) => {
    const file = join(tempDir(), "items");
    writeFileSync(file, bytes);
    const input = await openInput({ name: file });
    expect(input).toMatchObject({
      name: file,
      format: "ndjson",
      isGzip,
      total: bytes.length,
      isFile: isPlain,
    });
    expect(await textOf(input)).toBe(text);
    expect(input.bytesRead()).toBe(bytes.length);
    expect(input.problem()).toBeNull();
    for (const size of [1, 2, 3, 7]) {
      const streamed = await inputOf(bytes, size);
      expect(streamed).toMatchObject({ isGzip, total: null, isFile: false });
      expect(await textOf(streamed), `chunks of ${size}`).toBe(text);
    }
  });

  const long = Array.from({ length: 20_000 }, (_, n) => `{"n":${n}}\n`).join("");
  test.each([
    ["cut off", gzipSync(long).subarray(0, -500), "the gzip data is cut off"],
    ["cut in its trailer", gzipSync(long).subarray(0, -1), "the gzip data is cut off"],
    ["cut in its header", gzipSync(long).subarray(0, 5), "the gzip data is cut off"],
    [
      "followed by something else",
      Buffer.concat([gzipSync(long), Buffer.from("x".repeat(99))]),
      "the gzip data is damaged",
    ],
    [
      "of a wrong checksum",
      Buffer.concat([gzipSync(long).subarray(0, -8), Buffer.alloc(8, 1)]),
      "the gzip data is damaged",
    ],
    [
      "not gzip but for its beginning",
      Buffer.from([0x1f, 0x8b, 1, 2, 3]),
      "the gzip data is damaged",
    ],
  ])("of gzip that is %s: what could be read counts", async (_what, bytes, problem) => {
    for (const size of [64, 65_536]) {
      const input = await inputOf(bytes, size);
      const read = await textOf(input);
      expect(input.problem()).toBe(problem);
      expect(long.startsWith(read)).toBe(true);
      if (bytes.length > 5_000) expect(read.length).toBeGreaterThan(long.length - 20_000);
    }
  });

  test("of a pipe that is named like a file", async () => {
    const file = join(tempDir(), "pipe");
    execFileSync("mkfifo", [file]);
    const writing = import("node:fs/promises").then(
      async ({ writeFile }) => await writeFile(file, text),
    );
    const input = await openInput({ name: file });
    expect(input).toMatchObject({ total: null, isFile: false });
    expect(await textOf(input)).toBe(text);
    await writing;
  });

  test("can be left", async () => {
    const file = join(tempDir(), "items.gz");
    writeFileSync(file, gzipSync(text.repeat(100_000)));
    const input = await openInput({ name: file });
    await input.close();
    expect(Buffer.byteLength(await textOf(input))).toBe(65_536);
  });
});

describe("the format", () => {
  test.each([
    ["nothing", "", "ndjson", ""],
    ["a line", '{"a":1}', "ndjson", ""],
    ["lines", '{"a":1}\n{"a":2}\n', "ndjson", ""],
    ["lines after empty ones", '\r\n\n{"a":1}\r\n{"a":2}\r\n', "ndjson", ""],
    ["lines with lists", '{"a":[{"b":1}]}\n{"a":[{"b":1}]}\n', "ndjson", ""],
    ["a line with an empty list", '{"time":"2026-11-20T14:02:11Z","tags":[]}', "ndjson", ""],
    ["lines of which the first is broken", '{"a":\n{"a":1}\n{"a":1}\n', "ndjson", ""],
    ["lines with a prefix", 'INFO a, b {"a":1}\nINFO a, b {"a":1}\n', "ndjson", ""],
    ["lines of numbers in brackets", "[1,2]\n[3,4]\n", "ndjson", ""],
    ["a long line", `{"a":"${"x".repeat(100_000)}"}`, "ndjson", ""],
    ["one word", "hello\nworld\n", "ndjson", ""],
    ["an array", '[{"a":1},{"a":2}]', "json", ""],
    ["an empty array", "[]", "json", ""],
    ["an indented array", '\n [\n  {\n"a":1}]', "json", ""],
    ["the beginning of an array", "[", "json", ""],
    ["a wrapper", '{"total":1,"items":[{"a":1}]}', "json", ""],
    ["an empty wrapper", '{"items":[]}', "json", ""],
    ["an indented wrapper", '{\n  "items": [\n    {"a":1}\n  ]\n}', "json", ""],
    ["a long wrapper", `{"items":[${'{"a":1},'.repeat(20_000)}{}]}`, "json", ""],
    ["indented objects", '{\n  "a": 1\n}\n{\n  "a": 2\n}\n', "json", ""],
    ["commas", "a,b\n1,2\n", "csv", ","],
    ["semicolons", "a;b\n1,5;2\n", "csv", ";"],
    ["tabs", "a\tb, c\n1\t2\n", "tsv", "\t"],
    ["bars", "a|b\n1|2\n", "csv", "|"],
    ["quoted commas", '"a;b;c;d","e"\n"1","2"\n', "csv", ","],
    ["Excel's first line", "sep=|\na,b|c\n", "csv", "|"],
    ["a header alone", "time,action,vault", "csv", ","],
  ])("is known by %s", async (_what, content, format, delimiter) => {
    expect(await inputOf(content)).toMatchObject({ format, delimiter });
  });
});

test.each([
  ["nothing", "missing.ndjson", "no such file"],
  ["a folder", "folder", "it is a folder"],
  ["something below a file", "file/items.csv", "ENOTDIR"],
])("%s cannot be read", async (_what, name, why) => {
  const folder = tempDir();
  mkdirSync(join(folder, "folder"));
  writeFileSync(join(folder, "file"), "");
  const path = join(folder, name);
  await expect(openInput({ name: path })).rejects.toMatchObject({
    code: "invalid-input",
    message: `cannot read ${path}: ${why}`,
    facts: { hint: expect.stringContaining("audit items") as unknown },
  });
});

test("a stream that breaks is an error", async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text.repeat(10_000));
    throw Object.assign(new Error("broken"), { code: "EIO" });
  }
  const input = await openInput({ name: "standard input", stream: broken() });
  await expect(textOf(input)).rejects.toMatchObject({
    code: "invalid-input",
    message: "cannot read standard input: EIO",
  });
});
