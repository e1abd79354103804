import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { writeHtml } from "../../src/audit/render/html/page.ts";
import type { Replay } from "../../src/audit/replay.ts";
import { jsonDocument } from "../../src/commands/audit-replay/document.ts";
import { VaultError } from "../../src/errors.ts";
import { auditBasis } from "../../src/audit/render/text/basis.ts";
import { auditSummary } from "../../src/audit/render/text/view.ts";
import { plain } from "../../src/terminal/palette.ts";
import { replayWith, withoutSecondReading } from "../audit/support.ts";
import { writeLog } from "../support/audit-log/audit-log.ts";
import type { DialectName } from "../support/audit-log/dialects.ts";
import { dialects } from "../support/audit-log/dialects.ts";
import { formNames } from "../support/audit-log/files.ts";
import { tempDir } from "../support/cleanup.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { byteChanges, changeBytes, changeJson, jsonChanges } from "../support/dice.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

const runs = isWhole ? 6000 : 120;
const folder = tempDir("fuzzed");
const path = join(folder, "items");
const exports: { name: string; bytes: Buffer }[] = [];

beforeAll(async () => {
  for (const dialect of Object.keys(dialects) as DialectName[]) {
    for (const form of formNames) {
      await writeLog(path, {
        seed: "fuzzed",
        items: 60,
        vaults: 5,
        problems: 0.6,
        duplicates: 0.1,
        garbage: 1,
        dialect,
        form,
      });
      exports.push({ name: `${dialect}, ${form}`, bytes: readFileSync(path) });
    }
  }
});

type Read = { summary: Replay["summary"]; vaults: VaultReport[] } | { refused: string };

/** What a replay of these bytes comes to: a report, or a refusal of the input, and never anything else. */
async function read(bytes: Buffer, by: "path" | "stream", look = false): Promise<Read> {
  writeFileSync(path, bytes);
  const input = by === "path" ? { name: "items", path } : { name: "items", stream: pieces(bytes) };
  try {
    const result = await replayWith({ inputs: [input] });
    const vaults = [...result.vaults({ problems: false })];
    if (look) await lookAt(result, vaults);
    await result.close();
    return { summary: result.summary, vaults: withoutSecondReading(vaults) };
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    expect(error.code).toBe("invalid-input");
    return { refused: error.message };
  }
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 997)
    yield await Promise.resolve(bytes.subarray(at, at + 997));
}

/** Whatever was read can be shown in each form. */
async function lookAt(result: Replay, vaults: readonly VaultReport[]): Promise<void> {
  const view = {
    isTTY: true,
    columns: 80,
    palette: plain,
    now: Date.UTC(2026, 10, 20, 13),
  };
  const text = auditSummary(result.summary, vaults, view) + auditBasis(result.summary, view);
  // oxlint-disable-next-line no-control-regex -- what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
  expect(JSON.parse([...jsonDocument(result, vaults)].join(""))).toMatchObject({
    items: result.summary.items,
  });
  expect(
    [
      ...writeHtml({
        title: "x",
        generatedAt: "2026-11-20T13:00:00Z",
        summary: result.summary,
        vaults,
      }),
    ].length,
  ).toBeGreaterThan(0);
}

/** The sums are right, and the quick reader of files finds what the one of streams finds. */
async function checkBytes(bytes: Buffer, look = false): Promise<void> {
  const fromPath = await read(bytes, "path", look);
  const fromStream = await read(bytes, "stream");
  expect(fromStream).toEqual(fromPath);
  checkSums(bytes, fromStream);
  checkSums(bytes, fromPath);
}

function checkSums(bytes: Buffer, fromPath: Read): void {
  if ("refused" in fromPath) return;
  const { summary, vaults } = fromPath;
  expect(summary.duplicates + summary.applicationItems + summary.withoutVault).toBeLessThanOrEqual(
    summary.items,
  );
  expect(summary.skipped.length).toBe(Math.min(summary.skippedLines, 100));
  expect(Object.values(summary.verdicts).reduce((sum, count) => sum + count, 0)).toBe(
    summary.vaultCount,
  );
  expect(vaults).toHaveLength(summary.vaultCount);
  const ofVaults = vaults.reduce((sum, { items }) => sum + items, 0);
  expect(ofVaults).toBe(
    summary.items - summary.applicationItems - summary.withoutVault - summary.duplicates,
  );
  const [input] = summary.inputs;
  expect(input?.items).toBe(summary.items);
  if (input?.format === "ndjson" && !input.gzip) {
    const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    expect(summary.items + summary.skippedLines).toBe(lines.length);
  }
}

const settings = (seed: number): fc.Parameters<unknown> => ({
  seed,
  numRuns: runs,
  endOnFailure: false,
});
const chosen = fc.nat(10_000);

describe("an export in which anything may have changed is read to its end, counted right, or refused", () => {
  it("by bytes", async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(chosen, byteChanges, async (which, changes) => {
        const { bytes } = exports[which % exports.length] as (typeof exports)[number];
        await checkBytes(changeBytes(bytes, changes), count % 10 === 0);
        count += 1;
      }),
      settings(20261121),
    );
    tried("fuzzed audit exports", count);
  });

  it("by values", async () => {
    let count = 0;
    const lists = exports.filter(({ name }) => /json/.test(name));
    await fc.assert(
      fc.asyncProperty(
        chosen,
        fc.nat(40),
        fc.nat(40),
        jsonChanges,
        async (which, from, times, changes) => {
          const { bytes } = lists[which % lists.length] as (typeof exports)[number];
          const lines = bytes.toString("utf8").split("\n");
          for (let n = 0; n <= times; n += 1) {
            const at = (from + n) % lines.length;
            const [, item = "", end = ""] = /^(.*?)(,?\r?)$/.exec(lines[at] ?? "") ?? [];
            if (item.startsWith("{") && item.endsWith("}"))
              lines[at] = changeJson(parsed(item), changes) + end;
          }
          await checkBytes(Buffer.from(lines.join("\n")), count % 10 === 0);
          count += 1;
        },
      ),
      settings(20261122),
    );
    tried("fuzzed audit exports", count);
  });

  it("compressed, before and after", async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(chosen, byteChanges, fc.boolean(), async (which, changes, before) => {
        const { bytes } = exports[which % exports.length] as (typeof exports)[number];
        const packed = before
          ? gzipSync(changeBytes(bytes, changes))
          : changeBytes(gzipSync(bytes), changes);
        // Of what is broken, zlib hands over more or less before it says so, by the pieces that it is given.
        checkSums(packed, await read(packed, "path"));
        count += 1;
      }),
      { ...settings(20261123), numRuns: Math.ceil(runs / 3) },
    );
    tried("fuzzed audit exports", count);
  });
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
