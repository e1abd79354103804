import { VaultError } from "../errors.ts";
import { configPath, readConfiguration } from "./config-file.ts";

/** One profile of the configuration: settings by their config key, nested ones as objects. */
export type Profile = Readonly<Record<string, unknown>>;

export interface NamedProfile {
  name: string;
  /** False for one that is not in the configuration, or no configuration at all. */
  exists: boolean;
  settings: Profile;
}

/**
 * The profile `name`, or the configuration's current one. Where there is no configuration, and for the default profile, it need
 * not exist.
 * @throws `usage` for any other that is not there (unless `mayMiss`) and `state` for a file that cannot be read
 */
export async function findProfile(directory: string, name: string | undefined, mayMiss = false, uid?: number): Promise<NamedProfile> {
  const configuration = await readConfiguration(directory, uid);
  const chosen = name ?? configuration?.currentProfile ?? "default";
  const profiles = configuration?.profiles ?? {};
  const settings = Object.hasOwn(profiles, chosen) ? profiles[chosen] : undefined;
  if (settings !== undefined) return { name: chosen, exists: true, settings };
  const isNone = chosen === "default" && (name === undefined || configuration === null);
  if (isNone || mayMiss) return { name: chosen, exists: false, settings: {} };
  if (configuration === null) {
    throw new VaultError("usage", `--profile: there is no profile ${chosen}: ${configPath(directory)} does not exist`, {
      hint: `leave --profile out, or make it: vault init --profile ${chosen}`,
    });
  }
  throw new VaultError("usage", `--profile: there is no profile ${chosen} in ${configPath(directory)}`, {
    hint: `profiles there: ${Object.keys(profiles).join(", ") || "none"}; to make it: vault init --profile ${chosen}`,
  });
}

/** The value of a dotted key, as text for the same parser that flags go through; undefined where it is not set. */
export function profileValue(profile: Profile, key: string): string | undefined {
  let value: unknown = profile;
  for (const part of key.split(".")) {
    const table = value as Record<string, unknown> | null | undefined;
    value = typeof table === "object" && table !== null && Object.hasOwn(table, part) ? table[part] : undefined;
  }
  return typeof value === "string" ? value : JSON.stringify(value ?? undefined);
}

/** A copy of the profile with a dotted key set, or taken away (undefined), and no empty tables left behind. */
export function withValue(profile: Profile, key: string, value: unknown): Profile {
  const [first = "", ...rest] = key.split(".");
  const { [first]: before, ...others } = profile;
  if (rest.length === 0) return value === undefined ? others : { ...others, [first]: value };
  const table = typeof before === "object" && before !== null ? (before as Profile) : {};
  const inner = withValue(table, rest.join("."), value);
  return Object.keys(inner).length === 0 ? others : { ...others, [first]: inner };
}
