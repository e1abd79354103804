import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { parseJson } from "../protocol/json.ts";
import type { Profile } from "../settings/profile.ts";
import { findSetting } from "../settings/settings.ts";
import type { Known } from "./candidates.ts";

/** Whose machine it is. */
interface User {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  readonly home: string;
}

/** Where this user's files are, and how the state is read. */
interface Files<U> {
  configDirectory(user: U): string;
  stateDirectory(user: U): string;
  readVaults(directory: string): Promise<readonly { uuid: string; label: string | null; kind: string }[]>;
}

/**
 * What completion may know of this machine. Nothing is made, no key is read.
 * @throws what the system, JSON or SQLite throw
 */
export function createKnown<U extends User>(user: U, files: Files<U>): Pick<Known, "profiles" | "vaults"> {
  return {
    profiles: async () => Object.keys(readConfiguration(files.configDirectory(user)).profiles).map((value) => ({ value })),
    vaults: async (given) => {
      const { currentProfile = "default", profiles } = readConfiguration(files.configDirectory(user));
      const name = given.get("--profile") ?? (user.env["VAULTSVC_PROFILE"] || currentProfile);
      // Completion sees the words as they are typed: no shell has expanded this one.
      const flag = given.get("--state")?.replace(/^~(?=\/)/, () => user.home);
      const found = findSetting("state", flag === undefined ? {} : { state: flag }, user.env, profiles[name] ?? {});
      const vaults = await files.readVaults(resolve(user.cwd, found?.text ?? files.stateDirectory(user)));
      return vaults.map(({ uuid, label, kind }) => ({ value: uuid, description: label ?? kind }));
    },
  };
}

/** What `config.json` holds, as far as completion needs it: read without conf, which would take longer than all the rest. */
interface ConfigurationFile {
  currentProfile: string | undefined;
  profiles: Readonly<Record<string, Profile>>;
}

/** A file that is not there holds nothing. */
function readConfiguration(directory: string): ConfigurationFile {
  const path = `${directory}/config.json`;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { currentProfile: undefined, profiles: {} };
  // What is no file may have no end.
  if (!stats.isFile()) throw new Error(`${path} is not a file`);
  const { currentProfile, profiles } = parseJson(readFileSync(path, "utf8")) as Record<string, unknown>;
  return {
    currentProfile: typeof currentProfile === "string" ? currentProfile : undefined,
    profiles: typeof profiles === "object" && profiles !== null ? (profiles as Record<string, Profile>) : {},
  };
}
