import { isAbsolute, resolve } from "node:path";
import type { Known } from "./completion/candidates.ts";
import { readConfigurationFile } from "./settings/configuration-file.ts";
import { findSetting } from "./settings/settings.ts";
import type { Host } from "./host.ts";
import { configDirectory, stateDirectory } from "./store/paths.ts";

/**
 * What completion may know of this machine: beside deps.ts the only place that names the state, because building Deps
 * would load conf and could raise errors that have nothing to do with it. Nothing is made, no key is read. Raises what the system,
 * JSON or SQLite raise.
 */
export function createKnown(host: Host): Known {
  return {
    variables: () => Object.keys(host.env),
    profiles: async () => Object.keys(readConfigurationFile(configDirectory(host)).profiles).map((value) => ({ value })),
    vaults: async (given) => {
      const { currentProfile = "default", profiles } = readConfigurationFile(configDirectory(host));
      const name = given.get("--profile") ?? (host.env["VAULTSVC_PROFILE"] || currentProfile);
      // Completion sees the words as they are typed: no shell has expanded this one.
      const flag = given.get("--state")?.replace(/^~(?=\/)/, () => host.home);
      const found = findSetting("state", flag === undefined ? {} : { state: flag }, host.env, profiles[name] ?? {});
      const directory = found?.text ?? stateDirectory(host);
      const { readKnownVaults } = await import("./store/sqlite/known-vaults.ts");
      const vaults = readKnownVaults(isAbsolute(directory) ? directory : resolve(host.cwd, directory));
      return vaults.map(({ uuid, label, kind }) => ({ value: uuid, description: label ?? kind }));
    },
  };
}
