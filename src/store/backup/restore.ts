import { chmodSync, copyFileSync, existsSync, rmSync, statSync } from "node:fs";
import { replaceWith } from "../../files/durable-file.ts";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import type { Waiting } from "../../exchange/ports.ts";
import type { WholeState } from "./backup.ts";
import type { Holdings } from "./check.ts";
import { checkBackup, headerOf, holdingsOf, problemsOf } from "./check.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { append } from "../journal/journal.ts";
import { Keyring } from "../keys/keyring.ts";
import { migrate, openDatabase, withMode } from "../sqlite/open-database.ts";
import { migrations } from "../sqlite/schema.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { run } from "../sqlite/query.ts";
import { finish, install, interruptedRestore, makeKeptFolder, prepared, removeUnused } from "./install.ts";
import type { RestoreCautions } from "./marks.ts";
import { cautionsOf, keepCounters, keepSuperseded, markUnproven, present } from "./marks.ts";
import { retryBusyDatabase } from "../sqlite/state-database.ts";
import { isDamaged, onState } from "../../files/state-error.ts";

/** What an examination before a restore found. */
export interface Examined {
  backup: Holdings;
  /** A state exists that the restore would replace. */
  replaces: boolean;
}

export interface RestoreFacts extends Holdings, RestoreCautions {
  /** The folder that holds the former state, a state in itself; null if there was none. */
  replaced: string | null;
  /** The former state could be read, so that its counters and superseded pairs are kept. */
  merged: boolean;
}

/**
 * Checks a backup before anything is asked or changed.
 * @throws `invalid-input` and `state`, as `checkBackup`
 */
export function examineBackup({ options, opening }: WholeState, file: string): Examined {
  const keyring = new Keyring(options.keySource, file, options.warn, options.keys);
  const backup = checkBackup(file, opening.migrations.length, keyring);
  const there = onState(options.directory, () => checkPrivateDirectory(options.directory));
  return { backup, replaces: there && (existsSync(opening.path) || interruptedRestore(options.directory) !== null) };
}

/**
 * Replaces the present state with that of a backup, and moves the present one whole into a folder beside it. Every vault is
 * locked meanwhile. Killed at any instant, it leaves the present state, or the restored one whole once something opens it.
 * Migrates a backup of an older version. Keeps the counters, superseded pairs and refused combinations of the present state. With
 * `serviceRestored` it keeps only the counters: the service was restored to an earlier time too, so that old pairs may be valid.
 * @throws `busy`, `interrupted`, `state` (also if the present state is of a newer version), with the present state unchanged
 */
export async function restoreState(state: WholeState, file: string, serviceRestored: boolean, waiting: Waiting): Promise<RestoreFacts> {
  const { directory } = state.options;
  refuseNetwork(directory);
  ensurePrivateDirectory(directory);
  return await state.locks.withAll(waiting, async () => await replace(state, file, serviceRestored));
}

async function replace(state: WholeState, file: string, serviceRestored: boolean): Promise<RestoreFacts> {
  const { options, opening } = state;
  const { directory, clock } = options;
  const now = clock.now();
  const what = "the backup cannot be restored";
  const folder = onState(
    directory,
    () => {
      finish(directory);
      removeUnused(directory);
      return makeKeptFolder(directory, now);
    },
    what,
  );
  try {
    const merged = await retryBusyDatabase(clock, opening.path, () => leavePresent(state, { file, folder }, now));
    return onState(
      directory,
      () => {
        const facts = replaceWith(join(folder, prepared), (copy) => {
          copyFileSync(file, copy);
          chmodSync(copy, 0o600);
          // Checks the copy, which nobody can change, as the backup was checked before.
          checkBackup(copy, opening.migrations.length, new Keyring(options.keySource, file, options.warn, options.keys));
          return prepare(copy, { present: merged ? opening.path : null, serviceRestored, file, now }, opening.migrations);
        });
        return { ...facts, merged, replaced: install(directory, folder) };
      },
      what,
    );
  } catch (error) {
    removeUnused(directory);
    throw error;
  }
}

/**
 * Records in the present state that it is replaced, and ends the right of every lock holder to write in it. Returns whether it
 * can be read. A damaged state does not stop a restore.
 */
function leavePresent({ options, opening }: WholeState, { file, folder }: { file: string; folder: string }, now: number): boolean {
  if (!existsSync(opening.path)) return false;
  try {
    const isOurs = statSync(opening.path).isFile() && headerOf(opening.path) !== null;
    const connection = isOurs ? openDatabase(opening) : null;
    try {
      if (connection !== null && problemsOf(connection).length === 0) {
        connection.exec("BEGIN IMMEDIATE");
        migrate(connection, opening.migrations);
        run(connection, "UPDATE locks SET epoch = epoch + 1");
        const at = new Date(now).toISOString();
        append(connection, { at, service: "", uuid: "", exchange: null, event: "restore-begun", detail: { file, replaced: folder } });
        connection.exec("COMMIT");
        return true;
      }
    } finally {
      connection?.close();
    }
  } catch (error) {
    if (!isDamaged(error)) throw error;
  }
  options.warn(`the state in ${options.directory} is damaged; its counters and superseded credentials cannot be carried over`);
  return false;
}

interface Preparation {
  /** The database of the present state; null if there is none, or it cannot be read. */
  present: string | null;
  serviceRestored: boolean;
  file: string;
  now: number;
}

/** Turns the copy of a backup into a state; leaves no WAL beside it. */
export function prepare(copy: string, given: Preparation, scripts = migrations): Holdings & RestoreCautions {
  const merged = given.present !== null;
  const at = new Date(given.now).toISOString();
  const db = new DatabaseSync(withMode(copy, "rw"));
  try {
    db.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    if (given.present !== null) db.prepare(`ATTACH ? AS ${present}`).run(withMode(given.present, "ro").href);
    db.exec("BEGIN IMMEDIATE");
    migrate(db, scripts);
    markUnproven(db, at);
    if (merged) keepCounters(db);
    if (merged && !given.serviceRestored) keepSuperseded(db, at);
    const cautions = cautionsOf(db, merged);
    const { serviceRestored, file } = given;
    const detail = { file, merged, serviceRestored, ...cautions };
    append(db, { at, service: "", uuid: "", exchange: null, event: "restored", detail });
    const holdings = holdingsOf(db);
    db.exec("COMMIT");
    if (merged) db.exec(`DETACH ${present}`);
    db.exec("PRAGMA journal_mode = WAL");
    return { ...holdings, ...cautions };
  } finally {
    db.close();
    for (const ending of ["-journal", "-wal", "-shm"]) rmSync(copy + ending, { force: true });
  }
}
