import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../../errors.ts";
import { readKeyFile } from "../../secrets/key-file.ts";
import type { KeyPlace } from "../../secrets/key-source.ts";
import { keyPlace, parseGivenKey } from "../../secrets/key-source.ts";
import { Keyring } from "./keyring.ts";
import { sealedValues } from "./sealed-values.ts";
import { unseal } from "../../secrets/sealing.ts";
import type { StoreOptions } from "../sqlite/state-connection.ts";

/** What can be found out about the key of a state without changing anything. */
export interface KeyFacts extends KeyPlace {
  /** Null if there is no key yet. */
  id: string | null;
  /** Number of values that it opens. */
  opened: number;
  /** Why the key cannot be used, or does not open the first value that fails. */
  problem: VaultError | null;
}

/** Tries the key on every sealed value. A missing key is a problem only if there are any. Never throws. */
export function keyFacts(
  { keySource, directory, keys }: StoreOptions,
  db: DatabaseSync | null,
  damage: readonly string[],
): KeyFacts {
  const facts: KeyFacts = { ...keyPlace(keySource), id: null, opened: 0, problem: null };
  try {
    // Permissions are reported as `tooOpen`.
    const silent = (): void => undefined;
    const sealed = db === null || damage.length > 0 ? [] : sealedValues(db);
    if (db === null || sealed.length === 0) {
      const newest =
        keySource.type === "file"
          ? readKeyFile(keySource.path, silent)?.at(-1)
          : parseGivenKey(keySource.key);
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
    facts.problem =
      error instanceof VaultError
        ? error
        : new VaultError("state", `the key cannot be used: ${String(error)}`);
  }
  return facts;
}
