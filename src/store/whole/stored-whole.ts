import type { Waiting } from "../../exchange/ports.ts";
import type { GivenKey } from "../../secrets/keys.ts";
import { ofBackup } from "../../secrets/keys.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { writeBackup, writeStateFile } from "../backup/backup.ts";
import { prepareRestore } from "../backup/restore.ts";
import { rowsOf } from "../document.ts";
import type { StateHistory } from "../sqlite/snapshot.ts";
import { Keyring } from "../keyring.ts";
import type { BackupFacts, Rekeyed, Restore, StateFacts, WholeState } from "../state.ts";
import type { StoredState } from "../stored-state.ts";
import type { Whole, WholeOperation, WholeReader } from "./whole.ts";

/** What both engines do alike with a whole state. */
export abstract class StoredWhole<Store extends StoredState> implements WholeState {
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
  abstract inspect(): Promise<StateFacts>;
  abstract history(): Promise<StateHistory | null>;
  /** @throws `state` if it is missing or not used any more, and where its key is missing */
  protected abstract expectUsable(): Promise<void>;

  async backup(file: string): Promise<BackupFacts> {
    await this.expectUsable();
    return await writeBackup(this.store, file, async (temporary) => {
      await this.read(async (whole) => await writeStateFile(temporary, whole));
    });
  }

  async prepareRestore(file: string, given?: GivenKey): Promise<Restore> {
    const { keySource, warn, keys, clock } = this.store.parts;
    const keyring = new Keyring(ofBackup(keySource, given), file, warn, keys);
    return await prepareRestore(this, keyring, () => clock.now(), file);
  }

  /** The new key's file is durable before sealing; the former's stays, for what else it opens. */
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
