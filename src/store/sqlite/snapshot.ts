import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isListed, type VaultColumns } from "../document.ts";
import { listed, type JournalEntry } from "../tables.ts";
import * as version1 from "../version-1.ts";
import type { Clock } from "../../exchange/ports.ts";
import { fileIfThere, findPrivateDirectory } from "../../files/private-directory.ts";
import {
  all,
  checkOurs,
  checkUsable,
  isOlder,
  isOurs,
  migrate,
  migrations,
  retryBusyDatabase,
  schemaVersion,
  withMode,
} from "./database.ts";

/**
 * Opens a database read-only and creates nothing beside it: if a file with one of the suffixes is
 * missing or empty, opens it as immutable, because SQLite would create an empty WAL.
 * @throws what SQLite throws
 */
function openReadOnly(path: string, beside: readonly string[] = ["-wal"]): DatabaseSync {
  const isAtRest = beside.some(
    (suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) === 0,
  );
  return new DatabaseSync(withMode(path, isAtRest ? "ro&immutable=1" : "ro"), { readOnly: true });
}

/**
 * The vaults that `status` lists, for completion; none if there is no state or it is of a newer
 * version. Changes nothing, reads no key and never waits.
 * @throws what SQLite or the file system throws
 */
export function readKnownVaults(
  directory: string,
): Pick<VaultColumns, "uuid" | "label" | "kind">[] {
  const path = join(directory, "vault.db");
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (!isFile || !isPrivate(directory)) return [];
  // SQLite would create the index that a WAL lacks.
  const db = openReadOnly(path, ["-wal", "-shm"]);
  if (!isOurs(db) || schemaVersion(db) > migrations.length) return [];
  return all(
    db,
    `SELECT uuid, label, kind FROM vaults WHERE ${isListed} ORDER BY label IS NULL, label, uuid`,
  );
}

/** Whether nobody else can write in a folder: what others can write is not believed. */
const isPrivate = (folder: string): boolean => (statSync(folder).mode & 0o022) === 0;

/** A copy in memory, brought up to date for this process alone. */
function migratedInMemory(file: string): DatabaseSync {
  const memory = `file:/${randomUUID()}?vfs=memdb`;
  const copy = new DatabaseSync(memory);
  const from = openReadOnly(file);
  try {
    from.prepare("VACUUM INTO ?").run(memory);
  } finally {
    from.close();
  }
  migrate(copy, version1);
  return copy;
}

/**
 * Opens a snapshot of a state (or of `what`) read-only; of an older one, a copy.
 * @throws as `checkOurs` and `checkUsable`, and what SQLite throws
 */
export function openSnapshot(path: string, what?: string): DatabaseSync {
  const db = openReadOnly(path);
  try {
    db.exec("BEGIN");
    checkOurs(db, path, what);
    checkUsable(db, path);
    if (!isOlder(db)) return db;
    db.close();
    return migratedInMemory(path);
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

/** A snapshot of what this machine has done. */
export class StateHistory {
  readonly #db: DatabaseSync;

  /** The database is closed with it. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Yields entries about calls lazily, oldest first. Return the generator or read it out. */
  *journal(): Generator<JournalLine> {
    type Line = Omit<JournalLine, "detail"> & { detail: string };
    for (const row of this.#db.prepare(lines).iterate() as Iterable<Line>)
      yield { ...row, detail: JSON.parse(row.detail) as JournalLine["detail"] };
  }

  /** Labels by UUID, in lower case, of the vaults that have one. */
  labels(): ReadonlyMap<string, string> {
    const sql = `SELECT uuid, label FROM vaults WHERE ${isListed} AND label IS NOT NULL`;
    const labelled = all<{ uuid: string; label: string }>(this.#db, sql);
    return new Map(labelled.map(({ uuid, label }) => [uuid, label]));
  }

  close(): void {
    this.#db.close();
  }
}

/**
 * Opens the journal read-only; null if there is no state. Changes nothing and needs no key.
 * @throws `state` if the state cannot be read
 */
export async function openHistory(directory: string, clock: Clock): Promise<StateHistory | null> {
  if (findPrivateDirectory(directory) === null) return null;
  const path = join(directory, "vault.db");
  if (fileIfThere(path) === null) return null;
  return new StateHistory(await retryBusyDatabase(clock, path, () => openSnapshot(path)));
}

/** An entry of the journal, with what only later entries reveal about it. */
export interface JournalLine extends JournalEntry {
  /** Position in the journal, from 1, in the order of events. */
  seq: number;
  /**
   * Outcome of an unanswered start (`intent`) or end call (`ending`). `unknown`: never learned.
   * `arrived`: a later start showed its effect. `told`: this entry does, for an earlier end call.
   */
  fate: "unknown" | "arrived" | "told" | null;
}

/** Events that the service saw, or that tell what it saw. */
const events = [
  "intent",
  "unanswered",
  "rejected",
  "discarded",
  "started",
  "ending",
  "end-answered",
  "acknowledged",
  "expired",
  "adopted",
  "created",
  "deleted",
  "counters-reset",
];

const isCall = "IN ('intent', 'ending')";

/** A call got no answer if nothing follows, or a later start's effect, or a discard. */
const lines = `
  SELECT seq, at, service, uuid, exchange, event, detail, CASE
    WHEN exchange IS NULL THEN NULL
    WHEN event = 'acknowledged' AND former ${isCall} AND detail ->> 'from' = 'in-doubt' THEN 'told'
    WHEN NOT event ${isCall} THEN NULL
    WHEN next IS NULL THEN 'unknown'
    WHEN next IN ('discarded', 'acknowledged') THEN (
      SELECT CASE
        WHEN event = 'discarded' AND detail ->> 'from' = 'intent' AND detail ->> 'takenBack' IS NULL THEN 'unknown'
        WHEN event = 'acknowledged' AND detail ->> 'from' = 'in-doubt' THEN 'arrived'
      END FROM journal WHERE seq = nextSeq)
  END AS fate
  FROM journal JOIN (
    SELECT seq, lag(event) OVER own AS former, lead(event) OVER own AS next, lead(seq) OVER own AS nextSeq
    FROM journal WHERE uuid <> '' AND event IN (${listed(events)}) WINDOW own AS (PARTITION BY uuid, exchange ORDER BY seq)
  ) USING (seq) ORDER BY seq`;
