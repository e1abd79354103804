import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Replay } from "../../src/audit/replay.ts";
import type { Truth, VaultTruth } from "../support/audit-log/facts.ts";
import type { LogOptions } from "../support/audit-log/audit-log.ts";
import { writeLog } from "../support/audit-log/audit-log.ts";
import { isWhole } from "../support/campaign.ts";
import { tempDir } from "../support/cleanup.ts";
import { replayWith } from "./support.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

const endings = { ndjson: "ndjson", json: "json", "json-compact": "json", csv: "csv", tsv: "tsv" };

async function replayed(
  options: LogOptions,
  parts = 1,
): Promise<{ truth: Truth; result: Replay; reports: Map<string, VaultReport> }> {
  const folder = tempDir("audit");
  const ending = endings[options.form ?? "ndjson"];
  const files = Array.from({ length: parts }, (_, part) =>
    join(folder, `part-${part}.${ending}${options.gzip === true ? ".gz" : ""}`),
  );
  const truth = await writeLog(files, {
    items: isWhole ? 4000 : 2000,
    vaults: isWhole ? 300 : 150,
    problems: 0.4,
    ...options,
  });
  const inputs = files.map((path) => ({ name: path, path }));
  const result = await replayWith({ inputs });
  const reports = new Map(
    [...result.vaults({ problems: false })].map((report) => [report.uuid, report]),
  );
  await result.close();
  return { truth, result, reports };
}

/** Returns the properties that the truth and a report share. Items of the same millisecond have no defined order in a chain. */
function claims(report: VaultReport) {
  const { verdict, state, lockedAt, cause, unackedStarts, failedAttempts, items } = report;
  const counts = verdict === "deleted" ? {} : { unackedStarts, failedAttempts };
  const lock =
    verdict === "locked"
      ? {
          lockedAt,
          rule: cause?.rule,
          item: cause?.item?.line,
          chain: cause?.chain.map(({ line }) => line),
        }
      : {};
  return { verdict, state, ...counts, items, ...lock };
}

function truths(truth: VaultTruth) {
  const { verdict, state, unackedStarts, failedAttempts, items } = truth;
  const counts = verdict === "deleted" ? {} : { unackedStarts, failedAttempts };
  const lock = {
    lockedAt: new Date(truth.lockedAt ?? 0).toISOString(),
    rule: truth.rule,
    item: truth.causeItem?.line,
    chain: truth.chain.map(({ line }) => line),
  };
  return { verdict, state, ...counts, items, ...(verdict === "locked" ? lock : {}) };
}

function expectTrue(truth: Truth, reports: Map<string, VaultReport>): void {
  expect([...reports.keys()].sort()).toEqual([...truth.vaults.keys()].sort());
  const wrong = [...truth.vaults].flatMap(([uuid, one]) => {
    const report = reports.get(uuid) as VaultReport;
    // The line that is cut off names a vault, and may be about anything.
    const isUnread = /could not be read names this vault/.test(report.reason);
    const expected = { ...truths(one), ...(isUnread ? { verdict: "unknown" } : {}) };
    const found = claims(report);
    return JSON.stringify(expected) === JSON.stringify(found)
      ? []
      : [{ uuid, ending: one.ending, expected, found, reason: report.reason }];
  });
  expect(wrong).toEqual([]);
}

const dialects = [
  "sandbox",
  "lean",
  "client",
  "snake",
  "former",
  "failed-behind",
  "failed-before",
  "failure-behind",
  "wording",
  "local",
] as const;

describe("every verdict, every lock with its time, rule and chain of items, against logs whose truth is known", () => {
  it.each(dialects)("in the dialect %s", async (dialect) => {
    const { truth, reports, result } = await replayed({ seed: `accuracy ${dialect}`, dialect });
    expectTrue(truth, reports);
    expect(result.summary).toMatchObject({
      items: truth.written,
      vaultCount: truth.vaults.size,
      verdicts: truth.verdicts,
      skippedLines: 0,
    });
  });

  it("with files that cover the same time, further apart than the window", async () => {
    const folder = tempDir("audit");
    const whole = join(folder, "whole.ndjson");
    const truth = await writeLog(whole, {
      items: 60_000,
      vaults: 300,
      problems: 0.4,
      seed: "apart",
    });
    const lines = readFileSync(whole, "utf8").trimEnd().split("\n");
    const inputs = [0, 1, 2].map((part) => {
      const path = join(folder, `part-${part}.ndjson`);
      writeFileSync(path, `${lines.filter((_, index) => index % 3 === part).join("\n")}\n`);
      return { name: path, path };
    });
    const result = await replayWith({ inputs });
    expect(result.summary).toMatchObject({
      items: truth.written,
      verdicts: truth.verdicts,
      late: 0,
    });
    const reports = [...result.vaults({ problems: true })];
    expect(
      reports
        .filter(({ contradictions }) => contradictions.length > 0)
        .map(({ uuid }) => truth.vaults.get(uuid)?.unlockedUnseen),
    ).not.toContain(false);
    await result.close();
  });

  const shapes: [string, LogOptions, number?][] = [
    ["a JSON array", { form: "json" }],
    ["a JSON array in one line", { form: "json-compact" }],
    ["CSV", { form: "csv" }],
    ["TSV", { form: "tsv" }],
    ["gzip", { gzip: true }],
    ["gzip of CSV", { form: "csv", gzip: true }],
    ["items out of order", { disorder: true }],
    ["items out of order in CSV", { disorder: true, form: "csv" }],
    ["items told twice", { duplicates: 0.05 }],
    ["items told twice, out of order", { duplicates: 0.05, disorder: true }],
    ["lines that are no items, and a last one that is cut off", { garbage: 40, cutOff: true }],
    ["a byte-order mark and CRLF", { byteOrderMark: true, crlf: true }],
    ["several files", {}, 3],
    ["several files that overlap", { overlap: 500, items: 12_000 }, 3],
    ["the newest item first", { newestFirst: true, disorder: true }],
    ["the newest item first, in CSV", { newestFirst: true, disorder: true, form: "csv" }],
  ];
  it.each(shapes)("with %s", async (_what, options, parts) => {
    const { truth, reports } = await replayed({ seed: "accuracy", ...options }, parts);
    expectTrue(truth, reports);
  });
});
