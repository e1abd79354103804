import { VaultError } from "../errors.ts";
import type { NamedProfile } from "./profile.ts";
import { findProfile } from "./profile.ts";
import type { GivenFlags, Settings } from "./settings.ts";
import { resolveSettings } from "./settings.ts";
import { defined } from "../defined.ts";

interface SettingsPlace {
  /** The configuration directory. */
  directory: string;
  /** Name of the profile; undefined for the current one. */
  profile: string | undefined;
  flags: GivenFlags;
  host: { env: Readonly<Record<string, string | undefined>>; uid: number | undefined };
}

/** The effective settings, and where they come from. */
interface ReadSettings {
  settings: Settings;
  profile: NamedProfile;
  /** Why the configuration cannot be used. */
  problem?: VaultError;
}

/**
 * Reads the effective settings. If they cannot be used, `lenient` returns the problem with the defaults, and the output that was
 * asked for; `fixes-configuration` returns the problem of an invalid profile with the settings without it, and treats a missing
 * profile as empty.
 * @throws what `findProfile` and `resolveSettings` throw; with `lenient` only for an invalid output
 */
export async function readSettings(
  place: SettingsPlace,
  mode: "lenient" | "fixes-configuration" | undefined,
): Promise<ReadSettings> {
  const { directory, profile: name, flags, host } = place;
  const { env, uid } = host;
  const fixes = mode === "fixes-configuration";
  let profile: NamedProfile = { name: name ?? "default", exists: false, settings: {} };
  try {
    profile = await findProfile(directory, name, fixes, uid);
    return { settings: resolveSettings(flags, env, profile.settings), profile };
  } catch (error) {
    if (mode === undefined || !(error instanceof VaultError)) throw error;
    // A configuration that cannot be read cannot be changed either.
    if (fixes && !profile.exists) throw error;
    if (fixes) return { settings: resolveSettings(flags, env, {}), profile, problem: error };
    return {
      settings: resolveSettings(
        defined({ output: flags.output }),
        { VAULTSVC_OUTPUT: env["VAULTSVC_OUTPUT"] },
        {},
      ),
      profile,
      problem: error,
    };
  }
}
