import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import { readKeyFile } from "../../secrets/key-file.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { parseGivenKey } from "../../secrets/key-source.ts";
import { Keyring } from "./keyring.ts";
import { sealedValues } from "./sealed-values.ts";
import { unseal } from "../../secrets/sealing.ts";
import type { StoreOptions } from "../local-store.ts";

/** Where the key of a state comes from. */
export interface KeyPlace {
  /** In words. */
  source: string;
  /** The file that must be kept a copy of; null where the key comes from elsewhere. */
  file: string | null;
}

/** The key of a state, as far as it can be told without changing anything. */
export interface KeyFacts extends KeyPlace {
  /** Null where there is none (yet). */
  id: string | null;
  /** How many values it opens. */
  opened: number;
  /** Why it is of no use; for a value that does not open, the first one. */
  problem: VaultError | null;
}

export function keyPlace(source: KeySource): KeyPlace {
  if (source.type === "file") return { source: `key file ${source.path}`, file: source.path };
  return { source: "given by --state-key or VAULTSVC_STATE_KEY", file: null };
}

/** Tries the key on all that is sealed. A missing one is a problem only where something is. */
export function keyFacts({ keySource, directory, keys }: StoreOptions, db: DatabaseSync | null, damage: readonly string[]): KeyFacts {
  const facts: KeyFacts = { ...keyPlace(keySource), id: null, opened: 0, problem: null };
  try {
    // Permissions are a finding of their own.
    const silent = (): void => undefined;
    const sealed = db === null || damage.length > 0 ? [] : sealedValues(db);
    if (db === null || sealed.length === 0) {
      const newest = keySource.type === "file" ? readKeyFile(keySource.path, silent)?.at(-1) : parseGivenKey(keySource.key);
      facts.id = newest?.id ?? null;
      return facts;
    }
    const key = new Keyring(keySource, directory, silent, keys).fitting(db);
    facts.id = key.id;
    for (const { place, sealed: value } of sealed) {
      unseal(key, place, value);
      facts.opened += 1;
    }
  } catch (error) {
    facts.problem = error instanceof VaultError ? error : new VaultError("state", `the key cannot be used: ${String(error)}`);
  }
  return facts;
}
