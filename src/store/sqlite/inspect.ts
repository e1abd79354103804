import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { asVaultError, VaultError } from "../../errors.ts";
import { diskOf } from "../../files/disk.ts";
import { statIfThere } from "../../files/private-directory.ts";
import { onState, unusable } from "../../files/state-error.ts";
import { keyPlace } from "../../secrets/key-source.ts";
import { isBackup, problemsOf } from "../backup/backup.ts";
import { Keyring } from "../keys/keyring.ts";
import type { DirectoryFacts, StateFacts } from "../state.ts";
import type { StateParts } from "../stored-state.ts";
import { marksOf, openSnapshot } from "./open-database.ts";
import { all, metaOf, one } from "./query.ts";
import { readerOf } from "./state-file.ts";
import type { LocalStore } from "./state-database.ts";
import type { VaultColumns } from "../document.ts";
import { isListed, rowsOf } from "../document.ts";
import { vaultRecord } from "../vault-record.ts";

/** Inspects a state: opens its database read-only, creates nothing but the file of a key of version 0.2.0, and fixes nothing. Never throws. */
export async function inspectState({ parts, database }: LocalStore): Promise<StateFacts> {
  const { directory, keySource } = parts;
  const { path } = database.opening;
  let found: ReturnType<typeof read> | null = null;
  let problem: VaultError | null = null;
  let db: DatabaseSync | null = null;
  try {
    db = onState(path, () => (statIfThere(path) === null ? null : openSnapshot(path)));
    found = onState(path, () => db && read(db, parts));
  } catch (error) {
    problem = error instanceof VaultError ? error : unusable(path, String(error));
  }
  const key = await tryKey(parts, found?.keyId ?? null, found?.damage.length === 0 ? db : null);
  db?.close();
  const { source, file } = keyPlace(keySource, key.id);
  return {
    problem,
    vaults: found?.vaults ?? null,
    place: {
      type: "directory",
      directory,
      damage: found?.damage ?? [],
      tooOpen: [
        ...tooOpenOf([directory], 0o700),
        ...tooOpenOf([path, `${path}-wal`], 0o600),
        ...tooOpenOf(file === null ? [] : [file], 0o600),
        // Listing the folder of the key reveals nothing, so only write permission counts.
        ...tooOpenOf([keySource.folder, dirname(keySource.folder)], 0o755, 0o022),
      ],
      disk: diskOf(directory),
      keyDisk: keySource.given === undefined ? diskOf(keySource.folder) : null,
      key: { ...key, source, file },
      lastBackup: found?.lastBackup ?? null,
    },
  };
}

/** Tries the key that the state needs, or that is given for one that has none yet, on every sealed value. Never throws. */
async function tryKey(
  { keySource, directory, keys }: StateParts,
  needed: string | null,
  db: DatabaseSync | null,
): Promise<Pick<DirectoryFacts["key"], "id" | "opened" | "problem">> {
  try {
    const id = needed ?? (await keySource.given?.read())?.id ?? null;
    // Permissions are reported as `tooOpen`.
    const keyring = new Keyring(keySource, directory, () => undefined, keys);
    await keyring.ensure(needed);
    const opened = db === null ? 0 : await readerOf(db, keyring).openAll();
    return { id, opened, problem: null };
  } catch (error) {
    return { id: needed, opened: 0, problem: asVaultError(error) };
  }
}

function read(db: DatabaseSync, { clock }: Pick<StateParts, "clock">) {
  const at = new Date(clock.now()).toISOString();
  const since = marksOf(db);
  const rows = all<VaultColumns>(
    db,
    `SELECT service, uuid, label, kind, doc FROM vaults WHERE ${isListed} ORDER BY service, uuid`,
  );
  const backup = one<{ at: string; file: string }>(
    db,
    "SELECT at, detail ->> 'file' AS file FROM journal WHERE event = 'backup' ORDER BY seq DESC LIMIT 1",
  );
  return {
    damage: problemsOf(db),
    keyId: metaOf(db, "key") ?? null,
    vaults: rows.flatMap((row) => vaultRecord(rowsOf({ ...row, at }, row, since)) ?? []),
    lastBackup: backup === undefined ? null : { ...backup, isThere: isBackup(backup.file) },
  };
}

/** Files and folders whose mode has bits that are not wanted. */
const tooOpenOf = (paths: readonly string[], wanted: number, unwanted = 0o077) =>
  paths
    .map((path) => ({ path, mode: modeOf(path), wanted }))
    .filter(({ mode }) => (mode & unwanted) !== 0);

function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return 0;
  }
}
