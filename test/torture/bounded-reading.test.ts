import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isWhole } from "../support/campaign.ts";
import { memoryReport } from "../support/run-vault.ts";

interface Measured {
  count: number;
  skips: string[];
  kept: number;
  megabytes: number;
}

/** With 64 MB for objects that live long, whatever the content has. */
async function measure(kind: string, megabytes: number): Promise<Measured> {
  const script = join(import.meta.dirname, "measure-reading.ts");
  const report = memoryReport();
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--max-old-space-size=64", script, kind, String(megabytes)],
    { env: { ...process.env, ...report.env } },
  );
  return {
    ...(JSON.parse(stdout) as Omit<Measured, "megabytes">),
    megabytes: Math.round(report.kilobytes() / 1024),
  };
}

const stopped = ["2: longer than 1 MiB: reading stopped"];
const rows = [4, 5].map((line) => `${line}: 2 cells where the header has 4`);
test.each([
  ["a line", isWhole ? 300 : 60, 1, stopped],
  ["a line of gzip", isWhole ? 300 : 60, 1, stopped],
  ["a string", isWhole ? 100 : 20, 1, stopped],
  ["a key", 50, 1, stopped],
  ["a number", 50, 1, stopped],
  ["keys", 30, 1, stopped],
  ["a list", 30, 1, stopped],
  ["lists in lists", 50, 1, stopped],
  ["a quoted cell that is opened", 8, 1, ["3: a quote is not closed in its cell", ...rows]],
])("%s of %i MB is read in little memory", async (kind, megabytes, count, skips) => {
  const measured = await measure(kind, megabytes);
  expect(measured).toMatchObject({ count, skips });
  expect(measured.megabytes).toBeLessThan(280);
});

test.each(["rows", "rows without quotes", "elements"])(
  "what is kept of %s does not keep the rest",
  async (kind) => {
    // More than there is memory for, if all of it were kept.
    const megabytes = isWhole ? 160 : 96;
    const measured = await measure(kind, megabytes);
    expect(measured.skips).toEqual([]);
    expect(measured.count).toBe(megabytes * 4000 + (kind === "elements" ? 1 : 0));
    expect(measured.kept).toBeGreaterThan(megabytes * 37);
  },
);
