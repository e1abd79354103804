import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Input } from "../../src/audit/read/input.ts";
import { recognizeForm } from "../../src/audit/read/sniff.ts";
import { tempDir } from "../support/cleanup.ts";
import { failure, inputOf, line, replayText } from "./support.ts";

const text = '{"time":"2026-11-20T14:02:11Z","name":"Müller 🔑"}\n';

async function textOf(input: Input): Promise<string> {
  const parts: Buffer[] = [];
  for (;;) {
    const bytes = Buffer.from(await input.take(70_000));
    if (bytes.length === 0) return Buffer.concat(parts).toString();
    parts.push(bytes);
  }
}

const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();

describe("the text of an input", () => {
  const utf16 = Buffer.from(`\ufeff${text.repeat(1500)}`, "utf16le");
  const plain = Buffer.from(text.repeat(1500));
  const marked = Buffer.concat([Buffer.from("\ufeff"), plain]);
  test.each<[string, Buffer, boolean]>([
    ["as it is", plain, false],
    ["after a byte-order mark", marked, false],
    ["of UTF-16, little-endian", utf16, false],
    ["of UTF-16, big-endian", swapped(utf16), false],
    ["of UTF-16 without a mark", utf16.subarray(2), false],
    ["of gzip", gzipSync(plain), true],
    [
      "of gzip in members",
      Buffer.concat([gzipSync(plain.subarray(0, 99)), gzipSync(plain.subarray(99))]),
      true,
    ],
    [
      "of gzip before zeros and a newline",
      Buffer.concat([gzipSync(plain), Buffer.from("\0\0\n")]),
      true,
    ],
    ["of gzip of gzip", gzipSync(gzipSync(plain)), true],
    ["of gzip with a byte-order mark", gzipSync(marked), true],
    ["of gzip of UTF-16", gzipSync(swapped(utf16)), true],
  ])("%s, from a file and in chunks of any size, and again", async (_what, bytes, isGzip) => {
    const file = join(tempDir(), "items");
    writeFileSync(file, bytes);
    const spools = (): string[] =>
      readdirSync(tmpdir()).filter((name) => name.startsWith("vault-audit-"));
    const before = spools();
    for (const input of [
      await new Input({ name: file }).open(),
      ...(await Promise.all([37, 4096].map(async (size) => await inputOf(bytes, size)))),
    ]) {
      expect(input).toMatchObject({ isGzip });
      expect(await textOf(input)).toBe(plain.toString());
      expect(input.bytesRead).toBe(bytes.length);
      expect(input.problem).toBeNull();
      expect(input.at(text.length + 1, 20)).toEqual(
        plain.subarray(text.length + 1, text.length + 21),
      );
      expect(() => input.at(plain.length - 1, 2)).toThrow(/changed while it was read/);
      await input.close();
    }
    expect(spools()).toEqual(before);
  });

  const long = Array.from({ length: 20_000 }, (_, n) => `{"n":${n}}\n`).join("");
  test.each([
    ["cut off", gzipSync(long).subarray(0, -500), "the gzip data is cut off"],
    ["cut in its trailer", gzipSync(long).subarray(0, -1), "the gzip data is cut off"],
    ["cut in its header", gzipSync(long).subarray(0, 5), "the gzip data is cut off"],
    [
      "followed by something else",
      Buffer.concat([gzipSync(long), Buffer.from("x".repeat(99))]),
      "something else follows the gzip data",
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
      expect(input.problem).toBe(problem);
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
    const input = await new Input({ name: file }).open();
    expect(input).toMatchObject({ total: null });
    expect(await textOf(input)).toBe(text);
    await writing;
    await input.close();
  });
});

test.each<[string, string | Buffer, RegExp]>([
  ["0 bytes", "", /items: no audit items: it is empty/],
  ["0 bytes of gzip", gzipSync(""), /it is empty/],
  ["blanks", "\n \r\n", /nothing but blanks/],
  ["an empty list", "[]", /no audit items: it holds no items/],
  ["a header", "time,action,vault\n", /no rows below its header/],
  [
    "an error",
    '{"error":{"message":"Token \u001bexpired"},"items":[]}',
    /but says "Token \\u001bexpired"/,
  ],
  ["another error", '{"status":401,"errors":["no"]}\n', /but says "no"/],
  ["a zip archive", "PK\x03\x04aaaa", /is a zip archive, not text/],
  ["a workbook", "PK\x03\x04\x14\0[Content_Types].xml", /is an Excel workbook/],
  [
    "a tar archive",
    gzipSync(Buffer.concat([Buffer.alloc(257, "x"), Buffer.from("ustar\0"), Buffer.alloc(300)])),
    /is a tar archive/,
  ],
  ["zstd", Buffer.from("28b52ffd0458", "hex"), /packed with zstd/],
  ["a page", "\n<!DOCTYPE html><html>", /is an HTML page/],
  ["bytes", Buffer.from(Array.from({ length: 600 }, (_, n) => (n * 7919) % 251)), /is binary data/],
  ["words", "word\n".repeat(200_000), /none of its first 100000 lines is an audit item/],
])("%s: nothing is read, and the reason is said", async (_what, content, message) => {
  await expect(replayText(content)).rejects.toMatchObject({ code: "invalid-input", message });
});

test.each([
  ["nothing", "missing.ndjson", "no such file or folder"],
  ["a folder", "folder", "it is a folder"],
  ["something below a file", "file/items.csv", "ENOTDIR"],
])("%s cannot be read", async (_what, name, why) => {
  const folder = tempDir();
  mkdirSync(join(folder, "folder"));
  writeFileSync(join(folder, "file"), "");
  const path = join(folder, name);
  await expect((async () => await new Input({ name: path }).open())()).rejects.toMatchObject({
    code: "invalid-input",
    message: `cannot read ${path}: ${why}`,
  });
});

test("a stream that breaks, or cannot be kept, is an error", async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text.repeat(10_000));
    throw Object.assign(new Error("broken"), { code: "EIO" });
  }
  const input = await new Input({ name: "standard input", stream: broken() }).open();
  await expect(textOf(input)).rejects.toMatchObject({ message: "cannot read standard input: EIO" });
  const { TMPDIR } = process.env;
  try {
    process.env["TMPDIR"] = join(tempDir(), "none");
    expect(existsSync(tmpdir())).toBe(false);
    await expect(textOf(await inputOf(text))).rejects.toMatchObject({
      code: "invalid-input",
      message: /cannot be kept in .*: no such file or folder/,
    });
  } finally {
    if (TMPDIR === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = TMPDIR;
  }
});

test.each([
  ["a line", '{"a":1}', "ndjson"],
  ["lines with lists", '{"a":[{"b":1}]}\n{"a":[{"b":1}]}\n', "ndjson"],
  ["lines of which the first is broken", '{"a":\n{"a":1}\n{"a":1}\n', "ndjson"],
  ["lines with a prefix", `[INFO] a, b ${line(1, "READ_VAULT")}\nINFO a, b\n`, "ndjson"],
  ["a long line", `{"a":"${"x".repeat(100_000)}"}`, "ndjson"],
  ["one word", "hello\nworld\n", "ndjson"],
  ["an indented list", '\n [\n  {\n"a":1}]', "json"],
  ["the beginning of a list", "[", "json"],
  ["a wrapper", `{"total":1,"items":[${failure(1)}]}`, "json"],
  ["a long wrapper", `{"items":[${'{"a":1},'.repeat(20_000)}{}]}`, "json"],
  ["indented objects", '{\n  "a": 1\n}\n{\n  "a": 2\n}\n', "json"],
  ["commas", "a,b\n1,2\n", "csv"],
  ["tabs", "a\tb, c\n1\t2\n", "tsv"],
  ["quoted commas", '"a;b;c;d","e"\n"1","2"\n', "csv"],
  ["JSON in cells", 'time,message\nx,"{""a"":1}"\n', "csv"],
])("the format is known by %s", (_what, content, format) => {
  expect(
    recognizeForm(Buffer.from(content.slice(0, 65_536)), content.length < 65_536),
  ).toMatchObject({ format });
});
