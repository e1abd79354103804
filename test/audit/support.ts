import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Replay, ReplayOptions } from "../../src/audit/replay.ts";
import { replay } from "../../src/audit/replay.ts";
import { newestRelease } from "../../src/audit/flags.ts";
import { main } from "../../src/main.ts";
import { tempDir } from "../support/cleanup.ts";
import { checkPrinted } from "../support/documents.ts";
import { fakeHost } from "../support/fake-host.ts";
import { cleanEnv } from "../support/run-vault.ts";
import type { Rules, VaultReport } from "../../src/documents/audit.ts";

export const rules: Rules = {
  limits: { unackedStarts: 5, failedAttempts: 3 },
  tokenLifetimeMs: 120_000,
  autoLockAfterMs: 365 * 86_400_000,
  release: newestRelease,
  failure: null,
};

export const vaultUuid = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** Returns a line with an item, by default of vault 1, `at` seconds after noon. */
export function line(at: number, action: string, more: Record<string, unknown> = {}): string {
  const time = new Date(Date.UTC(2026, 10, 20, 12) + at * 1000).toISOString();
  return JSON.stringify({
    id: `id-${at}-${action}`,
    time,
    action,
    outcome: "SUCCESS",
    vaultUuid: vaultUuid(1),
    ...more,
  });
}

/** Returns a line with a failed attempt. */
export const failure = (at: number, more: Record<string, unknown> = {}): string =>
  line(at, "READ_VAULT", { outcome: "FAILURE", description: "bad credentials", ...more });

/** Returns the time that `line` writes. */
export const moment = (at: number): string =>
  new Date(Date.UTC(2026, 10, 20, 12) + at * 1000).toISOString();

/** Replays by the default rules, at a fixed time. */
export const replayWith = async (options: Partial<ReplayOptions>): Promise<Replay> =>
  await replay({
    inputs: [],
    rules,
    map: {},
    timeline: "none",
    signal: new AbortController().signal,
    now: Date.UTC(2026, 10, 20, 13),
    ...options,
  });

/** Runs `vault audit-replay` in this process, in a folder; documents are held against their schema. */
export async function runAudit(
  args: readonly string[],
  cwd: string,
  input: Uint8Array = Buffer.of(),
) {
  const env = cleanEnv({ env: { HOME: tempDir("home") } });
  const host = fakeHost({ cwd, env, now: Date.UTC(2026, 10, 28), files: "real", input });
  const words = ["audit-replay", ...args];
  const exit = await main(words, host);
  checkPrinted(words, { code: exit, stdout: host.out, stderr: host.err });
  return { exit, out: host.out, err: host.err };
}

export interface Replayed {
  result: Replay;
  reports: VaultReport[];
}

/** Replays a file of these bytes; `by` reads it from a stream, like standard input. */
export async function replayText(
  text: string | Uint8Array,
  options: Partial<ReplayOptions> = {},
  by: "path" | "stream" | number = "path",
): Promise<Replayed> {
  const path = join(tempDir("replay"), "items.ndjson");
  writeFileSync(path, text);
  const size = by === "stream" ? 1021 : by;
  const input =
    size === "path"
      ? { name: "items", path }
      : { name: "items", stream: chunks(Buffer.from(text), size) };
  const result = await replayWith({ inputs: [input], ...options });
  const reports = [...result.vaults({ problems: false })];
  await result.close();
  return { result, reports };
}

/** Splits bytes into small pieces, so that lines break anywhere. */
async function* chunks(bytes: Buffer, size = 1021): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size)
    yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** Returns the report on vault 1 for a log of these lines. */
export async function reportOfOne(
  lines: readonly string[],
  options: Partial<ReplayOptions> = {},
): Promise<VaultReport> {
  const { reports } = await replayText(`${lines.join("\n")}\n`, options);
  const [only, ...others] = reports;
  if (only === undefined || others.length > 0) throw new Error(`${reports.length} vaults`);
  return only;
}

/** Returns a uuid that ends in a number. */
export const uuid = (number: number, first = "9"): string =>
  `${first}b1c2d3e-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** Cells of a table of cases: a row a line, cells between `|`. */
export const rows = (table: string): string[][] =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()));
