import { VaultError } from "../errors.ts";
import type { Clock, Waiting } from "../exchange/ports.ts";
import { withLockFile } from "../files/lock-file.ts";
import { ensurePrivateDirectory } from "../files/private-directory.ts";
import { isSealed } from "../secrets/sealing.ts";
import type { SealedConfiguration, SealedSecret } from "../store/keys/rekey.ts";
import type { Configuration, Profile } from "./config-file.ts";
import { readConfiguration, writeConfiguration, profileValue, withValue } from "./config-file.ts";
import { secretKeys } from "./config-keys.ts";
import { command } from "../way.ts";

/** The configuration of this user, which one process at a time may change. */
interface ConfigurationPlace {
  directory: string;
  clock: Clock;
  waiting: Waiting;
  /** The key file of a profile, under one name for each file. */
  keyFileOf(profile: Profile): string;
}

/**
 * Changes the configuration under its lock, durably. If `change` throws, nothing changes.
 * @throws `busy`, `interrupted`, `state`, and what `change` throws
 */
export async function changeConfiguration(
  place: ConfigurationPlace,
  change: (current: Configuration) => Promise<Configuration>,
): Promise<Configuration> {
  return await exclusively(place, async () => {
    const next = await change(current(place));
    await writeConfiguration(place.directory, next);
    return next;
  });
}

/**
 * Opens a secret of a profile. If it does not open, reads it again, because a rekey may have changed it since the profile was read.
 * @throws `state`
 */
export async function openProfileSecret(
  place: ConfigurationPlace,
  open: (at: SealedSecret["place"], sealed: string) => Promise<string>,
  at: SealedSecret["place"],
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
  try {
    return await open(at, sealed);
  } catch (error) {
    const now = profileValue(current(place).profiles[at.profile] ?? {}, at.key);
    if (now === undefined || now === sealed || !isSealed(now)) throw error;
    return await open(at, now);
  }
}

/** The configuration as a rekey sees it: the secrets that are sealed with this key file. */
export function sealedConfiguration(
  place: ConfigurationPlace,
  keyFile: string,
): SealedConfiguration {
  return {
    exclusively: async (work) => await exclusively(place, work),
    secrets: async () => secretsIn(place, keyFile, current(place)),
    replace: async (secrets, source) => {
      const before = current(place);
      const profiles = { ...before.profiles };
      for (const { place: at, sealed } of secrets)
        profiles[at.profile] = withValue(profiles[at.profile] ?? {}, at.key, sealed);
      for (const [name, profile] of Object.entries(profiles)) {
        const said = profileValue(profile, "stateKeySource");
        if (place.keyFileOf(profile) !== keyFile || said === undefined || said === source) continue;
        profiles[name] = withValue(
          profile,
          "stateKeySource",
          source === "given" ? undefined : source,
        );
      }
      const after = { ...before, profiles };
      if (JSON.stringify(after) !== JSON.stringify(before))
        await writeConfiguration(place.directory, after);
    },
  };
}

async function exclusively<T>(
  { directory, clock, waiting }: ConfigurationPlace,
  work: () => Promise<T>,
): Promise<T> {
  ensurePrivateDirectory(directory);
  return await withLockFile(`${directory}/config.lock`, "the configuration", clock, waiting, work);
}

const current = ({ directory }: ConfigurationPlace): Configuration =>
  readConfiguration(directory) ?? { profiles: {} };

function secretsIn(
  place: ConfigurationPlace,
  keyFile: string,
  { profiles }: Configuration,
): SealedSecret[] {
  return Object.entries(profiles).flatMap(([name, profile]) =>
    secretKeys.flatMap((key) => {
      const sealed = profileValue(profile, key);
      if (sealed === undefined || !isSealed(sealed) || place.keyFileOf(profile) !== keyFile)
        return [];
      return [{ place: { profile: name, key }, sealed }];
    }),
  );
}
