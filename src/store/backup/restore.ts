import { existsSync, mkdtempSync, readdirSync, renameSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { dirname, join } from "node:path";
import type { Waiting } from "../../exchange/ports.ts";
import { refuseNetwork } from "../../files/disk.ts";
import { syncFolder } from "../../files/durable-file.ts";
import { checkPrivateDirectory, ensurePrivateDirectory } from "../../files/private-directory.ts";
import { isDamaged, onState } from "../../files/state-error.ts";
import type { Contents } from "../contents.ts";
import { localSealing } from "../contents.ts";
import type { Keyring } from "../keys/keyring.ts";
import { Keyring as LocalKeyring, neededKeyOf } from "../keys/keyring.ts";
import { marksOf, withMode } from "../sqlite/open-database.ts";
import { openReadOnly } from "../sqlite/open-read-only.ts";
import { DirectoryPlace } from "../sqlite/place.ts";
import { migrations } from "../sqlite/schema.ts";
import { engineOf } from "../sqlite/state-file.ts";
import { OpenReader } from "../whole/open-whole.ts";
import type { Whole, WholeReader } from "../whole/whole.ts";
import { readWhole } from "../whole/whole.ts";
import type { WholeState } from "./backup.ts";
import type { Holdings } from "./check.ts";
import { checkBackup, headerOf, problemsOf } from "./check.ts";
import type { MergedVault, MergeOptions } from "./merge/merge-contents.ts";
import { mergeContents } from "./merge/merge-contents.ts";

export interface RestoreOptions extends Pick<MergeOptions, "serviceRestored"> {
  /** Absolute path of the backup. */
  file: string;
}

/** What a restore has done. */
export interface RestoreFacts {
  vaults: MergedVault[];
  /** The folder to which a state that cannot be read was moved; null if there was none. */
  aside: string | null;
}

/** A restore that was prepared: nothing is changed yet. */
export interface Restore {
  backup: Holdings;
  /** What it would do with each vault, by the present state; null if there is none, or if it cannot be read. */
  vaults: MergedVault[] | null;
  isDamaged: boolean;
  /** @throws `busy`, `interrupted`, `state`, with the present state unchanged */
  run: (waiting: Waiting) => Promise<RestoreFacts>;
}

/** A backup that was checked, with its secrets open. */
export interface Backup {
  holdings: Holdings;
  contents: Contents;
  reader: WholeReader;
}

/**
 * Reads a whole backup. Does not change the file.
 * @throws `invalid-input` and `state`, as `checkBackup`
 */
export async function readBackup(file: string, keyring: Keyring): Promise<Backup> {
  await keyring.ensure(neededKeyOf(file));
  const holdings = checkBackup(file, migrations.length, keyring);
  const db = onState(file, () => openReadOnly(file), "the backup cannot be used");
  const reader = new OpenReader(engineOf(db), marksOf(db), localSealing, keyring);
  return { holdings, contents: await readWhole(reader), reader };
}

/** What a restore would do with each vault; null where there is none yet. */
export async function foresee(
  here: WholeReader,
  { contents }: Backup,
  options: MergeOptions,
): Promise<MergedVault[] | null> {
  return (await here.isEmpty())
    ? null
    : mergeContents(await readWhole(here), contents, options).vaults;
}

/** Merges a backup into a state, in the transaction that has it. The journal of vaults that were unknown here comes with them. */
export async function mergeInto(
  whole: Whole,
  { contents, reader }: Backup,
  file: string,
  options: MergeOptions,
): Promise<MergedVault[]> {
  const isEmpty = await whole.isEmpty();
  const here = await readWhole(whole);
  const { after, vaults } = mergeContents(here, contents, options);
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
  const { marks } = whole;
  const states = [reader.marks.state, ...reader.marks.predecessors].filter(
    (id) => id !== "" && id !== marks.state,
  );
  await whole.mark({ predecessors: [...new Set([...marks.predecessors, ...states])] });
  const detail = { file, serviceRestored: options.serviceRestored, taken: taken.size };
  const at = new Date(options.now).toISOString();
  await whole.append([
    {
      at,
      service: "",
      uuid: "",
      exchange: null,
      event: "restored",
      detail: JSON.stringify(detail),
    },
  ]);
  return vaults;
}

/**
 * Prepares a restore of the state on this machine. Killed at any instant, it leaves the state as it was, or merged; run again, it
 * comes to the same. A present state that is damaged is moved aside whole.
 * @throws as `readBackup`; `state` if the present state cannot be used
 */
export async function prepareRestore(
  { options, opening, locks }: WholeState,
  { file, serviceRestored }: RestoreOptions,
): Promise<Restore> {
  const { directory, clock, keySource, warn, keys } = options;
  const backup = await readBackup(file, new LocalKeyring(keySource, file, warn, keys));
  const place = new DirectoryPlace(options);
  const merging = (): MergeOptions => ({ serviceRestored, now: clock.now() });
  const isBroken =
    onState(directory, () => checkPrivateDirectory(directory)) &&
    onState(directory, () => isUnreadable(opening.path));
  const vaults = isBroken
    ? null
    : await place.read(async (here) => await foresee(here, backup, merging()));
  const run = async (waiting: Waiting): Promise<RestoreFacts> => {
    refuseNetwork(directory);
    ensurePrivateDirectory(directory);
    // By now somebody else may have moved it aside.
    const moved = (): string | null =>
      isUnreadable(opening.path) ? moveAside(directory, clock.now()) : null;
    const aside = isBroken
      ? await locks.withAll(waiting, async () => Promise.resolve(onState(directory, moved)))
      : null;
    return {
      aside,
      vaults: await place.transact(
        "restore",
        waiting,
        async (whole) => await mergeInto(whole, backup, file, merging()),
      ),
    };
  };
  return { backup: backup.holdings, vaults, isDamaged: isBroken, run };
}

/** Whether the database is damaged, or no database of this program, or was just being moved aside. */
function isUnreadable(path: string): boolean {
  if (!existsSync(path)) return false;
  if (begunAside(dirname(path)) !== undefined) return true;
  try {
    if (!statSync(path).isFile() || headerOf(path) === null) return true;
    // Others may write meanwhile, so it is not opened as immutable.
    const db = new DatabaseSync(withMode(path, "ro"), { readOnly: true });
    try {
      return problemsOf(db).length > 0;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDamaged(error)) return true;
    throw error;
  }
}

/** A folder to which the WAL of a damaged state was moved, and the database was not. */
function begunAside(directory: string): string | undefined {
  const folders = readdirSync(directory).filter((name) => name.startsWith("damaged-"));
  const has = (folder: string, name: string): boolean => existsSync(join(directory, folder, name));
  const begun = folders.find((folder) => has(folder, "vault.db-wal") && !has(folder, "vault.db"));
  return begun && join(directory, begun);
}

/**
 * Moves a damaged database into a folder beside it, and returns that. Its WAL goes first, because a new database must not meet
 * it. Call it with every vault locked.
 */
function moveAside(directory: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const folder = begunAside(directory) ?? mkdtempSync(join(directory, `damaged-${stamp}-`));
  syncFolder(directory);
  for (const name of ["vault.db-shm", "vault.db-wal", "vault.db"]) {
    if (!existsSync(join(directory, name))) continue;
    renameSync(join(directory, name), join(folder, name));
    syncFolder(folder);
    syncFolder(directory);
  }
  return folder;
}
