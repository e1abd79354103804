import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Replay, ReplayOptions } from "../../src/audit/replay.ts";
import { replay } from "../../src/audit/replay.ts";
import { newestRelease } from "../../src/audit/fold/rules.ts";
import { main } from "../../src/main.ts";
import { tempDir } from "../support/cleanup.ts";
import { checkPrinted } from "../support/documents.ts";
import { fakeHost } from "../support/fake-host.ts";
import { cleanEnv } from "../support/run-vault.ts";
import type { Rules, VaultReport, Columns } from "../../src/documents/audit.ts";
import { openInput, type Input } from "../../src/audit/read/records/input.ts";
import type { Entry, Item } from "../../src/audit/read/item.ts";
import type { ColumnMap } from "../../src/audit/columns/given.ts";
import type { AuditRecord } from "../../src/audit/read/records/record.ts";
import { TimeReader } from "../../src/audit/columns/times.ts";
import { Classifier } from "../../src/audit/meaning/classifier.ts";
import { SpareEntries } from "../../src/audit/read/entries.ts";
import { readEntries, type Reading, recordsOf } from "../../src/audit/read/read-entries.ts";
import { itemOfLine } from "../../src/audit/read/records/ndjson.ts";
import { VaultTable } from "../../src/audit/fold/vault-table.ts";

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

/** Opens an input with these bytes, in chunks of `size`. */
export async function inputOf(content: string | Uint8Array, size = 65_536): Promise<Input> {
  const bytes = Buffer.from(content);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return await openInput({ name: "items", stream: chunks() });
}

interface ReadRecords {
  input: Input;
  records: AuditRecord[];
  /** `line: reason` */
  skips: string[];
}

export async function readRecords(
  content: string | Uint8Array,
  size?: number,
): Promise<ReadRecords> {
  const input = await inputOf(content, size);
  const records: AuditRecord[] = [];
  const skips: string[] = [];
  const { records: batches } = recordsOf(input, (line, reason) => skips.push(`${line}: ${reason}`));
  for await (const batch of batches) records.push(...batch);
  return { input, records, skips };
}

export const entryOptions = (map: ColumnMap = {}) => ({
  index: 0,
  map,
  vaults: new VaultTable(1_000_000),
  classifier: new Classifier(),
  spare: new SpareEntries(),
});

/** Returns the item of an entry of a stream. */
export function itemOf({ content, input, line }: Entry, columns: Columns): Item {
  if (typeof content === "object") return content;
  const text = Buffer.from(String(content), "latin1").toString();
  const item = itemOfLine(text, columns, new TimeReader(), input, line, true);
  if ("reason" in item) throw new Error(item.reason);
  return item;
}

interface ReadAll {
  input: Input;
  columns: Columns;
  order: Reading["order"];
  items: Item[];
  skips: string[];
}

export async function readAll(
  content: string | Uint8Array,
  { map = {}, size }: { map?: ColumnMap; size?: number } = {},
): Promise<ReadAll> {
  const input = await inputOf(content, size);
  const skips: string[] = [];
  const { columns, order, entries } = await readEntries(input, entryOptions(map), (line, reason) =>
    skips.push(`${line}: ${reason}`),
  );
  const items: Item[] = [];
  for await (const some of entries) items.push(...some.map((entry) => itemOf(entry, columns)));
  return { input, columns, order, items, skips };
}

/** Returns a uuid that ends in a number. */
export const uuid = (number: number, first = "9"): string =>
  `${first}b1c2d3e-0000-4000-8000-${String(number).padStart(12, "0")}`;
