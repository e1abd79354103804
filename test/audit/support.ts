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
import type { Rules, VaultReport } from "../../src/documents/audit.ts";
import { viewOf } from "../../src/audit/read/bytes.ts";
import { Input } from "../../src/audit/read/input.ts";
import { noEntry, type Entry, type JournalItem } from "../../src/audit/read/item.ts";
import { Entries } from "../../src/audit/fold/order.ts";
import type { ColumnMap } from "../../src/audit/flags.ts";
import type { RawRecord } from "../../src/audit/read/records.ts";
import { Classifier } from "../../src/audit/meaning/classifier.ts";
import { Skips } from "../../src/audit/read/skips.ts";
import { recognizeForm } from "../../src/audit/read/sniff.ts";
import { openSource, type Source } from "../../src/audit/read/source.ts";
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

/** Opens an input with these bytes, in chunks of `size`. */
export const inputOf = async (content: string | Uint8Array, size = 65_536): Promise<Input> =>
  await new Input({ name: "items", stream: chunks(Buffer.from(content), size) }).open();

interface ReadRecords {
  records: RawRecord[];
  /** `line: reason` */
  skips: string[];
  /** The lists whose values were passed over. */
  passed: string[];
}

/** Cuts a content into records, of which `size` more bytes are known each time. */
export function readRecords(content: string | Uint8Array, size = 65_536): ReadRecords {
  const bytes = Buffer.from(content);
  const told: ReadRecords = { records: [], skips: [], passed: [] };
  const ignore = (): void => undefined;
  const cutter = recognizeForm(bytes.subarray(0, 65_536), bytes.length <= 65_536).cutter({
    offset: 0,
    reader: undefined,
    add: ignore,
    record: (record) => void told.records.push(record),
    skip: (line, reason) => void told.skips.push(`${line}: ${reason}`),
    unread: ignore,
    cut: ignore,
    passOver: (list) => void told.passed.push(list),
  });
  let from = 0;
  for (let to = 0; to < bytes.length;) {
    to = Math.min(to + size, bytes.length);
    from = cutter.take(viewOf(bytes), from, to, false);
  }
  cutter.take(viewOf(bytes), from, bytes.length, true);
  return told;
}

interface ReadAll {
  source: Source;
  entries: Entry[];
  /** The items, each read again. */
  items: JournalItem[];
  /** `line: reason` */
  skips: string[];
}

export async function readAll(
  content: string | Uint8Array,
  { map = {}, size = 65_536 }: { map?: ColumnMap; size?: number } = {},
): Promise<ReadAll> {
  const skips = new Skips();
  const stream = chunks(Buffer.from(content), size);
  const shared = {
    index: 0,
    map,
    vaults: new VaultTable(1_000_000),
    classifier: new Classifier(),
  };
  const source = await openSource({ name: "items", stream }, shared, skips);
  const read = new Entries();
  while (await source.next(read));
  const entries = Array.from({ length: read.count }, (_, at) => read.get(at, { ...noEntry }));
  const items = entries.map((entry) => ({ ...source.itemOf(entry), line: entry.line }));
  await source.close();
  return {
    source,
    entries,
    items,
    skips: skips.first.map(({ line, reason }) => `${line}: ${reason}`),
  };
}

/** Returns a uuid that ends in a number. */
export const uuid = (number: number, first = "9"): string =>
  `${first}b1c2d3e-0000-4000-8000-${String(number).padStart(12, "0")}`;
