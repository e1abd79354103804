import { join } from "node:path";
import type { VaultError } from "../errors.ts";
import { asVaultError } from "../errors.ts";
import type { BackupFacts, WholeState } from "./backup/backup.ts";
import { backupState } from "./backup/backup.ts";
import type { StateFacts } from "./inspect.ts";
import { inspectState } from "./inspect.ts";
import type { KeySource } from "../secrets/key-source.ts";
import type { KeyPlace } from "./keys/inspect-key.ts";
import { keyPlace } from "./keys/inspect-key.ts";
import type { Restore, RestoreOptions } from "./backup/restore.ts";
import { prepareRestore } from "./backup/restore.ts";
import { Keyring, neededKeyOf } from "./keys/keyring.ts";
import { migrations } from "./sqlite/schema.ts";
import type { SealingKey } from "../secrets/sealing.ts";
import type { StoreOptions } from "./local-store.ts";
import { VaultLocks } from "./sqlite/vault-lock.ts";

/** Operations on a whole state. `backup`, `prepareRestore` and `inspect` do what the functions named after them do. */
export interface WholeStateWork {
  backup(file: string, force: boolean): Promise<BackupFacts>;
  prepareRestore(options: RestoreOptions): Promise<Restore>;
  inspect(): Promise<StateFacts>;
  key: KeyPlace;
}

/** Reads and creates nothing before the first call. `scripts` are the migrations. Paths are absolute. */
export function openWholeState(
  given: StoreOptions,
  scripts: readonly string[] = migrations,
): WholeStateWork {
  const keys = given.keys ?? new Map<string, SealingKey>();
  const options = { ...given, keys };
  const opening = {
    path: join(options.directory, "vault.db"),
    platform: options.platform,
    migrations: scripts,
  };
  // Takes only all locks together, which needs no epoch.
  const locks = new VaultLocks(join(options.directory, "locks"), options.clock, async () =>
    Promise.resolve(0),
  );
  const state: WholeState = { options, opening, locks };
  /** Obtains the key of the file, with a prompt if need be, so that nothing later prompts. Leaves a bad file to later checks. */
  const ready = async (file: string, warn: (message: string) => void): Promise<void> => {
    const needed = neededKeyOf(file);
    if (needed !== null && !keys.has(needed))
      await new Keyring(options.keySource, file, warn, keys).ensure(needed);
  };
  return {
    backup: async (file, force) => await backupState(state, file, force),
    prepareRestore: async (restore) => await prepareRestore(state, restore),
    inspect: async () => {
      const problem = await ready(opening.path, () => undefined).then(() => null, asVaultError);
      const facts = inspectState(state);
      const silent =
        facts.key.id === null && facts.key.problem === null
          ? await keyringProblem(options.keySource)
          : null;
      if (silent !== null) return { ...facts, key: { ...facts.key, problem: silent } };
      return problem === null || facts.key.problem === null
        ? facts
        : { ...facts, key: { ...facts.key, problem } };
    },
    key: keyPlace(options.keySource),
  };
}

/** Why the first key could not be created in the keyring of the operating system, if it should be. */
async function keyringProblem(source: KeySource): Promise<VaultError | null> {
  if (source.type !== "file" || source.demand !== "keyring") return null;
  try {
    await (await source.access?.keyring())?.get("none");
    return null;
  } catch (error) {
    return asVaultError(error);
  }
}
