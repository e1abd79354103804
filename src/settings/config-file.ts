import { chmodSync, readFileSync, statSync } from "node:fs";
import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { syncFolder } from "../files/durable-file.ts";
import { checkOwner, checkWriters, fileIfThere } from "../files/private-directory.ts";
import { isObject, parseJson } from "../protocol/json.ts";
import { meant } from "./given.ts";
import { command } from "../way.ts";

/** One profile of the configuration: settings by their config key, nested ones as objects. */
export type Profile = Readonly<Record<string, unknown>>;

/** The names that a profile may be given. */
export const profileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export interface Configuration {
  currentProfile?: string;
  profiles: Readonly<Record<string, Profile>>;
}

const what = "the configuration";

export const configPath = (directory: string): string => `${directory}/config.json`;

/**
 * Reads the configuration; null if there is none.
 * @throws `state` if it is not a file, cannot be read, or another user than `uid` or root owns or can write it
 */
export function readConfiguration(directory: string, uid?: number): Configuration | null {
  const path = configPath(directory);
  const stats = fileIfThere(path, what);
  if (stats === null) return null;
  // The configuration may name a command to run.
  for (const each of [directory, path]) checkOwner(each, uid, what);
  checkWriters(directory, statSync(directory), what);
  checkWriters(path, stats, what);
  try {
    // Not by conf, which takes longer to load than all the rest.
    const text = readFileSync(path, "utf8");
    // Its own message would show what stands in the file.
    const stored = attempt(() => parseJson(meant(text, what)));
    if (!isObject(stored)) throw new Error("it is not a JSON object");
    const { profiles = {}, currentProfile } = stored;
    if (!isObject(profiles) || !Object.values(profiles).every(isObject))
      throw new Error("profiles must be an object of objects");
    if (currentProfile !== undefined && typeof currentProfile !== "string")
      throw new Error("currentProfile must be a string");
    return { ...stored, profiles: profiles as Configuration["profiles"] };
  } catch (error) {
    throw failed(`${path} cannot be read`, "fix the file, or move it away", error as Error);
  }
}

/**
 * Replaces the whole configuration, mode 0600, durably. The directory must exist. Call it with the configuration locked.
 * @throws `state`
 */
export async function writeConfiguration(
  directory: string,
  configuration: Configuration,
): Promise<void> {
  const path = configPath(directory);
  try {
    const { default: Conf } = await import("conf");
    new Conf<Record<string, unknown>>({
      cwd: directory,
      configName: "config",
      configFileMode: 0o600,
      clearInvalidConfig: false,
      accessPropertiesByDotNotation: false,
    }).store = { ...configuration };
    chmodSync(path, 0o600);
    syncFolder(directory);
  } catch (error) {
    const hint = "check access and free space; the file was not changed";
    throw failed(`${path} cannot be written`, hint, error as Error);
  }
}

const failed = (why: string, hint: string, cause: Error): VaultError =>
  new VaultError("state", `${what} ${why}: ${cause.message}`, { hint, cause });

export interface NamedProfile {
  name: string;
  /** Whether the configuration exists and contains the profile. */
  exists: boolean;
  settings: Profile;
}

/**
 * Finds the profile `name`, or else the current one. The default profile need not exist if it was not asked for, or if there is no
 * configuration.
 * @throws `usage` for any other profile that does not exist, unless `mayMiss`; `state` for a configuration that cannot be read
 */
export function findProfile(
  directory: string,
  name: string | undefined,
  mayMiss = false,
  uid?: number,
): NamedProfile {
  const configuration = readConfiguration(directory, uid);
  const chosen = name ?? configuration?.currentProfile ?? "default";
  const profiles = configuration?.profiles ?? {};
  const settings = Object.hasOwn(profiles, chosen) ? profiles[chosen] : undefined;
  if (settings !== undefined) return { name: chosen, exists: true, settings };
  const isNone = chosen === "default" && (name === undefined || configuration === null);
  if (isNone || mayMiss) return { name: chosen, exists: false, settings: {} };
  const message = `no such profile: ${chosen} (--profile, VAULTSVC_PROFILE or currentProfile)`;
  throw new VaultError("usage", message, {
    hint: `profiles in ${configPath(directory)}: ${Object.keys(profiles).join(", ") || "none"}`,
    next: [command`vault init --profile ${chosen}`],
  });
}

/** The value of a dotted key, as text for the parsers of flags; undefined if it is not set. */
export function profileValue(profile: Profile, key: string): string | undefined {
  let value: unknown = profile;
  for (const part of key.split("."))
    value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  return typeof value === "string" ? value : JSON.stringify(value ?? undefined);
}

/** A copy of the configuration with a profile that is new, or in place of the one of its name. */
export const withProfile = (
  configuration: Configuration,
  name: string,
  profile: Profile,
): Configuration => ({
  ...configuration,
  profiles: { ...configuration.profiles, [name]: profile },
});

/** A copy of the profile with a dotted key set, or removed (undefined) without leaving empty tables. */
export function withValue(profile: Profile, key: string, value: unknown): Profile {
  const [first = "", ...rest] = key.split(".");
  const { [first]: before, ...others } = profile;
  if (rest.length === 0) return value === undefined ? others : { ...others, [first]: value };
  const inner = withValue(isObject(before) ? before : {}, rest.join("."), value);
  return Object.keys(inner).length === 0 ? others : { ...others, [first]: inner };
}
