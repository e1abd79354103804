import { VaultError } from "../errors.ts";
import { isLoopback } from "../protocol/address.ts";
import { joined } from "../protocol/endpoints.ts";
import { unseenIn } from "../protocol/validate.ts";
import type { SettingName } from "./definitions.ts";
import type { Sourced } from "./given.ts";
import {
  definitionOf,
  flagOf,
  parseBaseUrl,
  settingDefinitions,
  settingNames,
  waysToSet,
} from "./definitions.ts";
import { profileValue, type Profile } from "./config-file.ts";
import { command } from "../way.ts";

/** The flags that were given, as commander parses them. */
export type GivenFlags = Readonly<Partial<Record<SettingName, string | boolean>>>;

/** Effective settings: durations in milliseconds; what may be read from a file or stdin stays as it was given. */
export type Settings = Values & {
  /** The service's rules of locking, as `lockAfterFailed` and `lockAfterUnacked` say. */
  policy: { unackedStarts: number; failedAttempts: number };
};

type Table = typeof settingDefinitions;
type Values = {
  [Name in SettingName]:
    | (Table[Name] extends { parse: (text: string, source: string) => infer Value }
        ? Value
        : Sourced)
    | (Table[Name] extends { fallback: string } ? never : undefined);
};

/**
 * Resolves every setting.
 * @throws `usage` or `invalid-input`, which names the flag, variable or config key
 */
export function resolveSettings(
  flags: GivenFlags,
  env: Readonly<Record<string, string | undefined>>,
  profile: Profile,
): Settings {
  const values = Object.fromEntries(
    settingNames.map((name) => {
      const found = findSetting(name, flags, env, profile);
      return [name, found && parseSetting(name, found, flags.profile)];
    }),
  ) as Values;
  const { lockAfterFailed, lockAfterUnacked } = values;
  return {
    ...values,
    policy: { failedAttempts: lockAfterFailed, unackedStarts: lockAfterUnacked },
  };
}

/**
 * Checks and parses a value.
 * @throws what the definition says, for what is wrong in a profile with the command that fixes it
 */
export function parseSetting(
  name: SettingName,
  found: Sourced,
  profile: GivenFlags["profile"],
): unknown {
  const { key, parse } = definitionOf(name);
  try {
    return parse === undefined ? found : parse(found.text, found.source);
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const inProfile = profile === undefined ? [] : ["--profile", String(profile)];
    const next = [command`vault config set ${key ?? name} VALUE ${inProfile}`];
    const said = new VaultError(error.code, error.message + unseenIn(found.text), error.facts);
    throw found.from === "profile" ? said.with({ next }) : said;
  }
}

/** How the settings are read: see `createSettings`. */
export type SettingsMode = "lenient" | "fixes-configuration" | "unneeded";

/** A setting as it was given, unchecked, with its source; else its default, if it has one. */
export function findSetting(
  name: SettingName,
  flags: GivenFlags,
  env: Readonly<Record<string, string | undefined>>,
  profile: Profile,
): Sourced | undefined {
  const { env: variable = "", key, fallback } = definitionOf(name);
  const flag = flags[name];
  if (flag !== undefined) return { text: String(flag), source: flagOf(name), from: "flag" };
  if (env[variable]) return { text: env[variable], source: variable, from: "variable" };
  const text = key === undefined ? undefined : profileValue(profile, key);
  if (text !== undefined) return { text, source: `config key ${key}`, from: "profile" };
  return fallback === undefined
    ? undefined
    : { text: fallback, source: "default", from: "default" };
}

type RequiredName = {
  [Name in SettingName]: Table[Name] extends { required: string } ? Name : never;
}[SettingName];

/** Settings without which nothing can be sent. */
export const requiredSettings = settingNames.filter(
  (name): name is RequiredName => definitionOf(name).required !== undefined,
);

/** Those of the required settings that were not given. */
export const missingIn = (settings: Partial<Settings>): RequiredName[] =>
  requiredSettings.filter((name) => settings[name] === undefined);

/** The error for required settings that were not given: names every way to give each, and commands that give all of them. */
export function missingSettings(
  names: readonly RequiredName[],
  next = [command`vault init`, command`vault sandbox exec -- sh`],
): VaultError {
  const missing = names.map((name) => settingDefinitions[name].required);
  const ways = names.map((name, index) => `set ${missing[index]} with ${waysToSet(name)}`);
  const all = joined(missing, "and");
  return new VaultError("usage", `${all} ${names.length === 1 ? "is" : "are"} missing`, {
    hint: ways.join("; "),
    next,
  });
}

/**
 * Checks the base URL and returns the name of the service: origin, path and prefix, without a final slash. `http:` is valid only
 * for this machine, unless `insecureHttp`.
 * @throws `usage` without a base URL, `invalid-input`
 */
export function serviceName(
  settings: Pick<Settings, "baseUrl" | "apiPrefix" | "insecureHttp"> & Partial<Settings>,
  source = "--base-url",
): string {
  if (settings.baseUrl === undefined) throw missingSettings(missingIn(settings));
  const url = parseBaseUrl(settings.baseUrl, source);
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !settings.insecureHttp)
    throw new VaultError(
      "invalid-input",
      `${source}: http: is allowed only to this machine, not to ${url.hostname}: secrets would be sent in plain text`,
      { hint: `--base-url https://${url.host}, or --insecure-http if you accept that` },
    );
  const base = url.pathname.replace(/\/$/, "");
  // A base URL may end with the prefix, of two parts or more: messages name the service with it.
  const isWhole = /\/.+\/./.test(settings.apiPrefix) && base.endsWith(settings.apiPrefix);
  const path = `${base}${isWhole ? "" : settings.apiPrefix}`.replaceAll(/\/{2,}/g, "/");
  return `${url.origin}${path.replace(/\/$/, "")}`;
}
