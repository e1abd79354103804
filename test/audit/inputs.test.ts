import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { auditExport } from "../../src/sandbox/control.ts";
import { tempDir } from "../support/cleanup.ts";
import { failure, line, log, moment, replayText, replayWith, vaultUuid } from "./support.ts";

const id = vaultUuid(1);
const joined = (...parts: (Uint8Array | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

describe("a content", () => {
  const items = Array.from({ length: 500 }, (_, n) => {
    const description = n % 9 === 0 ? 'a "b",\nc' : "started";
    return JSON.parse(
      line(n, "READ_VAULT", { externalRef: `Müller 🔑 ${n % 9}`, description }),
    ) as object;
  });
  const text = items.map((item) => `${JSON.stringify(item)}\n`).join("");
  const plain = Buffer.from(text);
  const marked = Buffer.from(`\ufeff${text}`);
  const utf16 = Buffer.from(`\ufeff${text}`, "utf16le");
  const big = Buffer.from(utf16).swap16();
  const wrapped = (wrap: (item: string) => object): string =>
    items.map((item) => `${JSON.stringify(wrap(JSON.stringify(item)))}\n`).join("");
  const told = async (content: string | Uint8Array, by: "path" | number) => {
    const { result, reports } = await replayText(content, { timeline: true }, by);
    const { warnings, skipped, items } = result.summary;
    const report = JSON.stringify(reports).replaceAll(/"line":\d+/g, "");
    return { warnings, skipped, items, report };
  };
  test.each<[string, string | Uint8Array]>([
    ["with a byte-order mark", marked],
    ["in UTF-16, little-endian", utf16],
    ["in UTF-16, big-endian", big],
    ["in UTF-16 without a mark", utf16.subarray(2)],
    ["in gzip", gzipSync(plain)],
    ["in gzip, in members", joined(gzipSync(plain.subarray(0, 99)), gzipSync(plain.subarray(99)))],
    ["in gzip before zeros and a newline", joined(gzipSync(plain), "\0\0\n")],
    ["in gzip, twice", gzipSync(gzipSync(plain))],
    ["in gzip with a byte-order mark", gzipSync(marked)],
    ["in gzip of UTF-16", gzipSync(big)],
    ["in an array", JSON.stringify(items)],
    ["in a wrapper", JSON.stringify({ total: 1, items }, null, 2)],
    ["in CSV", auditExport("items.csv")?.(items as never) as string],
    ["in texts", wrapped((item) => ({ log: `${item}\n`, stream: "stdout", time: moment(0) }))],
    ["in bytes", wrapped((item) => ({ MESSAGE: [...Buffer.from(item)], _HOSTNAME: "h" }))],
  ])("%s is the same, from a file and a stream", async (_what, content) => {
    const right = await told(text, "path");
    for (const by of ["path", 37, 4096] as const) expect(await told(content, by)).toEqual(right);
  });

  const zipped = gzipSync(plain);
  test.each<[string, string | Uint8Array, string]>([
    ["cut off", zipped.subarray(0, -500), "the gzip data is cut off"],
    ["cut off in its trailer", zipped.subarray(0, -1), "the gzip data is cut off"],
    ["before text", joined(zipped, "x".repeat(99)), "something else follows the gzip data"],
    ["of a wrong sum", joined(zipped.subarray(0, -8), "12345678"), "the gzip data is damaged"],
  ])("in gzip that is %s is read as far as it can be", async (_what, content, problem) => {
    for (const by of ["path", 64] as const) {
      const { skipped, warnings, items } = await told(content, by);
      expect(skipped.at(-1)?.reason).toBe(`${problem}: reading stopped`);
      expect(warnings[0]).toMatch(/^items is cut off or damaged at line \d+/);
      expect(items).toBeGreaterThan(300);
    }
  });
});

test.each<[string, string | Buffer, RegExp]>([
  ["0 bytes of gzip", gzipSync(""), /items: no audit items: it is empty/],
  ["blanks", "\n \r\n", /no audit items: it is empty/],
  ["a header", "time,action,vault\n", /it holds no items/],
  ["an error", '{"error":{"message":"\u001b expired"},"items":[]}', /says " {2}expired"/],
  ["another error", '{"status":401,"errors":["no"]}\n', /but says "no"/],
  ["a workbook", "PK\x03\x04\x14\0[Content_Types].xml", /is an Excel workbook/],
  ["zstd", Buffer.from("28b52ffd0458", "hex"), /packed with zstd/],
  ["a page", "\n<!DOCTYPE html><html>", /is an HTML page/],
  ["bytes", Buffer.from(Array.from({ length: 600 }, (_, n) => (n * 7919) % 251)), /is binary data/],
  ["not gzip but for its beginning", Buffer.from([0x1f, 0x8b, 1, 2, 3]), /damaged/],
  ["words", "word\n".repeat(200_000), /all 200,000 lines could not be read as an audit item/],
])("%s: nothing is read, and the reason is said", async (_what, content, message) => {
  const refused = { code: "invalid-input", message: expect.stringMatching(message) as string };
  await expect(replayText(content)).rejects.toMatchObject(refused);
});

test("a stream that breaks, or cannot be kept, is an error", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${line(1, "READ_VAULT")}\n`.repeat(10_000));
    throw Object.assign(new Error("broken"), { code: "EIO" });
  }
  const replayed = async (TMPDIR: string) => {
    vi.stubEnv("TMPDIR", TMPDIR);
    return await replayWith({ inputs: [{ name: "standard input", stream: stream() }] });
  };
  await expect(replayed(tempDir())).rejects.toThrow("cannot read standard input: EIO");
  await expect(replayed("/none")).rejects.toThrow(/cannot be kept in .*: no such file or folder/);
});

describe("of an export", () => {
  const items = log("C0 S1 A2 F3");
  const ndjson = `${items.join("\n")}\n`;
  const csv = [
    "time,action,vault,note",
    ...[1, 2, 3].map((n) => `${moment(n)},READ_VAULT,${id},"-"`),
  ].join("\n");
  test.each<[string, string, number]>([
    ["a line", ndjson.slice(0, -30), 4],
    ["a JSON array", `[${items.join(",")}]`.slice(0, -30), 4],
    ["a wrapper, between items", `{"items":[${items.join(",")}]}`.slice(0, -2), 5],
    ["a row", csv.slice(0, -30), 4],
    ["a quoted cell", csv.slice(0, -1), 4],
  ])("that is cut off in %s nothing is certain", async (_where, content, cutAt) => {
    const { result, reports } = await replayText(content);
    expect(result.summary.inputs).toMatchObject([{ cutAt }]);
    expect(result.summary.warnings).toContainEqual(
      `items is cut off or damaged at line ${cutAt}: what comes after is missing. Export or copy it again.`,
    );
    expect(reports).toMatchObject([{ reason: /the log is cut off|could not be read names/ }]);
    expect(reports).not.toMatchObject([{ certainty: "certain" }]);
  });

  test.each([
    ["a last line without its end", ndjson.slice(0, -1)],
    ["a last row without its end", csv],
    ["a line in the middle that is none", `${items[0]}\n{"time":"2026\n${items[1]}\n`],
    ["a footer", `${ndjson}-- 4 items`],
  ])("with %s nothing is missing", async (_what, content) => {
    const { result } = await replayText(content);
    expect(result.summary.inputs[0]).not.toHaveProperty("cutAt");
    expect(result.summary.warnings).toEqual([]);
  });

  const name = id.toUpperCase();
  const long = "x".repeat(1_100_000);
  test.each([
    ["that is not JSON", `{"vaultUuid":"${name}",x}`],
    ["without a time", `{"action":"READ_VAULT","vaultUuid":"${name}"}`],
    ["with a time that is none", failure(4).replace("2026", "soon")],
    ["of text", `# ${name} was locked`],
    ["that is too long", failure(4, { long })],
    ["of CSV that is too long", `soon,READ_VAULT,${id},${long}`],
  ])(
    "a record %s makes the vault that it names unknown, and no other one that can be read",
    async (what, unread) => {
      const [before, after] = what.includes("CSV")
        ? [csv, `${moment(5)},CREATE_VAULT,${vaultUuid(2)},-`]
        : [log("C0 S1 A2").join("\n"), log("2:C5").join("\n")];
      const { reports, result } = await replayText(`${before}\n${unread}\n${after}\n`);
      const told = Object.fromEntries(reports.map((report) => [report.uuid, report.verdict]));
      const others = what.includes("too long") ? {} : { [vaultUuid(2)]: "ok" };
      expect(told).toEqual({ [id]: "unknown", ...others });
      expect(result.summary.skippedLines).toBe(1);
    },
  );

  test("a record that cannot be read leaves a lock likely", async () => {
    const lines = [...log("C0 F1 F2 F3"), `{"vaultUuid":"${id}",`, ""].join("\n");
    const { reports } = await replayText(lines);
    expect(reports).toMatchObject([{ verdict: "locked", certainty: "likely" }]);
  });

  test("a quote that is not closed costs its line, however long the file", async () => {
    const many = `${moment(0)},READ_VAULT,${id},"who, me"\n`.repeat(8000);
    const open = `${moment(0)},READ_VAULT,${id},"x\n`;
    const content = `time,action,vault,note\n${many}${open}${many.replaceAll(/"|, /g, "")}`;
    const { items, skippedLines, skipped } = (await replayText(content)).result.summary;
    expect([items, skippedLines, skipped[0]?.line]).toEqual([16_000, 1, 8002]);
  });

  test("an item within a text has its own time, whatever stands beside the text", async () => {
    const wrapped = items.map((message) =>
      JSON.stringify({ timestamp: 1_795_183_331_000, message, host: "h" }),
    );
    const { reports } = await replayText(wrapped.join("\n"));
    expect(reports).toMatchObject([{ lastAt: moment(3) }]);
  });

  test("that begins with the newest item the order is told, and what is passed over", async () => {
    const newest = await replayText(items.toReversed().join("\n"));
    expect(newest.result.summary.inputs).toMatchObject([{ order: "newest-first" }]);
    const lists = `{"links":[{"rel":"self"}],"ids":[1,2],"items":[${items.join()}],"failed":[{"time":"soon","action":"READ_VAULT"}]}`;
    const { result } = await replayText(lists);
    expect(result.summary).toMatchObject({
      warnings: ["items: what looks like no audit item was passed over: 1 in links, 2 in ids."],
      skipped: [{ reason: 'invalid time: "soon"' }],
    });
  });
});

test("the id of a call without a vault is not taken for a vault that it may name", async () => {
  const other = line(2, "READ_VAULT", { id, vaultUuid: undefined });
  const lines = [line(0, "READ_VAULT"), line(1, "ACKNOWLEDGE_READ_VAULT"), other];
  const { reports } = await replayText(lines.join("\n"));
  expect(reports).toMatchObject([{ verdict: "ok", certainty: "certain" }]);
});
