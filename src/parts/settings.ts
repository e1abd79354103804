import { join } from "node:path";
import type { Io } from "./io.ts";
import type { VaultError } from "../errors.ts";
import type { Host } from "../host.ts";
import { configDirectory, isShared, stateDirectory } from "../settings/location.ts";
import type { NamedProfile } from "../settings/config-file.ts";
import type { GivenFlags, Settings, SettingsMode } from "../settings/settings.ts";
import { readSettings, resolveSettings, serviceName } from "../settings/settings.ts";

/** The effective settings, where they come from, and the places that follow from them. A question fills in what is missing. */
export interface SettingsPart extends Settings {
  /** The profile that they come from, and the flags: for commands that are about settings. */
  profileInUse: NamedProfile;
  flags: GivenFlags;
  /** Where they are kept. `profile` is the one that was asked for, `problem` why they are the defaults. */
  configuration: {
    directory: string;
    /** Folder of the key files. */
    keys: string;
    profile: string | undefined;
    problem: VaultError | undefined;
  };
  /** As they are with another profile. */
  of: (profile: NamedProfile) => Settings;
  /** Of the state on this machine; a shared one keeps there what concerns this machine alone. */
  stateDirectory: () => string;
  /** Ready file of this user's sandbox, whatever profile is in use: beside the state that the flag, the variable or the default names. */
  sandboxFile: () => string;
  /** The service's name in the state. Throws `usage` or `invalid-input` for a base URL that cannot be used. */
  serviceName: () => string;
}

/** The parts of whatever touches neither state nor service. */
export interface Basics {
  io: Io;
  settings: SettingsPart;
}

/** Reads the settings. With a mode, a configuration that cannot be used is reported, not thrown: see `readSettings`. */
export function createSettings(
  host: Host,
  given: Readonly<Record<string, unknown>>,
  mode?: SettingsMode,
): SettingsPart {
  const chosen =
    (given["profile"] as string | undefined) ?? (host.env["VAULTSVC_PROFILE"] || undefined);
  const flags: GivenFlags = given["json"] === true ? { ...given, output: "json" } : given;
  const found = readSettings(() => configDirectory(host), flags, chosen, host, mode);
  const { directory, settings, profile, problem } = found;
  const part: SettingsPart = {
    ...settings,
    profileInUse: profile,
    flags,
    configuration: { directory, keys: join(directory, "keys"), profile: chosen, problem },
    of: (other) => resolveSettings(flags, host.env, other.settings),
    stateDirectory: () => directoryOf(host, part.state),
    // Set by `sandbox env`, whose state is another one.
    sandboxFile: () =>
      host.env["VAULTSVC_SANDBOX"] ||
      `${directoryOf(host, resolveSettings(flags, host.env, {}).state)}-sandbox.json`,
    serviceName: () => serviceName(part),
  };
  return part;
}

/** The directory of a state on this machine; the default one beside a shared state. */
export const directoryOf = (host: Host, location: string | undefined): string =>
  location === undefined || isShared(location) ? stateDirectory(host) : host.resolve(location);
