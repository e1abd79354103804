import type { Clock, Waiting } from "../exchange/ports.ts";
import { withLockFile } from "../files/lock-file.ts";
import { ensurePrivateDirectory } from "../files/private-directory.ts";
import { keyFileOf, makeKeyFile, readKeyFile, type KeyOwner } from "../secrets/keys.ts";
import type { ProfilePlace, SealingKey } from "../secrets/sealing.ts";
import { cannotBeOpened, isSealed, keyIdOf, seal, unseal } from "../secrets/sealing.ts";
import { readConfiguration, writeConfiguration, type Configuration } from "./config-file.ts";

interface ConfigurationPlace extends KeyOwner {
  directory: string;
  clock: Clock;
  waiting: Waiting;
  /** Folder of the key files. One of them seals the secrets of the configuration, whatever the states have. */
  keys: string;
  /** Finds a key of a state, with which version 0.2.0 sealed these secrets too. */
  former: (id: string) => Promise<SealingKey | null>;
}

/** The configuration of this user, which one process at a time may change, and the secrets of its profiles. */
export class ProfileSecrets {
  readonly #place: ConfigurationPlace;
  readonly #ownKeyFile: string;

  constructor(place: ConfigurationPlace) {
    this.#place = place;
    this.#ownKeyFile = keyFileOf(place.keys, "config");
  }

  /**
   * Changes the configuration under its lock, durably. If `change` throws, nothing changes.
   * @throws `busy`, `interrupted`, `state`, and what `change` throws
   */
  async change(change: (current: Configuration) => Configuration): Promise<Configuration> {
    const { directory, clock, waiting } = this.#place;
    ensurePrivateDirectory(directory, "the configuration");
    const lock = `${directory}/config.lock`;
    return await withLockFile(
      lock,
      "another process is changing the configuration",
      clock,
      waiting,
      async () => {
        const next = change(readConfiguration(directory) ?? { profiles: {} });
        await writeConfiguration(directory, next);
        return next;
      },
    );
  }

  /**
   * Opens a secret of a profile.
   * @throws `state`
   */
  async open(at: ProfilePlace, sealed: string): Promise<string> {
    if (!isSealed(sealed)) throw cannotBeOpened(at, "it is stored in plain text");
    const id = keyIdOf(sealed);
    const own = readKeyFile(this.#ownKeyFile, this.#place);
    const key = own?.id === id ? own : await this.#place.former(id);
    if (key !== null) return unseal(key, at, sealed);
    const has = own === null ? "is missing" : `has key ${own.id}`;
    throw cannotBeOpened(at, `it is encrypted with key ${id}, and ${this.#ownKeyFile} ${has}`);
  }

  /**
   * Seals a secret of a profile. Makes the key of the configuration if there is none, so the caller must hold the lock. What a lost key
   * has sealed is set again, one by one: a new key loses nothing.
   * @throws `state`
   */
  seal(at: ProfilePlace, text: string): string {
    const own = readKeyFile(this.#ownKeyFile, this.#place);
    return seal(own ?? makeKeyFile(this.#place.keys, "config"), at, text);
  }
}
