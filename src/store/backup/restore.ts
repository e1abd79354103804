import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { deriveKey } from "../../secrets/sealing.ts";
import type { VaultColumns } from "../document.ts";
import { columns, isKnownIn, mapSealed, resealing, rowsOf } from "../document.ts";
import { appendingAlone } from "../journal/journal.ts";
import type { Keyring } from "../keyring.ts";
import { marksOf } from "../sqlite/open-database.ts";
import { all } from "../sqlite/query.ts";
import type { Restore, RestoreFacts } from "../state.ts";
import type { Statement } from "../statement.ts";
import { marking } from "../statement.ts";
import type { VaultRows } from "../steps/rows.ts";
import type { StoredState } from "../stored-state.ts";
import type { StoredVaultSession } from "../vault-session.ts";
import type { Marks } from "../whole/marks.ts";
import { withPredecessors } from "../whole/marks.ts";
import type { WholePlace } from "../whole/whole.ts";
import { checkBackup, openBackup } from "./backup.ts";
import type { RestoredVault } from "./restore-vault.ts";
import { countedThere, restoreVault, told } from "./restore-vault.ts";

/** A state into which a backup is restored. */
interface Restorable extends WholePlace {
  readonly store: Pick<StoredState, "dialect" | "lock" | "record">;
  /** Makes sure that what is there is whole, before anybody is asked. @throws `state` */
  expectWhole(): Promise<void>;
}

/**
 * Prepares a restore, with a keyring for the file. Each vault is restored under its own lock: killed at any instant, run again, it comes
 * to the same.
 * @throws `invalid-input` and `state` for a file that is no whole backup; `state` if the present state cannot be used
 */
export async function prepareRestore(
  place: Restorable,
  keyring: Keyring,
  now: () => number,
  file: string,
): Promise<Restore> {
  const backup = await checkBackup(file, keyring);
  await place.expectWhole();
  return {
    backup,
    isEmpty: (await place.read(async (here) => await here.isEmpty())) ?? true,
    run: async (waiting) => {
      const db = openBackup(file);
      try {
        // Where nothing is sealed, any will do.
        const { keyId } = backup;
        const key = keyId === null ? deriveKey(randomBytes(32)) : await keyring.key(keyId);
        const facts = await restoreAll(place, db, key, new Date(now()).toISOString(), waiting);
        await place.store.record(...(await ending(place, marksOf(db), file, now(), facts)));
        return facts;
      } finally {
        db.close();
      }
    },
  };
}

/** Restores the vaults of the file, and adds those that it does not have. */
async function restoreAll(
  place: Restorable,
  db: DatabaseSync,
  key: SealingKey,
  at: string,
  waiting: Waiting,
): Promise<RestoreFacts> {
  const counted: string[] = [];
  for (const { rows } of vaultsIn(db, key, at)) counted.push(...countedThere(rows).ids);
  const past = new Set(await place.read(async (here) => await here.exchangesAmong(counted)));
  const vaults: RestoredVault[] = [];
  const failed: RestoreFacts["failed"] = [];
  const restoreOne = async (file: BackupVault): Promise<void> => {
    const { service, uuid } = file.rows;
    try {
      const session = await place.store.lock(service, uuid, waiting, false);
      try {
        vaults.push(await restoredIn(session, file, past));
      } finally {
        await session.release();
      }
    } catch (cause) {
      const error = asVaultError(cause);
      if (error.code !== "busy") throw error;
      failed.push({ service, uuid, label: file.rows.vault?.label ?? null, error });
    }
  };
  await eachOf(vaultsIn(db, key, at), vaultsAtATime, restoreOne);
  const names = new Set([...vaults, ...failed].map(nameOf));
  await place.read(async (here) => {
    for await (const rows of here.vaults())
      for (const row of rows)
        if (!names.has(nameOf(row)) && isKnownIn(row))
          vaults.push(told(rowsOf({ ...row, at }, row, here.marks), "missing"));
  });
  const byName = (a: Named, b: Named): number => (nameOf(a) < nameOf(b) ? -1 : 1);
  return { vaults: vaults.toSorted(byName), failed: failed.toSorted(byName) };
}

type Named = Pick<VaultRows, "service" | "uuid">;
const nameOf = ({ service, uuid }: Named): string => `${service} ${uuid}`;

/** A label that another vault has here is dropped. */
async function restoredIn(
  session: StoredVaultSession,
  file: BackupVault,
  past: ReadonlySet<string>,
): Promise<RestoredVault> {
  const { superseded, credentials } = file.rows;
  const prints = [...superseded, ...credentials.map(({ fingerprint }) => fingerprint)];
  const restore = async (isLabelTaken: boolean): Promise<RestoredVault> =>
    await session.run(
      (rows, key) => restoreVault(rows, key(), file.sealedWith(key()), { past, isLabelTaken }),
      prints,
    );
  try {
    return await restore(false);
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== "usage") throw error;
    return await restore(true);
  }
}

/** What is recorded once all vaults are there. */
async function ending(
  place: Restorable,
  file: Marks,
  path: string,
  now: number,
  { vaults }: Pick<RestoreFacts, "vaults">,
): Promise<Statement[]> {
  const marks = await place.read(async (here) => await Promise.resolve(here.marks));
  const predecessors = withPredecessors(marks ?? file, [file.state, ...file.predecessors]);
  const taken = vaults.filter(({ reason }) => reason === "taken").length;
  const entry = {
    at: new Date(now).toISOString(),
    service: "",
    uuid: "",
    exchange: null,
    event: "restored",
    detail: { file: path, taken },
  };
  return [
    appendingAlone(place.store.dialect, entry),
    marking(place.store.dialect.prefix, "predecessors", JSON.stringify(predecessors)),
  ];
}

/** A vault as a backup has it. */
interface BackupVault {
  rows: VaultRows;
  /** It, with its values sealed with another key. */
  sealedWith: (key: SealingKey) => VaultRows;
}

/** The vaults of a backup in their order, read one by one; `key` has sealed them. */
function* vaultsIn(db: DatabaseSync, key: SealingKey, at: string): Generator<BackupVault> {
  const marks = marksOf(db);
  const sql = `SELECT ${columns} FROM vaults WHERE status <> 'absent' ORDER BY service, uuid`;
  const rows = db.prepare(sql).iterate() as Iterable<unknown> as Iterable<VaultColumns>;
  for (const row of rows) {
    const spent = all<{ fingerprint: string }>(
      db,
      "SELECT fingerprint FROM spent WHERE service = ? AND uuid = ?",
      row.service,
      row.uuid,
    );
    const rowsIn = (given: VaultColumns): VaultRows => {
      const vault = rowsOf({ ...given, at }, given, marks);
      for (const { fingerprint } of spent) vault.superseded.add(fingerprint);
      return vault;
    };
    yield { rows: rowsIn(row), sealedWith: (to) => rowsIn(mapSealed(row, resealing(key, to))) };
  }
}
