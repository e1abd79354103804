import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { withLockFile } from "../files/lock-file.ts";
import { ensurePrivateDirectory } from "../files/private-directory.ts";
import type { KeyOwner } from "../secrets/key-file.ts";
import { readKeyFile, writeKeyFile } from "../secrets/key-file.ts";
import type { ProfilePlace, SealingKey } from "../secrets/sealing.ts";
import { cannotBeOpened, deriveKey, isSealed, keyIdOf, seal, unseal } from "../secrets/sealing.ts";
import type { Configuration } from "./config-file.ts";
import { readConfiguration, writeConfiguration, profileValue } from "./config-file.ts";
import { secretKeys } from "./config-keys.ts";
import { command } from "../way.ts";

/** The configuration of this user, which one process at a time may change. */
interface ConfigurationPlace extends KeyOwner {
  directory: string;
  clock: Clock;
  waiting: Waiting;
  /** Folder of the key files. One of them seals the secrets of the configuration, whatever the states have. */
  keys: string;
  /** Finds a key of a state, with which version 0.2.0 sealed these secrets too. */
  former: (id: string) => Promise<SealingKey | null>;
}

/**
 * Changes the configuration under its lock, durably. If `change` throws, nothing changes.
 * @throws `busy`, `interrupted`, `state`, and what `change` throws
 */
export async function changeConfiguration(
  place: ConfigurationPlace,
  change: (current: Configuration) => Promise<Configuration>,
): Promise<Configuration> {
  const { directory, clock, waiting } = place;
  ensurePrivateDirectory(directory);
  return await withLockFile(
    `${directory}/config.lock`,
    "the configuration",
    clock,
    waiting,
    async () => {
      const next = await change(current(place));
      await writeConfiguration(directory, next);
      return next;
    },
  );
}

/**
 * Opens a secret of a profile.
 * @throws `state`
 */
export async function openProfileSecret(
  place: ConfigurationPlace,
  at: ProfilePlace,
  sealed: string,
): Promise<string> {
  if (!isSealed(sealed)) {
    throw new VaultError(
      "state",
      `the config key ${at.key} of profile ${at.profile} is stored in plain text`,
      {
        next: [
          {
            ...command`vault config set ${at.key} @FILE --profile ${at.profile}`,
            note: "stores it encrypted",
          },
        ],
      },
    );
  }
  const id = keyIdOf(sealed);
  const own = ownKey(place);
  const key = own?.id === id ? own : await place.former(id);
  if (key !== null) return unseal(key, at, sealed);
  const has = own === null ? "is missing" : `has key ${own.id}`;
  throw cannotBeOpened(at, `it is encrypted with key ${id}, and ${ownKeyFile(place)} ${has}`);
}

/** Seals a secret of a profile. Makes the key of the configuration if there is none, so the caller must hold the lock. */
export function sealProfileSecret(
  place: ConfigurationPlace,
  at: ProfilePlace,
  text: string,
): string {
  return seal(ownKey(place) ?? makeOwnKey(place), at, text);
}

/** The secrets of all profiles that are sealed with this key. */
export function secretsWith(place: ConfigurationPlace, id: string): ProfilePlace[] {
  const all = Object.entries(current(place).profiles).flatMap(([profile, settings]) =>
    secretKeys.map((key) => ({ profile, key, sealed: profileValue(settings, key) ?? "" })),
  );
  return all.filter(({ sealed }) => isSealed(sealed) && keyIdOf(sealed) === id);
}

const current = ({ directory }: Pick<ConfigurationPlace, "directory">): Configuration =>
  readConfiguration(directory) ?? { profiles: {} };

const ownKeyFile = ({ keys }: ConfigurationPlace): string => join(keys, "config.key");

const ownKey = (place: ConfigurationPlace): SealingKey | null =>
  readKeyFile(ownKeyFile(place), place);

/** What a lost key has sealed is set again, one by one: a new key loses nothing. */
function makeOwnKey(place: ConfigurationPlace): SealingKey {
  const material = randomBytes(32);
  writeKeyFile(ownKeyFile(place), material);
  return deriveKey(material);
}
