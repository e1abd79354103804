import { readFileSync, statSync } from "node:fs";
import { parseJson } from "../protocol/json.ts";
import type { Profile } from "./profile.ts";

/** What `config.json` holds, as far as completion needs it: read without conf, which would take longer than all the rest. */
export interface ConfigurationFile {
  currentProfile: string | undefined;
  profiles: Readonly<Record<string, Profile>>;
}

/** Raises what the system or JSON raises; a file that is not there holds nothing. */
export function readConfigurationFile(directory: string): ConfigurationFile {
  let text: string;
  try {
    const path = `${directory}/config.json`;
    // What is no file may have no end.
    if (!statSync(path).isFile()) throw new Error(`${path} is not a file`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { currentProfile: undefined, profiles: {} };
    throw error;
  }
  const { currentProfile, profiles } = parseJson(text) as Record<string, unknown>;
  return {
    currentProfile: typeof currentProfile === "string" ? currentProfile : undefined,
    profiles: typeof profiles === "object" && profiles !== null ? (profiles as Record<string, Profile>) : {},
  };
}
