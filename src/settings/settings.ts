import { VaultError } from "../errors.ts";
import { isLoopback } from "../protocol/address.ts";
import { defaults } from "../protocol/limits.ts";
import type { KeySourceName, OutputFormat, SettingDefinition, SettingName } from "./definitions.ts";
import {
  flagOf,
  joined,
  keySourceNames,
  outputFormats,
  settingDefinitions,
  waysToSet,
} from "./definitions.ts";
import { parseDuration } from "./duration.ts";
import { checkLocation } from "./location.ts";
import { checkPattern } from "./pattern.ts";
import type { Profile } from "./profile.ts";
import { profileValue } from "./profile.ts";

/** The flags that were given, as commander parses them. */
export type GivenFlags = Readonly<Partial<Record<SettingName, string | boolean>>>;

/** Effective settings. Values that may be read from a file or stdin stay a specification (`…Spec`). */
export interface Settings {
  baseUrl: string | undefined;
  insecureHttp: boolean;
  apiPrefix: string;
  appUuid: string | undefined;
  apiKeySpec: Sourced | undefined;
  jwtSpec: Sourced | undefined;
  jwtCommand: Sourced | undefined;
  jwtPrivateKeyFile: Sourced | undefined;
  /** JSON. */
  jwtClaims: Sourced | undefined;
  deviceSpec: Sourced | undefined;
  state: string | undefined;
  stateKeySpec: Sourced | undefined;
  stateKeyFile: string | undefined;
  /** Source of the encryption key of the state, if one is set; VAULTSVC_STATE_PASSPHRASE sets passphrase. */
  stateKeySource: KeySourceName | undefined;
  statePassphraseSpec: Sourced | undefined;
  live: boolean;
  rate: number;
  timeoutMs: number;
  maxWaitMs: number;
  /** A path. */
  ca: Sourced | undefined;
  /** From flag or profile; the proxy of the environment depends on the address (`chooseProxy`). */
  proxy: Sourced | undefined;
  policy: { unackedStarts: number; failedAttempts: number };
  /** Token lifetime that a replay of audit items assumes. */
  tokenLifetimeMs: number;
  /** A regular expression. */
  auditFailure: string | undefined;
  output: OutputFormat;
  debug: boolean;
}

/** A value with its source, as errors name it. */
export interface Sourced {
  text: string;
  source: string;
  fromFlag: boolean;
  /** From a profile, where secrets are sealed. */
  fromProfile?: boolean;
}

/**
 * Resolves every setting.
 * @throws `usage` or `invalid-input`, which names the flag, variable or config key
 */
export function resolveSettings(
  flags: GivenFlags,
  env: Readonly<Record<string, string | undefined>>,
  profile: Profile,
): Settings {
  const find = (name: SettingName): Sourced | undefined => findSetting(name, flags, env, profile);
  const text = (name: SettingName): string | undefined => find(name)?.text;
  const duration = (name: SettingName, fallback: number): number => {
    const found = find(name);
    return found === undefined ? fallback : parseDuration(found.text, found.source);
  };
  return {
    baseUrl: text("baseUrl"),
    insecureHttp: find("insecureHttp") !== undefined,
    apiPrefix: text("apiPrefix") ?? defaults.apiPrefix,
    appUuid: text("appUuid"),
    apiKeySpec: find("apiKey"),
    jwtSpec: find("jwt"),
    jwtCommand: find("jwtCommand"),
    jwtPrivateKeyFile: find("jwtPrivateKeyFile"),
    jwtClaims: find("jwtClaims"),
    deviceSpec: find("device"),
    state: location(find("state")),
    stateKeySpec: find("stateKey"),
    stateKeyFile: text("stateKeyFile"),
    stateKeySource:
      keySource(find("stateKeySource")) ??
      (find("statePassphrase") === undefined ? undefined : "passphrase"),
    statePassphraseSpec: find("statePassphrase"),
    live: isTrue(find("live")),
    rate: wholeNumber(find("rate"), 0, defaults.rate),
    timeoutMs: duration("timeout", 30_000),
    maxWaitMs: duration("maxWait", 120_000),
    ca: find("ca"),
    proxy: find("proxy"),
    policy: {
      failedAttempts: wholeNumber(find("lockAfterFailed"), 1, defaults.failedAttempts),
      unackedStarts: wholeNumber(find("lockAfterUnacked"), 1, defaults.unackedStarts),
    },
    tokenLifetimeMs: duration("policyTokenLifetime", defaults.tokenLifetimeMs),
    auditFailure: pattern(find("auditFailure")),
    output: outputFormat(find("output")),
    debug: !["", "0", "false", undefined].includes(text("debug")),
  };
}

/** A setting as it was given, unchecked, with its source; undefined if it was not given. */
export function findSetting(
  name: SettingName,
  flags: GivenFlags,
  env: Readonly<Record<string, string | undefined>>,
  profile: Profile,
): Sourced | undefined {
  const definition: SettingDefinition = settingDefinitions[name];
  const flag = flags[name];
  if (flag !== undefined) return { text: String(flag), source: flagOf(name), fromFlag: true };
  const fromEnv = definition.env === undefined ? undefined : env[definition.env];
  if (fromEnv !== undefined && fromEnv !== "")
    return { text: fromEnv, source: definition.env ?? "", fromFlag: false };
  const fromProfile =
    definition.key === undefined ? undefined : profileValue(profile, definition.key);
  return fromProfile === undefined
    ? undefined
    : {
        text: fromProfile,
        source: `config key ${definition.key}`,
        fromFlag: false,
        fromProfile: true,
      };
}

function wholeNumber(found: Sourced | undefined, min: number, fallback: number): number {
  if (found === undefined) return fallback;
  const value = Number(found.text);
  if (found.text.trim() !== "" && Number.isSafeInteger(value) && value >= min) return value;
  throw new VaultError(
    "invalid-input",
    `${found.source}: must be a whole number of at least ${min}`,
    {
      hint: `for example ${found.source} ${fallback}`,
    },
  );
}

function location(found: Sourced | undefined): string | undefined {
  if (found !== undefined) checkLocation(found.text, found.source);
  return found?.text;
}

const pattern = (found: Sourced | undefined): string | undefined =>
  found === undefined ? undefined : checkPattern(found.text, found.source);

function keySource(found: Sourced | undefined): KeySourceName | undefined {
  if (found === undefined) return undefined;
  const source = keySourceNames.find((known) => known === found.text);
  if (source !== undefined) return source;
  throw new VaultError("usage", `${found.source}: must be one of ${keySourceNames.join(", ")}`, {
    hint: "vault config set stateKeySource passphrase",
  });
}

function isTrue(found: Sourced | undefined): boolean {
  if (found === undefined || found.text === "false") return false;
  if (found.text === "true") return true;
  throw new VaultError("invalid-input", `${found.source}: must be true or false`, {
    hint: "vault config set live true",
  });
}

function outputFormat(found: Sourced | undefined): OutputFormat {
  const format = outputFormats.find((known) => known === (found?.text ?? "table"));
  if (format !== undefined) return format;
  throw new VaultError("usage", `${found?.source}: must be one of ${outputFormats.join(", ")}`, {
    hint: `for example ${found?.source} json`,
  });
}

/** Settings without which nothing can be sent. */
const required = {
  baseUrl: "the base URL of the service",
  appUuid: "the application UUID",
  apiKey: "the API key",
} as const;

export const requiredSettings = Object.keys(required) as (keyof typeof required)[];

/** Those of the required settings that were not given. */
export function missingIn({
  baseUrl,
  appUuid,
  apiKeySpec: apiKey,
}: Partial<Settings>): (keyof typeof required)[] {
  const given = { baseUrl, appUuid, apiKey };
  return requiredSettings.filter((name) => given[name] === undefined);
}

/** The error for required settings that were not given: names every way to give each, and commands that give all of them. */
export function missingSettings(
  names: readonly (keyof typeof required)[],
  commands = ["vault init", "vault sandbox exec -- sh"],
): VaultError {
  const ways = names.map((name) => `set ${required[name]} with ${waysToSet(name)}`);
  const all = joined(
    names.map((name) => required[name]),
    "and",
  );
  return new VaultError("usage", `${all} ${names.length === 1 ? "is" : "are"} missing`, {
    hint: [...ways, ...commands].join("; "),
  });
}

/**
 * Checks the base URL and returns the name of the service: origin, path and prefix, without a final slash. `http:` is valid only
 * for this machine, unless `insecureHttp`.
 * @throws `usage` without a base URL, `invalid-input`
 */
export function serviceName(
  settings: Pick<Settings, "baseUrl" | "apiPrefix" | "insecureHttp"> & Partial<Settings>,
): string {
  if (settings.baseUrl === undefined) throw missingSettings(missingIn(settings));
  const example = "like https://vaults.example.com";
  let url: URL;
  try {
    url = new URL(settings.baseUrl);
  } catch {
    throw new VaultError("invalid-input", `--base-url: must be a URL, ${example}`, {
      hint: "check --base-url or VAULTSVC_BASE_URL",
    });
  }
  const isPlain =
    (url.protocol === "https:" || url.protocol === "http:") &&
    url.username === "" &&
    url.search === "" &&
    url.hash === "";
  if (!isPlain) {
    throw new VaultError(
      "invalid-input",
      `--base-url: must be an https: URL without user name, query or fragment, ${example}`,
      {
        hint: "check --base-url or VAULTSVC_BASE_URL",
      },
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !settings.insecureHttp) {
    throw new VaultError(
      "invalid-input",
      `--base-url: http: is allowed only to this machine, not to ${url.hostname}: secrets would be sent in plain text`,
      {
        hint: `--base-url https://${url.host}, or --insecure-http if you accept that`,
      },
    );
  }
  if (!/^\/[A-Za-z0-9._~/-]*$/.test(settings.apiPrefix)) {
    throw new VaultError(
      "invalid-input",
      `--api-prefix: must be a path, such as ${defaults.apiPrefix}`,
      {
        hint: `use --api-prefix ${defaults.apiPrefix}`,
      },
    );
  }
  return `${url.origin}${`${url.pathname}${settings.apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "")}`;
}
