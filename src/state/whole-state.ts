import { join } from "node:path";
import type { Waiting } from "../exchange/ports.ts";
import type { BackupFacts, WholeState } from "./backup.ts";
import { backupState } from "./backup.ts";
import type { StateFacts } from "./inspect.ts";
import { inspectState } from "./inspect.ts";
import type { KeyPlace } from "./inspect-key.ts";
import { keyPlace } from "./inspect-key.ts";
import type { Examined, RestoreFacts } from "./restore.ts";
import { examineBackup, restoreState } from "./restore.ts";
import { migrations } from "./schema.ts";
import type { StoreOptions } from "./sqlite-store.ts";
import { VaultLocks } from "./vault-lock.ts";

/** What is done with a state as a whole; each method carries the contract of the function of its name. */
export interface WholeStateWork {
  backup(file: string, force: boolean): Promise<BackupFacts>;
  examine(file: string): Examined;
  restore(file: string, serviceRestored: boolean, waiting: Waiting): Promise<RestoreFacts>;
  inspect(): StateFacts;
  key: KeyPlace;
}

/** Nothing is read or made before the first call. `scripts` make the tables. Paths of files are absolute. */
export function openWholeState(options: StoreOptions, scripts: readonly string[] = migrations): WholeStateWork {
  const opening = { path: join(options.directory, "vault.db"), platform: options.platform, migrations: scripts };
  // Only all locks together are ever taken with these, which counts nothing.
  const locks = new VaultLocks(join(options.directory, "locks"), options.clock, async () => Promise.resolve(0));
  const state: WholeState = { options, opening, locks };
  return {
    backup: async (file, force) => await backupState(state, file, force),
    examine: (file) => examineBackup(state, file),
    restore: async (file, serviceRestored, waiting) => await restoreState(state, file, serviceRestored, waiting),
    inspect: () => inspectState(state),
    key: keyPlace(options.keySource),
  };
}
