import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { Waiting } from "../../exchange/ports.ts";
import { deriveKey } from "../../secrets/sealing.ts";
import type { Keyring } from "../keys/keyring.ts";
import { keyIdOfFile, neededKeyId } from "../keys/keyring.ts";
import { marksOf, migrate, openReadOnly } from "../sqlite/open-database.ts";
import { migrations } from "../sqlite/schema.ts";
import { copyInMemory, engineOf } from "../sqlite/state-file.ts";
import type { Restore, Holdings } from "../state.ts";
import { withPredecessors } from "../whole/marks.ts";
import type { Row, Whole, WholePlace } from "../whole/whole.ts";
import { WholeReader } from "../whole/whole.ts";
import { checkBackup, onBackup } from "./backup.ts";
import type { MergedVault } from "./merge/merge-state.ts";
import { mergeState } from "./merge/merge-state.ts";

/** A backup that was checked. */
interface Backup {
  holdings: Holdings;
  reader: WholeReader;
}

/**
 * Opens a whole backup. Does not change the file.
 * @throws `invalid-input` and `state`, as `checkBackup`
 */
async function readBackup(file: string, keyring: Keyring): Promise<Backup> {
  await keyring.ensure(keyIdOfFile(file, neededKeyId));
  const holdings = checkBackup(file, migrations.length, keyring);
  const db = onBackup(file, () =>
    holdings.format < migrations.length ? migratedInMemory(file) : openReadOnly(file),
  );
  const reader = new WholeReader(engineOf(db), marksOf(db), keyring);
  // Of what an older version has written, nothing was opened yet.
  const any = deriveKey(randomBytes(32));
  if (holdings.format < migrations.length)
    for await (const vaults of reader.vaults()) await reader.sealedBy(any, vaults);
  return { holdings, reader };
}

/** What an older version has written, brought up to date for this process alone. */
function migratedInMemory(file: string): DatabaseSync {
  const db = copyInMemory(file);
  migrate(db, migrations);
  return db;
}

/**
 * Merges a backup into a state, in the transaction that has it. The journal of vaults that were unknown here comes with them, and what
 * runs have begun.
 */
async function mergeInto(
  whole: Whole,
  reader: WholeReader,
  file: string,
  now: number,
): Promise<MergedVault[]> {
  const isEmpty = await whole.isEmpty();
  const key = await whole.ownKey();
  const { vaults, journal } = await mergeState(whole, reader, key, now, whole);
  const taken = new Set(
    vaults
      .filter(({ outcome }) => outcome === "taken")
      .map(({ service, uuid }) => `${service} ${uuid}`),
  );
  const isTaken = ({ service, uuid }: Row): boolean => taken.has(`${service} ${uuid}`);
  for await (const rows of reader.rows("runs"))
    await whole.put("runs", await reader.sealedBy(key, rows.filter(isTaken)));
  for await (const rows of reader.rows("journal"))
    await whole.put(
      "journal",
      rows.filter((row) => isEmpty || isTaken(row)),
    );
  await whole.put("journal", journal);
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
    : await place.read(async (here) =>
        (await here.isEmpty())
          ? null
          : (await mergeState(here, backup.reader, deriveKey(randomBytes(32)), now())).vaults,
      );
  return {
    backup: backup.holdings,
    vaults,
    isDamaged,
    run: async (waiting) => {
      const aside = isDamaged ? await place.moveAside(waiting) : null;
      const merge = async (whole: Whole): Promise<MergedVault[]> =>
        await mergeInto(whole, backup.reader, file, now());
      return { aside, vaults: await place.transact("restore", waiting, merge) };
    },
  };
}
