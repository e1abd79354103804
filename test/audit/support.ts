import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Replay, ReplayOptions } from "../../src/audit/replay.ts";
import { replay } from "../../src/audit/replay.ts";
import { newestRelease } from "../../src/audit/fold/rules.ts";
import { tempDir } from "../support/temp-dir.ts";
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

export interface Replayed {
  result: Replay;
  reports: VaultReport[];
}

/** Replays a file of these bytes; `by` reads it from a stream, like standard input. */
export async function replayText(
  text: string | Uint8Array,
  options: Partial<ReplayOptions> = {},
  by: "path" | "stream" = "path",
): Promise<Replayed> {
  const path = join(tempDir("replay"), "items.ndjson");
  writeFileSync(path, text);
  const input =
    by === "path" ? { name: "items", path } : { name: "items", stream: chunks(Buffer.from(text)) };
  const result = await replayWith({ inputs: [input], ...options });
  const reports = [...result.vaults({ problems: false })];
  await result.close();
  return { result, reports };
}

/** Splits bytes into small pieces, so that lines break anywhere. */
async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1021)
    yield await Promise.resolve(bytes.subarray(at, at + 1021));
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

/** The reports without what a second reading adds: only files can be read again. */
export const withoutSecondReading = (reports: readonly VaultReport[]): VaultReport[] =>
  reports.map((report) => {
    if (report.cause === undefined) return report;
    const { refused: _, ...cause } = report.cause;
    return { ...report, cause };
  });
