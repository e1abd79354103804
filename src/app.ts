import { createService, type ServicePart } from "./parts/service.ts";
import { createState, type Local } from "./parts/state.ts";
import { defined } from "./defined.ts";
import type { Host } from "./host.ts";
import { chosenProfile, createIo, createSettings, directoryOf } from "./parts/basics.ts";
import { findProfile, readConfiguration } from "./settings/config-file.ts";
import { configDirectory, isShared, passwordSeen } from "./settings/location.ts";
import { findSetting, type SettingsMode } from "./settings/settings.ts";

/**
 * The parts of the program, each made of those before it. A function takes the parts that it may touch, or of one the very thing
 * that it uses. Adapters (state, client, keyring) are loaded and made on first use.
 */
export interface App extends Local {
  service: ServicePart;
}

/** Makes the parts. With a mode, a configuration that cannot be used is reported, not thrown. */
export async function createApp(
  host: Host,
  flags: Readonly<Record<string, unknown>>,
  version: string,
  mode?: SettingsMode,
  words?: readonly string[],
): Promise<App> {
  const settings = createSettings(host, flags, mode);
  const io = createIo(host, flags, settings, words);
  const seen =
    typeof flags["state"] === "string" ? passwordSeen(flags["state"], "--state") : undefined;
  if (seen !== undefined) io.narrator.warn(seen);
  const state = createState({ io, settings });
  return { io, settings, state, service: createService({ io, settings, state }, version) };
}

/** Refuses, as `usage`, a --field that the documents of a command, given by its words, cannot have. */
export const checkField = async (command: string, field: string): Promise<void> =>
  (await import("./documents/schemas.ts")).checkField(command, field);

/**
 * What completion may know of this machine, by the options of a line. It needs no `App`: settings
 * can be wrong. No file is created, and no key read.
 */
export function knownHere(host: Host, given: Readonly<Record<string, unknown>>) {
  return {
    variables: Object.keys(host.env),
    profiles: () => Object.keys(readConfiguration(configDirectory(host))?.profiles ?? {}),
    /** Of a shared state none. */
    vaults: async () => {
      const profile = findProfile(configDirectory(host), chosenProfile(host, given), true);
      // No shell has expanded this word: completion sees it as it was typed.
      const state = (given["state"] as string | undefined)?.replace(/^~(?=\/)/, () => host.home);
      const location = findSetting("state", defined({ state }), host.env, profile.settings)?.text;
      if (isShared(location)) return [];
      const { readKnownVaults } = await import("./store/sqlite/database.ts");
      return readKnownVaults(directoryOf(host, location));
    },
  };
}
