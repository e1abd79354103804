import { chmodSync, lstatSync, statSync } from "node:fs";
import { VaultError } from "../errors.ts";
import { syncFolder } from "../files/durable-file.ts";
import { checkOwner } from "../files/private-directory.ts";
import { checkNesting } from "../protocol/json.ts";

/** Contents of the configuration file. */
export interface Configuration {
  currentProfile?: string;
  /** Settings by their config key, nested ones as objects. */
  profiles: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export const configPath = (directory: string): string => `${directory}/config.json`;

/**
 * Reads the configuration; null if there is none.
 * @throws `state` if it is not a file, cannot be read, or another user than `uid` or root owns or can write it
 */
export async function readConfiguration(
  directory: string,
  uid?: number,
): Promise<Configuration | null> {
  if (!isThere(configPath(directory))) return null;
  // The configuration may name a command to run.
  for (const path of [directory, configPath(directory)]) {
    checkOwner(path, uid, "the configuration");
    if ((statSync(path).mode & 0o022) === 0) continue;
    throw new VaultError(
      "state",
      `the configuration cannot be used: other users can write to ${path}`,
      { hint: `chmod go-w ${path}` },
    );
  }
  try {
    const stored = (await openConf(directory)).store;
    checkNesting(stored);
    const { profiles = {}, currentProfile } = stored;
    if (!isTable(profiles) || !Object.values(profiles).every(isTable))
      throw new Error("profiles must be an object of objects");
    if (currentProfile !== undefined && typeof currentProfile !== "string")
      throw new Error("currentProfile must be a string");
    return { ...stored, profiles: profiles as Configuration["profiles"] };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new VaultError(
      "state",
      `the configuration ${configPath(directory)} cannot be read: ${message}`,
      {
        hint: "fix the file, or move it away",
        cause: error,
      },
    );
  }
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Replaces the whole configuration, mode 0600, durably. The directory must exist. Call it with the configuration locked.
 * @throws `state`
 */
export async function writeConfiguration(
  directory: string,
  configuration: Configuration,
): Promise<void> {
  try {
    const conf = await openConf(directory);
    conf.store = { ...configuration };
    chmodSync(configPath(directory), 0o600);
    syncFolder(directory);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new VaultError(
      "state",
      `the configuration ${configPath(directory)} cannot be written: ${message}`,
      {
        hint: "check access and free space; the file was not changed",
        cause: error,
      },
    );
  }
}

/** @throws `state` for anything but a file, like a dangling link or a pipe */
function isThere(path: string): boolean {
  let why = "it is not a file";
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
    if (statSync(path).isFile()) return true;
  } catch (error) {
    why = (error as NodeJS.ErrnoException).code ?? String(error);
  }
  throw new VaultError("state", `the configuration cannot be used: ${path}: ${why}`, {
    hint: "give your user access to it, or move it away",
  });
}

async function openConf(directory: string) {
  const { default: Conf } = await import("conf");
  return new Conf<Record<string, unknown>>({
    cwd: directory,
    configName: "config",
    configFileMode: 0o600,
    clearInvalidConfig: false,
    accessPropertiesByDotNotation: false,
  });
}
