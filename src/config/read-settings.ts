import { VaultError } from "../errors.ts";
import { readProfile } from "./profile.ts";
import type { GivenFlags, Settings } from "./settings.ts";
import { resolveSettings } from "./settings.ts";

export interface SettingsPlace {
  /** The configuration directory. */
  directory: string;
  /** As it was asked for; undefined for the configuration's own choice. */
  profile: string | undefined;
  flags: GivenFlags;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * The effective settings. Raises as `readProfile` and `resolveSettings` do. With `lenient` that is returned instead, beside
 * the defaults with the output as it was asked for; an output that cannot be is raised all the same.
 */
export async function readSettings(place: SettingsPlace, lenient: boolean): Promise<{ settings: Settings; problem?: VaultError }> {
  const { directory, profile, flags, env } = place;
  try {
    return { settings: resolveSettings(flags, env, await readProfile(directory, profile)) };
  } catch (error) {
    if (!lenient || !(error instanceof VaultError)) throw error;
    const output = flags.output === undefined ? {} : { output: flags.output };
    return { settings: resolveSettings(output, { VAULTSVC_OUTPUT: env["VAULTSVC_OUTPUT"] }, {}), problem: error };
  }
}
