import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { onState } from "../../files/state-error.ts";
import { mapSealed, nameOf, resealing, rowsOf, type VaultColumns } from "../document.ts";
import { appendingAlone, ofState } from "../journal.ts";
import type { Keyring } from "../keyring.ts";
import { openSnapshot } from "../sqlite/snapshot.ts";
import { marking } from "../tables.ts";
import { keyOf, type Owner } from "../steps/generations.ts";
import type { VaultRows } from "../steps/rows.ts";
import type { StoredState } from "../stored-state.ts";
import { withPredecessors } from "../whole/marks.ts";
import { marksAt, type WholePlace, type WholeReader } from "../whole/whole.ts";
import { checkBackup, readerOf, type Holdings } from "./backup.ts";
import { countedThere, restoreVault, type RestoredVault } from "./restore-vault.ts";

/** What a restore has done. */
export interface RestoreFacts {
  vaults: RestoredVault[];
  /** Vaults that others held for too long; nothing of them was restored. */
  failed: { service: string; uuid: string; label: string | null; error: VaultError }[];
}

/** A restore that was prepared: nothing is changed yet. */
export interface Restore {
  backup: Holdings;
  /** There is no state yet that holds anything. */
  isEmpty: boolean;
  /** @throws `interrupted`, `state`, with some of the vaults restored; `busy` before that */
  run: (waiting: Waiting) => Promise<RestoreFacts>;
}

/** A state into which a backup is restored. */
interface Restorable extends WholePlace {
  readonly store: Pick<StoredState, "dialect" | "lock" | "parts" | "record">;
}

/**
 * Prepares a restore, with a keyring for the file. Each vault is restored under its own lock:
 * killed at any instant and run again, it has the same result.
 * @throws `invalid-input`, `state` for a file that is no whole backup, or an unusable present state
 */
export async function prepareRestore(
  place: Restorable,
  keyring: Keyring,
  now: () => number,
  file: string,
): Promise<Restore> {
  const backup = await checkBackup(file, keyring, place.store.parts.warn);
  return {
    backup,
    isEmpty: (await place.read(async (here) => await here.isEmpty())) ?? true,
    run: async (waiting) => {
      const what = "the backup cannot be used";
      const db = onState(file, () => openSnapshot(file, "the backup"), what);
      try {
        const source = readerOf(db, keyring);
        const facts = await restoreAll(place, source, new Date(now()).toISOString(), waiting);
        const marks = await marksAt(place);
        const { state, predecessors: former } = source.marks;
        const predecessors = withPredecessors(marks ?? source.marks, [state, ...former]);
        const taken = facts.vaults.filter(({ reason }) => reason === "taken").length;
        const { dialect } = place.store;
        await place.store.record(
          appendingAlone(dialect, ofState("restored", now(), { file, taken })),
          marking(dialect.prefix, "predecessors", JSON.stringify(predecessors)),
        );
        return facts;
      } finally {
        db.close();
      }
    },
  };
}

/** Restores the vaults of the file. */
async function restoreAll(
  place: Restorable,
  source: WholeReader,
  at: string,
  waiting: Waiting,
): Promise<RestoreFacts> {
  const from = await source.key();
  const rowsIn = (row: VaultColumns): VaultRows => rowsOf({ ...row, at }, row, source.marks);
  const counted: string[] = [];
  for await (const row of source.vaults()) counted.push(...countedThere(rowsIn(row)).ids);
  const past = new Set(await place.read(async (here) => await here.exchangesAmong(counted)));
  const vaults: RestoredVault[] = [];
  const failed: RestoreFacts["failed"] = [];
  const restoreOne = async (row: VaultColumns): Promise<void> => {
    const { service, uuid, label } = row;
    const { credentials, superseded } = rowsIn(row);
    const spent = new Set([...superseded, ...(await source.spent(row))]);
    const prints = [...spent, ...credentials.map(({ fingerprint }) => fingerprint)];
    try {
      const session = await place.store.lock(service, uuid, waiting, false);
      const restore = async (isLabelTaken: boolean): Promise<RestoredVault> =>
        await session.run((rows) => {
          const theirs = rowsIn(mapSealed(row, resealing(from, keyOf(rows))));
          return restoreVault(rows, { ...theirs, superseded: spent }, { past, isLabelTaken });
        }, prints);
      try {
        vaults.push(
          await restore(false).catch(async (error: unknown) => {
            // A label that another vault has here is dropped.
            if (!(error instanceof VaultError) || error.code !== "usage") throw error;
            return await restore(true);
          }),
        );
      } finally {
        await session.release();
      }
    } catch (cause) {
      const error = asVaultError(cause);
      if (error.code !== "busy") throw error;
      failed.push({ service, uuid, label, error });
    }
  };
  await eachOf(source.vaults(), vaultsAtATime, restoreOne);
  const byName = (a: Owner, b: Owner): number => (nameOf(a) < nameOf(b) ? -1 : 1);
  return { vaults: vaults.toSorted(byName), failed: failed.toSorted(byName) };
}
