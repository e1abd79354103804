import { chmodSync, copyFileSync, existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Waiting } from "../../exchange/ports.ts";
import { replaceLater } from "../../files/durable-file.ts";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import { asStateError, onState } from "../../files/state-error.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { BackupFacts } from "../backup/backup.ts";
import { checkTarget } from "../backup/backup.ts";
import type { Holdings } from "../backup/check.ts";
import { checkBackup } from "../backup/check.ts";
import { makeKeptFolder } from "../backup/install.ts";
import type { Examined, RestoreFacts } from "../backup/restore.ts";
import { prepare } from "../backup/restore.ts";
import type { ContentRow } from "../contents.ts";
import { localSealing } from "../contents.ts";
import { Keyring, neededKeyOf } from "../keys/keyring.ts";
import { marksOf } from "../sqlite/open-database.ts";
import { openReadOnly } from "../sqlite/open-read-only.ts";
import { migrations } from "../sqlite/schema.ts";
import { engineOf, writeStateFile } from "../sqlite/state-file.ts";
import { OpenReader } from "../whole/open-whole.ts";
import type { WholeReader } from "../whole/whole.ts";
import { readWhole } from "../whole/whole.ts";
import { transactAtGate } from "./gate.ts";
import { append } from "./journal.ts";
import type { DatabasePlace } from "./place.ts";
import { reborn, setBackNow } from "./set-back.ts";
import type { PostgresStore } from "./store.ts";

interface Options {
  keySource: KeySource;
  /** The state directory of this machine, where a restore leaves what it replaces. */
  directory: string;
}

/** Backups of a shared state: files like those of a state on this machine, so that each can be restored in the place of the other. */
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
    const { schema, clock, warn } = this.#store.parts;
    const holdings = await this.#place.read(async (whole) => await this.#write(file, whole));
    const at = new Date(clock.now()).toISOString();
    const { vaults, pending, keyId } = holdings;
    const detail = { file, vaults, pending, keyId };
    try {
      const entry = { at, service: "", uuid: "", exchange: null, event: "backup", detail };
      // All pairs are known elsewhere now.
      const changes = [{ sql: `UPDATE ${schema}.credentials SET elsewhere = 1 WHERE elsewhere <> 1` }, append(schema, entry)];
      await transactAtGate(this.#store.parts, changes, async () => await this.#store.check());
    } catch (error) {
      warn(`the backup is complete, but the journal could not be written: ${(error as Error).message}`);
    }
    return { ...holdings, file, bytes: statSync(file).size, at };
  }

  /** As `examineBackup`. */
  async examine(file: string): Promise<Examined> {
    const backup = checkBackup(file, migrations.length, await this.#keyringOf(file));
    await this.#store.ready();
    return { backup, replaces: !(await this.#place.read(async (whole) => await whole.isEmpty())) };
  }

  /** As `restoreState`; the database is changed in one transaction, and what it held is left as a state on this machine. */
  async restore(file: string, serviceRestored: boolean, waiting: Waiting): Promise<RestoreFacts> {
    const { directory } = this.#options;
    const { schema, clock, keyring } = this.#store.parts;
    return await this.#place.change("restore", waiting, async (whole, query) => {
      const merged = !(await whole.isEmpty());
      ensurePrivateDirectory(directory);
      const now = clock.now();
      const folder = makeKeptFolder(directory, now);
      const [former, copy] = [join(folder, "vault.db"), join(folder, "copy.db")];
      try {
        if (merged) await this.#write(former, whole);
        onState(file, () => copyFileSync(file, copy), "the backup cannot be restored");
        chmodSync(copy, 0o600);
        // The copy, which nobody can change, as the backup was checked before.
        checkBackup(copy, migrations.length, await this.#keyringOf(copy));
        const facts = prepare(copy, { present: merged ? former : null, serviceRestored, file, now });
        const db = openReadOnly(copy);
        try {
          const restored = new OpenReader(engineOf(db), marksOf(db), localSealing, keyring);
          await whole.write(await readWhole(whole), { ...(await readWhole(restored)), journal: (await readWhole(whole)).journal });
          let last: ContentRow[] = [];
          for await (const entries of restored.journal()) last = entries.slice(-1);
          await whole.append(last);
        } finally {
          db.close();
        }
        for (const statement of [...reborn(schema), setBackNow(schema)]) await query(statement);
        return { ...facts, merged, replaced: merged ? folder : null };
      } finally {
        rmSync(copy, { force: true });
        if (!existsSync(former)) rmSync(folder, { recursive: true });
      }
    });
  }

  async #write(file: string, whole: WholeReader): Promise<Holdings> {
    const { key } = await this.#store.ready();
    try {
      return await replaceLater(file, async (path) => {
        await writeStateFile(path, whole, key);
        return checkBackup(path, Number.POSITIVE_INFINITY, null);
      });
    } catch (error) {
      throw asStateError(file, error, "the backup cannot be written");
    }
  }

  /** A keyring that has the key of a file. */
  async #keyringOf(file: string): Promise<Keyring> {
    const keyring = new Keyring(this.#options.keySource, file, this.#store.parts.warn);
    await keyring.ensure(neededKeyOf(file));
    return keyring;
  }
}
