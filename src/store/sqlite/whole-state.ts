import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { all, marksOf, snapshotIn } from "./database.ts";
import type { StateDatabase } from "./state-database.ts";
import { engineOf, problemOf, readerOf } from "../backup/backup.ts";
import { isListed } from "../document.ts";
import type { StoredState } from "../stored-state.ts";
import { StoredWhole, type DirectoryFacts, type StateFacts } from "../whole/stored-whole.ts";
import { Whole, type WholeOperation, type WholeReader } from "../whole/whole.ts";
import { asVaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { unsafeDisk } from "../../files/disk.ts";
import { checkWriters, statIfThere } from "../../files/private-directory.ts";
import { asStateError, damagedState, onState } from "../../files/state-error.ts";
import { keyPlace, type KeyPlace } from "../../secrets/keys.ts";

/** The whole of the state in a directory of this machine. Paths are absolute. */
export class SqliteWhole extends StoredWhole<StoredState & { database: StateDatabase }> {
  async read<T>(work: (whole: WholeReader) => T | Promise<T>, isWhole = true): Promise<T | null> {
    const { database, parts } = this.store;
    // Whoever is to claim it or finish its move reads it, too.
    if ((await database.open()) === null) return null;
    return await database.converse("BEGIN", async (db) => {
      // A damaged state gives nothing away as whole, nor takes it in: it is moved aside.
      const problem = isWhole ? problemOf(db) : null;
      if (problem !== null) throw damagedState(database.path, problem);
      return await work(readerOf(db, parts.keyring));
    });
  }

  async transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T> {
    const { database, parts } = this.store;
    await database.ensure();
    const make = async (db: DatabaseSync): Promise<T> =>
      await work(new Whole(engineOf(db), marksOf(db), parts.keyring));
    const made = await database.locks.withAll(
      waiting,
      async () => await database.converse("BEGIN IMMEDIATE", make),
    );
    if (operation !== "rekey") return made;
    // Unused parts of the file must not keep what the old key opens.
    await database.compact().catch((error: unknown) => {
      const what = `unused parts of ${database.path} may still hold what the old key opens`;
      parts.warn(`${what}: ${(error as Error).message}`);
    });
    return made;
  }

  /** Reads only, but may create a key file of version 0.2.0. */
  async inspect(): Promise<StateFacts> {
    const { directory, keySource, keyring, clock } = this.store.parts;
    const { given, folder } = keySource;
    const facts: Omit<StateFacts, "place"> = { problem: null, vaults: null };
    const key: Omit<DirectoryFacts["key"], keyof KeyPlace> = { id: null, opened: 0, problem: null };
    let damage: string | null = null;
    let last: DirectoryFacts["lastBackup"] = null;
    let db: DatabaseSync | null = null;
    try {
      db = await snapshotIn(directory, clock);
      if (db !== null) {
        damage = problemOf(db);
        key.id = marksOf(db).key;
        last = all<NonNullable<typeof last>>(db, lastBackup)[0] ?? null;
        const counted = `SELECT count(*) AS vaults FROM vaults WHERE ${isListed}`;
        facts.vaults = all<{ vaults: number }>(db, counted)[0]?.vaults ?? 0;
      }
    } catch (error) {
      facts.problem = asVaultError(asStateError(this.store.database.path, error));
    }
    try {
      if (key.id !== null) await keyring.key(key.id);
      key.id ??= (await given?.read())?.id ?? null;
      if (db !== null && facts.vaults !== null && damage === null)
        key.opened = await readerOf(db, keyring).openAll();
      // Whoever can write there can take the key away.
      if (given === undefined)
        for (const each of [folder, dirname(folder)]) {
          const stats = onState(each, () => statIfThere(each));
          if (stats !== null) checkWriters(each, stats, "the folder of the key files");
        }
    } catch (error) {
      key.problem = asVaultError(error);
    }
    db?.close();
    const place: DirectoryFacts = {
      type: "directory",
      directory,
      damage,
      disk: unsafeDisk(directory),
      keyDisk: given === undefined ? unsafeDisk(folder) : null,
      key: { ...key, ...keyPlace(keySource, key.id) },
      lastBackup: last,
    };
    return { ...facts, place };
  }
}

const lastBackup =
  "SELECT at, detail ->> 'file' AS file FROM journal WHERE event = 'backup' ORDER BY seq DESC LIMIT 1";
