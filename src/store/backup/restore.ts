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
  const isEmpty = async (): Promise<boolean> =>
    (await place.read(async (here) => await here.isEmpty())) ?? true;
  return {
    backup,
    isEmpty: await isEmpty(),
    run: async (waiting) => {
      const db = openBackup(file);
      try {
        // Where nothing is sealed, any will do.
        const { keyId } = backup;
        const key = keyId === null ? deriveKey(randomBytes(32)) : await keyring.key(keyId);
        const reader = new BackupReader(db, key, new Date(now()).toISOString());
        const facts = await restoreAll(place, reader, waiting);
        await place.store.record(...(await ending(place, reader.marks, file, now(), facts)));
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
  reader: BackupReader,
  waiting: Waiting,
): Promise<RestoreFacts> {
  const past = new Set(
    await place.read(async (here) => await here.exchangesAmong(reader.counted())),
  );
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
  await eachOf(reader.vaults(), vaultsAtATime, restoreOne);
  const names = new Set([...vaults, ...failed].map(nameOf));
  await place.read(async (here) => {
    for await (const rows of here.vaults())
      for (const row of rows)
        if (!names.has(nameOf(row)) && isKnownIn(row))
          vaults.push(told(rowsOf({ ...row, at: reader.at }, row, here.marks), "missing"));
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

/** Reads a backup, vault by vault. */
class BackupReader {
  readonly at: string;
  readonly marks: Marks;
  readonly #db: DatabaseSync;
  readonly #key: SealingKey;

  constructor(db: DatabaseSync, key: SealingKey, at: string) {
    this.#db = db;
    this.#key = key;
    this.at = at;
    this.marks = marksOf(db);
  }

  /** The vaults in their order. */
  *vaults(): Generator<BackupVault> {
    const sql = "SELECT fingerprint FROM spent WHERE service = ? AND uuid = ?";
    for (const row of this.#rows()) {
      const spent = all<{ fingerprint: string }>(this.#db, sql, row.service, row.uuid);
      const rowsIn = (columns: VaultColumns): VaultRows => {
        const rows = rowsOf({ ...columns, at: this.at }, columns, this.marks);
        for (const { fingerprint } of spent) rows.superseded.add(fingerprint);
        return rows;
      };
      const sealedWith = (key: SealingKey): VaultRows =>
        rowsIn(mapSealed(row, resealing(this.#key, key)));
      yield { rows: rowsIn(row), sealedWith };
    }
  }

  /** Ids of the exchanges that a vault here may have to count. */
  counted(): string[] {
    const ids: string[] = [];
    for (const row of this.#rows())
      ids.push(...countedThere(rowsOf({ ...row, at: this.at }, row, this.marks)).ids);
    return ids;
  }

  *#rows(): Generator<VaultColumns> {
    const sql = `SELECT ${columns} FROM vaults WHERE status <> 'absent' ORDER BY service, uuid`;
    for (const row of this.#db.prepare(sql).iterate()) yield row as unknown as VaultColumns;
  }
}
