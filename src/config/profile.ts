import { VaultError } from "../errors.ts";

/** One profile of the configuration: settings by their config key, nested ones as objects. */
export type Profile = Readonly<Record<string, unknown>>;

/**
 * Reads the profile `name`, or the configuration's current one, from `config.json` in the configuration directory. An
 * empty profile where there is no configuration. Raises `usage` for a profile that is not there and `state` for a file
 * that cannot be read.
 */
export async function readProfile(directory: string, name: string | undefined): Promise<Profile> {
  const { existsSync } = await import("node:fs");
  if (!existsSync(`${directory}/config.json`)) {
    if (name === undefined || name === "default") return {};
    throw new VaultError("usage", `--profile: there is no profile ${name}: ${directory}/config.json does not exist`, {
      hint: "leave --profile out, or write the profile first",
    });
  }
  const { default: Conf } = await import("conf");
  try {
    const conf = new Conf<Record<string, unknown>>({ cwd: directory, configName: "config", clearInvalidConfig: false });
    const profiles = (conf.get("profiles") ?? {}) as Record<string, Profile>;
    const chosen = name ?? (conf.get("currentProfile") as string | undefined) ?? "default";
    const profile = profiles[chosen];
    if (profile !== undefined) return profile;
    if (chosen === "default" && name === undefined) return {};
    throw new VaultError("usage", `--profile: there is no profile ${chosen} in ${conf.path}`, {
      hint: `profiles there: ${Object.keys(profiles).join(", ") || "none"}`,
    });
  } catch (error) {
    if (error instanceof VaultError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new VaultError("state", `the configuration ${directory}/config.json cannot be read: ${message}`, {
      hint: "mend the file, or move it away",
      cause: error,
    });
  }
}

/** The value of a dotted key, as text for the same parser that flags go through; undefined where it is not set. */
export function profileValue(profile: Profile, key: string): string | undefined {
  let value: unknown = profile;
  for (const part of key.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[part];
  return typeof value === "string" ? value : JSON.stringify(value ?? undefined);
}
