import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import { offlineNote, openLab, type Lab } from "./lab.ts";
import type { Machine } from "./machine.ts";
import type { RunResult } from "./run-vault.ts";
import { tempDir } from "./cleanup.ts";
import type { Postgres } from "./postgres.ts";

interface Backup {
  file: string;
  vaults: number;
  pending: number;
  keyId: string;
  key: { inBackup: boolean; source: string; file: string | null };
}

interface Restored {
  file: string;
  state: string;
  pending: number;
  vaults: {
    uuid: string;
    reason: string;
    exchange: { state: string; from: string } | null;
  }[];
}

export const backupOf = (result: RunResult): Backup =>
  (JSON.parse(result.stdout) as { backup: Backup }).backup;
export const restoredOf = (result: RunResult): Restored =>
  (JSON.parse(result.stdout) as { restored: Restored }).restored;

/** A machine that has read its vault once, and where to put a backup. */
export async function warm(): Promise<{ lab: Lab; machine: Machine; uuid: string; file: string }> {
  const lab = await openLab(offlineNote);
  const machine = await lab.warmMachine();
  return { lab, machine, uuid: lab.vault.uuid, file: join(tempDir("backups"), "backup.db") };
}

/** The same user with an empty state: a disk that was lost. */
export const anew = (lab: Lab, { home, configDir }: Machine): Machine =>
  lab.machine({ home, configDir, stateDir: join(tempDir("anew"), "state") });

/** Changes a database that nobody has open. */
export function sql(path: string, text: string): void {
  const db = new DatabaseSync(path);
  db.exec(text);
  db.close();
}

/** Spoils a table. */
export function damage(file: string, table = "vaults"): void {
  const db = new DatabaseSync(file);
  const [page] = db.prepare("SELECT rootpage AS n FROM sqlite_schema WHERE name = ?").all(table);
  db.close();
  const bytes = readFileSync(file);
  bytes.fill(0xab, (Number(page?.["n"]) - 1) * 4096, Number(page?.["n"]) * 4096);
  writeFileSync(file, bytes);
}

/** All of the state in the database file, none of it in the WAL. */
export function checkpoint(machine: Pick<Machine, "stateDir">): void {
  const script = `const { DatabaseSync } = require("node:sqlite"); new DatabaseSync(process.argv[1]).exec("PRAGMA wal_checkpoint(TRUNCATE)")`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["-e", script, join(machine.stateDir, "vault.db")],
    { encoding: "utf8" },
  );
  expect(status, stderr).toBe(0);
}

interface Entry {
  uuid: string;
  exchange: string;
  event: string;
  detail: string;
}

/** The state that an event leaves an exchange in; the others leave it as it is. */
const stateAfter: Readonly<Record<string, string>> = {
  intent: "intent",
  started: "started",
  held: "held",
  ending: "ending",
  acknowledged: "acknowledged",
  expired: "expired",
  discarded: "discarded",
  rejected: "rejected",
  "in-doubt": "in-doubt",
};

/** The state of an exchange, as its row says. */
interface Row {
  uuid: string;
  id: string;
  state: string;
}

/** Entries in their order, and rows. */
type Journal = [entries: Iterable<Entry>, rows: Iterable<Row>];

const entries = (schema = ""): string =>
  `SELECT uuid, exchange, event, detail FROM ${schema}journal WHERE exchange IS NOT NULL ORDER BY seq`;
/** The exchanges of documents, from where an engine has them as rows with the column `value`. */
const rows = (vaults: string, exchanges: string): string =>
  `SELECT uuid, value ->> 'id' AS id, value ->> 'state' AS state FROM ${vaults}, ${exchanges}`;

/** Of the state on a machine. */
export function localJournal(machine: Machine): Journal {
  const db = new DatabaseSync(join(machine.stateDir, "vault.db"), { readOnly: true });
  try {
    const queries = [entries(), rows("vaults", "json_each(doc, '$.exchanges')")];
    return queries.map((sql) => db.prepare(sql).all()) as unknown as Journal;
  } finally {
    db.close();
  }
}

export async function sharedJournal(sql: Postgres["sql"], schema: string): Promise<Journal> {
  const exchanges = rows(`${schema}.vaults`, "jsonb_array_elements(doc::jsonb -> 'exchanges')");
  return [await sql(entries(`${schema}.`)), await sql(exchanges)] as unknown as Journal;
}

/**
 * What does not fit in the journal of a state: an entry that comes from another state of its exchange than the one before
 * had left, and an exchange in another state than its last entry says.
 */
export function journalProblems(entries: Iterable<Entry>, rows: Iterable<Row>): string[] {
  const problems: string[] = [];
  const states = new Map<string, string>();
  for (const { uuid, exchange, event, detail } of entries) {
    const key = `${uuid} ${exchange}`;
    const before = states.get(key);
    const { from } = JSON.parse(detail) as { from?: string };
    if (from !== undefined && before !== undefined && from !== before)
      problems.push(`${key}: ${event} from ${from}, after ${before}`);
    if (before === undefined && !["intent", "adopted"].includes(event))
      problems.push(`${key}: begins with ${event}`);
    const after = stateAfter[event];
    if (after !== undefined) states.set(key, after);
  }
  for (const { uuid, id, state } of rows) {
    const told = states.get(`${uuid} ${id}`);
    if (told !== state)
      problems.push(`${uuid} ${id}: is ${state}, the journal says ${told ?? "nothing"}`);
  }
  return problems;
}
