import type { DatabaseSync } from "node:sqlite";
import type { Waiting } from "../../exchange/ports.ts";
import type { Contents } from "../contents.ts";
import { contentTables } from "../contents.ts";
import type { Keyring } from "../keys/keyring.ts";
import { keyIdOfFile, neededKeyId } from "../keys/keyring.ts";
import { marksOf, openReadOnly, schemaVersion } from "../sqlite/open-database.ts";
import { migrations } from "../sqlite/schema.ts";
import { engineOf } from "../sqlite/state-file.ts";
import type { Restore, Holdings } from "../state.ts";
import { withPredecessors } from "../whole/marks.ts";
import type { Whole, WholePlace } from "../whole/whole.ts";
import { readWhole, WholeReader } from "../whole/whole.ts";
import { checkBackup, onBackup } from "./backup.ts";
import type { MergedVault } from "./merge/merge-contents.ts";
import { mergeContents } from "./merge/merge-contents.ts";

/** A backup that was checked, with its secrets open. */
interface Backup {
  holdings: Holdings;
  contents: Contents;
  reader: WholeReader;
}

/**
 * Reads a whole backup. Does not change the file.
 * @throws `invalid-input` and `state`, as `checkBackup`
 */
async function readBackup(file: string, keyring: Keyring): Promise<Backup> {
  await keyring.ensure(keyIdOfFile(file, neededKeyId));
  const holdings = checkBackup(file, migrations.length, keyring);
  const db = onBackup(file, () => openReadOnly(file));
  if (holdings.format < migrations.length) migrateInMemory(db);
  const reader = new WholeReader(engineOf(db), marksOf(db), keyring);
  return { holdings, contents: await readWhole(reader), reader };
}

/** Brings what an older version has written up to date, for this connection alone: temporary tables hide those of the file. */
function migrateInMemory(db: DatabaseSync): void {
  db.exec("PRAGMA temp_store = MEMORY");
  for (const table of contentTables)
    db.exec(`CREATE TEMP TABLE ${table} AS SELECT * FROM main.${table}`);
  db.exec("CREATE TEMP TABLE meta AS SELECT * FROM main.meta");
  for (const script of migrations.slice(schemaVersion(db))) db.exec(script);
}

/** What a restore would do with each vault; null where there is none yet. */
async function foresee(
  here: WholeReader,
  { contents }: Backup,
  now: number,
): Promise<MergedVault[] | null> {
  return (await here.isEmpty()) ? null : mergeContents(await readWhole(here), contents, now).vaults;
}

/** Merges a backup into a state, in the transaction that has it. The journal of vaults that were unknown here comes with them. */
async function mergeInto(
  whole: Whole,
  { contents, reader }: Backup,
  file: string,
  now: number,
): Promise<MergedVault[]> {
  const isEmpty = await whole.isEmpty();
  const here = await readWhole(whole);
  const { after, vaults } = mergeContents(here, contents, now);
  const taken = new Set(
    vaults
      .filter(({ outcome }) => outcome === "taken")
      .map(({ service, uuid }) => `${service} ${uuid}`),
  );
  for await (const entries of reader.journal()) {
    await whole.append(
      entries.filter(({ service, uuid }) => isEmpty || taken.has(`${service} ${uuid}`)),
    );
  }
  await whole.write(here, after);
  const { state, predecessors } = reader.marks;
  await whole.mark({ predecessors: withPredecessors(whole.marks, [state, ...predecessors]) });
  await whole.note("restored", now, { file, taken: taken.size });
  return vaults;
}

/** A place into which a backup is merged. */
interface Restorable extends WholePlace {
  /** Whether what is there is damaged, so that it can only be moved aside. Makes sure of all else before anybody is asked. */
  isDamaged(): Promise<boolean>;
  /** Moves what is damaged aside whole, unless somebody else has meanwhile; returns where to. */
  moveAside(waiting: Waiting): Promise<string | null>;
}

/**
 * Prepares a restore, with a keyring for the file. Killed at any instant, it leaves the state as it was, or merged; run again, it
 * comes to the same. Machines that share the state offer afterwards what they have kept of exchanges that may be lost.
 * @throws `invalid-input` and `state` for a file that is no whole backup; `state` if the present state cannot be used
 */
export async function prepareRestore(
  place: Restorable,
  keyring: Keyring,
  now: () => number,
  file: string,
): Promise<Restore> {
  const backup = await readBackup(file, keyring);
  const isDamaged = await place.isDamaged();
  const vaults = isDamaged
    ? null
    : await place.read(async (here) => await foresee(here, backup, now()));
  return {
    backup: backup.holdings,
    vaults,
    isDamaged,
    run: async (waiting) => {
      const aside = isDamaged ? await place.moveAside(waiting) : null;
      const merge = async (whole: Whole): Promise<MergedVault[]> =>
        await mergeInto(whole, backup, file, now());
      return { aside, vaults: await place.transact("restore", waiting, merge) };
    },
  };
}
