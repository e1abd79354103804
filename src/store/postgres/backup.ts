import { statSync } from "node:fs";
import type { Waiting } from "../../exchange/ports.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { asStateError } from "../../files/state-error.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { BackupFacts } from "../backup/backup.ts";
import { checkTarget } from "../backup/backup.ts";
import type { Holdings } from "../backup/check.ts";
import { checkBackup } from "../backup/check.ts";
import type { MergedVault, MergeOptions } from "../backup/merge/merge-contents.ts";
import type { Restore, RestoreFacts, RestoreOptions } from "../backup/restore.ts";
import { foresee, mergeInto, readBackup } from "../backup/restore.ts";
import { Keyring } from "../keys/keyring.ts";
import { writeStateFile } from "../sqlite/state-file.ts";
import type { Whole, WholeReader } from "../whole/whole.ts";
import { transactAtGate } from "./gate.ts";
import { append } from "./journal.ts";
import type { DatabasePlace, Query } from "./place.ts";
import { setBackNow } from "./set-back.ts";
import type { PostgresStore } from "./store.ts";

interface Options {
  keySource: KeySource;
  /** The state directory of this machine, in which no backup may lie. */
  directory: string;
}

/** Backups of a shared state: files like those of a state on this machine, so that either takes the backups of the other. */
export class SharedBackup {
  readonly #store: PostgresStore;
  readonly #place: DatabasePlace;
  readonly #options: Options;

  constructor(store: PostgresStore, place: DatabasePlace, options: Options) {
    this.#store = store;
    this.#place = place;
    this.#options = options;
  }

  /** As `backupState`, while other machines go on. */
  async backup(file: string, force: boolean): Promise<BackupFacts> {
    checkTarget(this.#options, file, force);
    await this.#store.ready();
    const at = new Date(this.#store.parts.clock.now()).toISOString();
    const holdings = await this.#place.read(async (whole) => await this.#write(file, at, whole));
    return { ...holdings, file, bytes: statSync(file).size, at };
  }

  /** As `prepareRestore`. The machines offer afterwards what they have kept of exchanges that may be lost. */
  async prepareRestore({ file, serviceRestored }: RestoreOptions): Promise<Restore> {
    const { schema, clock } = this.#store.parts;
    const backup = await readBackup(
      file,
      new Keyring(this.#options.keySource, file, this.#store.parts.warn),
    );
    await this.#store.ready();
    const merging = (): MergeOptions => ({ serviceRestored, now: clock.now() });
    const vaults = await this.#place.read(async (here) => await foresee(here, backup, merging()));
    const run = async (waiting: Waiting): Promise<RestoreFacts> => {
      const merge = async (whole: Whole, query: Query): Promise<MergedVault[]> => {
        await query(setBackNow(schema));
        return await mergeInto(whole, backup, file, merging());
      };
      return { aside: null, vaults: await this.#place.change("restore", waiting, merge) };
    };
    return { backup: backup.holdings, vaults, isDamaged: false, run };
  }

  async #write(file: string, at: string, whole: WholeReader): Promise<Holdings> {
    const { key } = await this.#store.ready();
    try {
      return await replaceLater(file, async (path) => {
        await writeStateFile(path, whole, key);
        const holdings = checkBackup(path, Number.POSITIVE_INFINITY, null);
        // Before it is there, as in `backupState`.
        await this.#record(file, at, holdings).catch((error: unknown) => {
          this.#store.parts.warn(
            `the backup is complete, but the journal could not be written: ${(error as Error).message}`,
          );
        });
        return holdings;
      });
    } catch (error) {
      throw asStateError(file, error, "the backup cannot be written");
    }
  }

  async #record(file: string, at: string, { vaults, pending, keyId }: Holdings): Promise<void> {
    const { schema } = this.#store.parts;
    const entry = {
      at,
      service: "",
      uuid: "",
      exchange: null,
      event: "backup",
      detail: { file, vaults, pending, keyId },
    };
    // All pairs are known elsewhere now.
    const changes = [
      { sql: `UPDATE ${schema}.credentials SET elsewhere = 1 WHERE elsewhere <> 1` },
      append(schema, entry),
    ];
    await transactAtGate(this.#store.parts, changes, async () => await this.#store.check());
  }
}
