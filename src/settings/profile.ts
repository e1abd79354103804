import { VaultError } from "../errors.ts";
import { configPath, readConfiguration } from "./config-file.ts";

/** One profile of the configuration: settings by their config key, nested ones as objects. */
export type Profile = Readonly<Record<string, unknown>>;

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
export async function findProfile(
  directory: string,
  name: string | undefined,
  mayMiss = false,
  uid?: number,
): Promise<NamedProfile> {
  const configuration = await readConfiguration(directory, uid);
  const chosen = name ?? configuration?.currentProfile ?? "default";
  const profiles = configuration?.profiles ?? {};
  const settings = Object.hasOwn(profiles, chosen) ? profiles[chosen] : undefined;
  if (settings !== undefined) return { name: chosen, exists: true, settings };
  const isNone = chosen === "default" && (name === undefined || configuration === null);
  if (isNone || mayMiss) return { name: chosen, exists: false, settings: {} };
  if (configuration === null) {
    throw new VaultError(
      "usage",
      `--profile: no such profile: ${chosen} (${configPath(directory)} does not exist)`,
      {
        hint: `leave --profile out, or create it; vault init --profile ${chosen}`,
      },
    );
  }
  throw new VaultError(
    "usage",
    `--profile: no such profile: ${chosen} (in ${configPath(directory)})`,
    {
      hint: `profiles: ${Object.keys(profiles).join(", ") || "none"}; vault init --profile ${chosen}`,
    },
  );
}

/** The value of a dotted key, as text for the parsers of flags; undefined if it is not set. */
export function profileValue(profile: Profile, key: string): string | undefined {
  let value: unknown = profile;
  for (const part of key.split(".")) {
    const table = value as Record<string, unknown> | null | undefined;
    value =
      typeof table === "object" && table !== null && Object.hasOwn(table, part)
        ? table[part]
        : undefined;
  }
  return typeof value === "string" ? value : JSON.stringify(value ?? undefined);
}

/** A copy of the profile with a dotted key set, or removed (undefined) without leaving empty tables. */
export function withValue(profile: Profile, key: string, value: unknown): Profile {
  const [first = "", ...rest] = key.split(".");
  const { [first]: before, ...others } = profile;
  if (rest.length === 0) return value === undefined ? others : { ...others, [first]: value };
  const table = typeof before === "object" && before !== null ? (before as Profile) : {};
  const inner = withValue(table, rest.join("."), value);
  return Object.keys(inner).length === 0 ? others : { ...others, [first]: inner };
}
