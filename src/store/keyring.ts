import { VaultError } from "../errors.ts";
import {
  copyFormerKey,
  keyFileOf,
  makeKeyFile,
  notAKeyFile,
  readKeyFile,
} from "../secrets/keys.ts";
import type { KeySource } from "../secrets/keys.ts";
import type { SealingKey } from "../secrets/sealing.ts";

/**
 * The keys of a state by their ids, each obtained at its first use. The state names the one that
 * seals it; if it names none yet, a new one is made, so that two states never share a key.
 */
export class Keyring {
  readonly #source: KeySource;
  readonly #state: string;
  readonly #warn: (message: string) => void;
  readonly #cached: Map<string, SealingKey>;

  /** `state` is the path that messages name. */
  constructor(source: KeySource, state: string, warn: (message: string) => void) {
    this.#source = source;
    this.#state = state;
    this.#warn = warn;
    this.#cached = source.cached ?? new Map<string, SealingKey>();
  }

  /**
   * The key with this id, from its source.
   * @throws `state`, naming where it is to be set, if its source does not have it
   */
  async key(id: string): Promise<SealingKey> {
    const { given } = this.#source;
    const known = this.#cached.get(id);
    // What a file has must not stand in for a wrong key that is given.
    const key = known ?? (given === undefined ? await this.find(id) : await given.read());
    if (key?.id !== id) throw this.#lacking(id, key);
    return this.#keep(key);
  }

  /** A key on this machine, for what another key has sealed; null if it is not here. */
  async find(id: string): Promise<SealingKey | null> {
    const { given } = this.#source;
    const own = this.#cached.get(id) ?? this.#fromFile(id) ?? (await given?.read());
    const key = own?.id === id ? own : copyFormerKey(this.#source, id, this.#warn);
    return given === undefined && key !== null ? this.#keep(key) : key;
  }

  /** What makes the key of a state that has none, or another one: a given one, or one in a file. */
  async fresh(replacing?: SealingKey): Promise<() => SealingKey> {
    const given = replacing ?? (await this.#source.given?.read());
    return () => this.#keep(given ?? makeKeyFile(this.#source.folder));
  }

  #keep(key: SealingKey): SealingKey {
    this.#cached.set(key.id, key);
    return key;
  }

  /** @throws `state` for a file that has another key */
  #fromFile(id: string): SealingKey | null {
    const path = keyFileOf(this.#source.folder, id);
    const key = readKeyFile(path, { uid: this.#source.uid, warn: this.#warn });
    if (key === null || key.id === id) return key;
    throw notAKeyFile(path, `it has another key (${key.id})`);
  }

  #lacking(id: string, other: SealingKey | null): VaultError {
    const { folder, given, flag } = this.#source;
    const file = keyFileOf(folder, id);
    const what = `the secrets in ${this.#state} are encrypted with key ${id}`;
    const ways = flag ?? "--state-key, VAULTSVC_STATE_KEY or the config key stateKeyCommand";
    if (given === undefined)
      return new VaultError("state", `the key file ${file} is missing, and ${what}`, {
        hint: `copy it there from its backup, or from another machine that uses this state; or set that key with ${ways} (no other key opens them)`,
      });
    const has = `${given.by} has key ${other?.id}`;
    return new VaultError("state", `wrong key: ${what}, and ${has}; nothing was changed`, {
      hint:
        flag === undefined || flag === given.by
          ? `set ${given.by} to key ${id}; or leave it out, with the file of that key at ${file}`
          : `set key ${id} with ${flag}`,
    });
  }
}
