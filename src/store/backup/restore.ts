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
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { run } from "../sqlite/query.ts";
import { finish, install, leftRestore, makeKeptFolder, prepared, removeUnused } from "./install.ts";
import type { RestoreCautions } from "./marks.ts";
import { cautionsOf, keepCounters, keepSuperseded, markUnproven, present } from "./marks.ts";
import { retryBusyDatabase } from "../sqlite/state-database.ts";
import { isDamaged, onState } from "../../files/state-error.ts";

/** What is there before a restore. */
export interface Examined {
  backup: Holdings;
  /** There is a state that would be replaced. */
  replaces: boolean;
}

export interface RestoreFacts extends Holdings, RestoreCautions {
  /** The folder that holds the state of before, a state in itself; null if there was none. */
  replaced: string | null;
  /** The state of before could be read, so that nothing it knew of counters and superseded pairs is lost. */
  merged: boolean;
}

/**
 * Checks a backup before anything is asked or touched.
 * @throws `invalid-input` and `state` as `checkBackup` does
 */
export function examineBackup({ options, opening }: WholeState, file: string): Examined {
  const keyring = new Keyring(options.keySource, file, options.warn, options.keys);
  const backup = checkBackup(file, opening.migrations.length, keyring);
  const there = onState(options.directory, () => checkPrivateDirectory(options.directory));
  return { backup, replaces: there && (existsSync(opening.path) || leftRestore(options.directory) !== null) };
}

/**
 * Puts the state of a backup in the place of the present one, which goes whole into a folder beside it. No exchange is under way
 * meanwhile: every vault is held. Killed at any instant, it leaves the state of before, or the restored one whole once something
 * opens it. The tables of an older version are brought up to date. Counters, superseded pairs and refused combinations that the
 * present state knows are kept; with `serviceRestored` only the counters are: the service was brought back to an earlier time as
 * well, so that its old pairs may be valid again, and those of the backup are sent.
 * @throws `busy`, `interrupted`, `state` (also where the present state is of a newer version), with the present state as it was
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
          // What was checked before is checked again on the copy: from here on nobody can change it.
          checkBackup(copy, opening.migrations.length, new Keyring(options.keySource, file, options.warn, options.keys));
          return prepare(state, copy, { merged, serviceRestored, file, now });
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
 * Tells the present state that it is replaced: in its journal, and to whoever should still write in it. Returns whether it can
 * be read; one that is damaged is no reason to stop, it is why there are backups.
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
  options.warn(`the state in ${options.directory} is damaged: what it knew of counters and superseded pairs cannot be carried over`);
  return false;
}

interface Preparation {
  merged: boolean;
  serviceRestored: boolean;
  file: string;
  now: number;
}

/** Makes the copy a state, without a WAL of its own. */
function prepare({ opening }: WholeState, copy: string, given: Preparation): Holdings & RestoreCautions {
  const at = new Date(given.now).toISOString();
  const db = new DatabaseSync(withMode(copy, "rw"));
  try {
    db.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    if (given.merged) db.prepare(`ATTACH ? AS ${present}`).run(withMode(opening.path, "ro").href);
    db.exec("BEGIN IMMEDIATE");
    migrate(db, opening.migrations);
    markUnproven(db, at);
    if (given.merged) keepCounters(db);
    if (given.merged && !given.serviceRestored) keepSuperseded(db, at);
    const cautions = cautionsOf(db, given.merged);
    const { merged, serviceRestored, file } = given;
    const detail = { file, merged, serviceRestored, ...cautions };
    append(db, { at, service: "", uuid: "", exchange: null, event: "restored", detail });
    const holdings = holdingsOf(db);
    db.exec("COMMIT");
    if (given.merged) db.exec(`DETACH ${present}`);
    db.exec("PRAGMA journal_mode = WAL");
    return { ...holdings, ...cautions };
  } finally {
    db.close();
    for (const ending of ["-journal", "-wal", "-shm"]) rmSync(copy + ending, { force: true });
  }
}
