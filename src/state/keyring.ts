import type { DatabaseSync } from "node:sqlite";
import { VaultError } from "../errors.ts";
import { createKeyFile, readKeyFile } from "./key-file.ts";
import type { KeySource } from "./key-source.ts";
import { parseGivenKey } from "./key-source.ts";
import { one } from "./query.ts";
import type { SealingKey } from "./sealing.ts";
import { keyIdOf } from "./sealing.ts";

/** The one key of a state, read when it is first needed. */
export class Keyring {
  readonly #source: KeySource;
  readonly #state: string;
  readonly #warn: (message: string) => void;
  #key: SealingKey | null;

  /** Raises `invalid-input` for a given key that is none. `state` is the path that messages name. */
  constructor(source: KeySource, state: string, warn: (message: string) => void) {
    this.#source = source;
    this.#state = state;
    this.#warn = warn;
    this.#key = source.type === "given" ? parseGivenKey(source.key) : null;
  }

  /** The key that fits the sealed values of the database. Raises `state` if there is none, or it is another one. */
  fitting(db: DatabaseSync): SealingKey {
    const key = this.#load();
    const needed = neededKeyId(db);
    if (key === null) throw this.#missing(needed);
    if (needed !== null && needed !== key.id) throw this.#wrong(needed, key);
    return key;
  }

  /** Raises `state`, before anything is written, if there are sealed values and the key does not fit them. */
  check(db: DatabaseSync): void {
    if (neededKeyId(db) !== null) this.fitting(db);
  }

  /**
   * As `fitting`, and makes the key file where there is none and nothing is sealed yet. To be called outside of a
   * transaction; `fitting` inside it then sees whether another process was faster with another key.
   */
  prepare(db: DatabaseSync): void {
    if (this.#load() === null && this.#source.type === "file" && neededKeyId(db) === null) {
      this.#key = createKeyFile(this.#source.path, this.#warn);
    }
    this.fitting(db);
  }

  #load(): SealingKey | null {
    if (this.#key === null && this.#source.type === "file") this.#key = readKeyFile(this.#source.path, this.#warn);
    return this.#key;
  }

  #missing(needed: string | null): VaultError {
    const path = this.#source.type === "file" ? this.#source.path : "";
    const what = needed === null ? "nothing is sealed yet" : `the secrets in ${this.#state} are sealed with key ${needed}`;
    return new VaultError("state", `the key file ${path} is missing, and ${what}`, {
      hint: `put the key file back from its backup, or give the key with --state-key; no other key opens them`,
    });
  }

  #wrong(needed: string, key: SealingKey): VaultError {
    const hint =
      this.#source.type === "file"
        ? `put the key file of key ${needed} at ${this.#source.path}, or give that key with --state-key`
        : `give key ${needed} with --state-key (VAULTSVC_STATE_KEY), or leave it out to use the key file`;
    return new VaultError(
      "state",
      `wrong key: the secrets in ${this.#state} are sealed with key ${needed}, and the key in use is ${key.id}; nothing was changed`,
      { hint },
    );
  }
}

/** The id of the key that the sealed values need, or null if nothing is sealed. One key seals them all. */
function neededKeyId(db: DatabaseSync): string | null {
  const found = one<{ sealed: string }>(db, "SELECT sealed FROM credentials WHERE sealed IS NOT NULL LIMIT 1");
  return found === undefined ? null : keyIdOf(found.sealed);
}
