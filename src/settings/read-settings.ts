import { VaultError } from "../errors.ts";
import type { NamedProfile } from "./profile.ts";
import { findProfile } from "./profile.ts";
import type { GivenFlags, Settings } from "./settings.ts";
import { resolveSettings } from "./settings.ts";
import { defined } from "../defined.ts";

interface SettingsPlace {
  /** The configuration directory. */
  directory: string;
  /** As it was asked for; undefined for the configuration's own choice. */
  profile: string | undefined;
  flags: GivenFlags;
  host: { env: Readonly<Record<string, string | undefined>>; uid: number | undefined };
}

/** What the settings come to. */
interface ReadSettings {
  settings: Settings;
  profile: NamedProfile;
  /** Why the configuration cannot be used. */
  problem?: VaultError;
}

/**
 * The effective settings. With `lenient` that is returned instead, beside the defaults with the output as it was asked for; an
 * output that cannot be is thrown all the same. With `mends-configuration` a profile that does not fit is left out, and one that
 * is not there is empty.
 * @throws as `findProfile` and `resolveSettings` do
 */
export async function readSettings(place: SettingsPlace, mode: "lenient" | "mends-configuration" | undefined): Promise<ReadSettings> {
  const { directory, profile: name, flags, host } = place;
  const { env, uid } = host;
  const mends = mode === "mends-configuration";
  let profile: NamedProfile = { name: name ?? "default", exists: false, settings: {} };
  try {
    profile = await findProfile(directory, name, mends, uid);
    return { settings: resolveSettings(flags, env, profile.settings), profile };
  } catch (error) {
    if (mode === undefined || !(error instanceof VaultError)) throw error;
    // A file that cannot be read is not one that could be changed.
    if (mends && !profile.exists) throw error;
    if (mends) return { settings: resolveSettings(flags, env, {}), profile, problem: error };
    return {
      settings: resolveSettings(defined({ output: flags.output }), { VAULTSVC_OUTPUT: env["VAULTSVC_OUTPUT"] }, {}),
      profile,
      problem: error,
    };
  }
}
