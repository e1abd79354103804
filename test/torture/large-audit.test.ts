import { appendFileSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, vi } from "vitest";
import { writeLog, type Truth } from "../support/audit-log.ts";
import { expectError, expectExit } from "../support/lab.ts";
import { runVault, startVault, type RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import type { ReplaySummary } from "../../src/documents/audit.ts";

// Files of some length, or without end.

const log = join(tempDir("large"), "items.ndjson");
let truth: Truth;

beforeAll(async () => {
  truth = await writeLog(log, { items: 300_000, vaults: 3000, columns: "lean" });
});

const told = ({ stdout }: RunResult): ReplaySummary =>
  JSON.parse(stdout.replaceAll(log, "standard input")) as ReplaySummary;

it("a large file is replayed as it is from a stream, line for line", async () => {
  expect(readFileSync(log).length).toBeGreaterThan(66_000_000);
  const file = await runVault(["audit-replay", log, "--json"]);
  expectExit(file, 0);
  const stream = await runVault(["audit-replay", "-", "--json"], { input: readFileSync(log) });
  expectExit(stream, 0);
  expect(told(file)).toEqual(told(stream));
  expect(told(file)).toMatchObject({ items: truth.items, verdicts: truth.verdicts });
});

it("lines without end that are no items are told, and do not keep a signal", async () => {
  appendFileSync(log, "not an item\n");
  // Nothing but zeroes, which take no place on the disk.
  truncateSync(log, 2 ** 40);
  const run = startVault(["audit-replay", log, "--json"]);
  const read = (): number =>
    Number(/^rchar: (\d+)/.exec(readFileSync(`/proc/${run.pid}/io`, "utf8"))?.[1]);
  await vi.waitFor(() => expect(read()).toBeGreaterThan(150_000_000), 20_000);
  run.kill("SIGINT");
  expectError(await run.exit, "interrupted");
});
