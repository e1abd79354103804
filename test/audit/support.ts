import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { replay, type Replay, type ReplayOptions } from "../../src/audit/replay.ts";
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
  const [id, time, outcome] = [`id-${at}-${action}`, moment(at), "SUCCESS"];
  return JSON.stringify({ id, time, action, outcome, vaultUuid: vaultUuid(1), ...more });
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
    timeline: false,
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
  result.close();
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

const clients: Record<string, object> = {
  c: { externalRef: "cron", ipAddress: "10.0.0.7" },
  b: { externalRef: "billing", ipAddress: "10.0.0.7" },
  w: { externalRef: "web", ipAddress: "10.0.0.8" },
  n: { ipAddress: "10.0.0.7" },
  ...Object.fromEntries(
    ["x", "y", "z"].map((letter) => [
      letter,
      { externalRef: `order-${letter}`, ipAddress: "10.0.0.7" },
    ]),
  ),
};
const refused = (description?: string, action = "READ_VAULT", outcome = "FAILURE") =>
  [action, { outcome, description }] as const;
const letters: Record<string, readonly [action: string, more?: object]> = {
  C: ["CREATE_VAULT"],
  S: ["READ_VAULT"],
  U: ["UPDATE_VAULT"],
  A: ["ACKNOWLEDGE_READ_VAULT"],
  B: ["ACKNOWLEDGE_UPDATE_VAULT"],
  D: ["DELETE_VAULT"],
  Y: ["LOCK_VAULT"],
  Z: ["UNLOCK_VAULT"],
  // Refused with wrong credentials; because of a lock; an item that says that it locks; an acknowledgement.
  F: refused("bad credentials"),
  L: refused("the vault is locked"),
  K: refused("bad credentials, vault locked"),
  N: refused("too many starts without acknowledgement, vault locked"),
  T: refused("the token is unknown or has expired", "ACKNOWLEDGE_READ_VAULT"),
  G: refused("no such vault"),
  M: refused("Down for maintenance"),
  // Refused for an unknown reason, or without one, or with 401 alone; unknown outcomes of a start and of an acknowledgement.
  R: refused("qwx"),
  P: refused(),
  Q: refused(undefined, "READ_VAULT", "401 Unauthorized"),
  V: refused(undefined, "READ_VAULT", "qwx"),
  W: refused(undefined, "ACKNOWLEDGE_READ_VAULT", "qwx"),
  X: ["QWX"],
};

/** Lines by letters: `S1` is a start one second after noon, `2:F3c` a failed attempt on vault 2 by the client cron. */
export const log = (text: string, more: object = {}): string[] =>
  text.split(" ").map((each) => {
    const [, vault = "1", letter = "", at, client = ""] =
      /^(?:(\d+):)?([A-Z])(-?[\d.]+)([a-z]?)$/.exec(each) ?? [];
    const [action = each, own] = letters[letter] ?? [];
    return line(Number(at), action, {
      vaultUuid: vaultUuid(Number(vault)),
      ...own,
      ...clients[client],
      ...more,
    });
  });
