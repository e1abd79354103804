import type { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { GivenKey, KeyPlace } from "../../secrets/keys.ts";
import type { DiskFacts } from "../../files/disk.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { BackupFacts } from "../../documents/state.ts";
import { prepareRestore, writeBackup, type Restore } from "../backup/backup.ts";
import { rowsOf } from "../document.ts";
import type { StateHistory } from "../sqlite/snapshot.ts";
import type { StoredState } from "../stored-state.ts";
import type { Whole, WholeOperation, WholePlace, WholeReader } from "./whole.ts";

export interface Rekeyed {
  /** Id of the former key; null where there was none. */
  from: string | null;
  to: string;
  /** Number of sealed values that were changed. */
  values: number;
  /** Names of the machines that have used the state. */
  machines: string[];
}

/** What can be found out about a state without changing anything. */
export interface StateFacts {
  /** Why it cannot be used. */
  problem: VaultError | null;
  /** How many there are; null if there is no state yet, or it cannot be read. */
  vaults: number | null;
  /** What its place says of itself; null if it cannot be asked. */
  place: DirectoryFacts | ServerFacts | null;
}

/** What can be found out about the key of a state without changing anything. */
interface KeyFacts extends KeyPlace {
  /** Null if there is no key yet. */
  id: string | null;
  opened: number;
  /** Why the key cannot be used, or does not open the first value that fails. */
  problem: VaultError | null;
}

export interface DirectoryFacts {
  type: "directory";
  directory: string;
  /** What SQLite finds wrong with the database; empty if nothing is. */
  damage: string[];
  disk: DiskFacts | null;
  /** Of the key file; null where the key is elsewhere. */
  keyDisk: DiskFacts | null;
  key: KeyFacts;
  /** The journal's newest backup. */
  lastBackup: { at: string; file: string } | null;
}

export interface ServerFacts {
  type: "server";
  location: string;
  hasTls: boolean;
  keyId: string;
}

/** Operations on a whole state. Each engine's method does what only that engine needs. */
export abstract class StoredWhole<Store extends StoredState = StoredState> implements WholePlace {
  readonly shown: string;
  readonly store: Store;

  constructor(store: Store) {
    this.shown = store.shown;
    this.store = store;
  }

  abstract read<T>(work: (whole: WholeReader) => T | Promise<T>): Promise<T | null>;
  abstract transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T>;
  /** Finds out what it can without changing anything. A problem is a fact. */
  abstract inspect(): Promise<StateFacts>;
  /** What the journal tells, as of now; null where there is none. */
  abstract history(): Promise<StateHistory | null>;
  /** @throws `state` if it is missing or not used any more, and where its key is missing */
  protected abstract expectUsable(): Promise<void>;

  async backup(file: string, signal?: AbortSignal): Promise<BackupFacts> {
    await this.expectUsable();
    return await writeBackup(this, file, signal);
  }

  /** See `prepareRestore`; `file` is absolute. */
  async prepareRestore(file: string, given?: GivenKey): Promise<Restore> {
    return await prepareRestore(this, file, given);
  }

  /**
   * Seals it with another key, named in the same transaction: whoever has the former key writes
   * nothing from then on. `given` is kept elsewhere; without it, a new one is made in a file, durable
   * before sealing. The former's stays, for what else it opens.
   * @throws `busy`, `interrupted`; `state` if a value does not open, and nothing is changed
   */
  async rekey(given: SealingKey | undefined, waiting: Waiting): Promise<Rekeyed> {
    const { keyring, clock } = this.store.parts;
    return await this.transact("rekey", waiting, async (whole) => {
      const from = whole.marks.key;
      const to = keyring.replacement(given);
      const machines = new Set<string>();
      for await (const row of whole.vaults())
        for (const { by: actor } of rowsOf({ ...row, at: "" }, row, whole.marks).exchanges)
          if (actor !== null) machines.add(actor.host);
      const values = await whole.reseal(to);
      await whole.mark({ key: to.id });
      await whole.note("rekeyed", clock.now(), { from, to: to.id, values });
      // Everything opens with it, or the transaction ends here.
      await whole.openAll(to);
      return { from, to: to.id, values, machines: [...machines].sort() };
    });
  }
}
