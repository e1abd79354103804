import { parseDuration } from "../duration.ts";
import { VaultError } from "../errors.ts";
import { joined } from "../protocol/endpoints.ts";
import { defaults, isUuid, uuidRule } from "../protocol/limits.ts";
import { checkLocation } from "./location.ts";

/**
 * A setting (vault help settings). A flag takes precedence over the environment, that over the profile, and that over the default.
 * Flags, help, parsers, `vault init`, `vault config` and completion are made from these.
 */
export interface SettingDefinition {
  /** Long flag with its argument, as commander takes it. */
  flag?: string;
  env?: string;
  /** Key in a profile; dotted for nested ones. */
  key?: string;
  /**
   * Form of the value in a profile and in documents, if it is no text. Secrets are sealed at rest; JSON may also be @FILE; a relative
   * path refers to the folder in which it is set.
   */
  form?: "number" | "boolean" | "json" | "secret" | "path";
  /** Default, as it would be given. */
  fallback?: string;
  /** The words for it in the error about missing settings: nothing can be sent without it. */
  required?: string;
  /**
   * Parses a value that was given. Without this it stays as it is, and is read from a file or stdin when it is used.
   * @throws `usage` or `invalid-input`, which names `source`, the flag, variable or config key
   */
  parse?: (text: string, source: string) => unknown;
  help: string;
}

export const outputFormats = ["table", "json", "ndjson"] as const;

const invalid = (source: string, rule: string): VaultError =>
  new VaultError("invalid-input", `${source}: ${rule}`);

/**
 * Parses the base URL of the service. It has no place for secrets, which would be printed with it.
 * @throws `invalid-input`, which names `source` and shows nothing of the value
 */
export function parseBaseUrl(text: string, source: string): URL {
  const url = URL.parse(text);
  const { protocol = "", username, password, search, hash } = url ?? {};
  if (url && /^https?:$/.test(protocol) && !(username || password || search || hash)) return url;
  throw invalid(
    source,
    "must be a URL, such as https://vaults.example.com, without user, password, query or fragment",
  );
}

const anyText = (text: string): string => text;

const checked =
  (check: (text: string, source: string) => unknown) =>
  (text: string, source: string): string => {
    check(text, source);
    return text;
  };

const valid = (isValid: (text: string) => boolean, rule: string) =>
  checked((text, source) => {
    if (!isValid(text)) throw invalid(source, rule);
  });

const isPath = (text: string): boolean => /^\/[A-Za-z0-9._~/-]*$/.test(text);

const flag = (text: string): boolean => !["", "0", "false"].includes(text);

const wholeNumber =
  (least: number) =>
  (text: string, source: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
    throw invalid(source, `must be a whole number of at least ${least}`);
  };

/** With a lower one nothing could be sent: the first request would be the one that locks. */
const threshold = wholeNumber(2);

function outputFormat(text: string, source: string): (typeof outputFormats)[number] {
  const known = outputFormats.find((each) => each === text);
  if (known !== undefined) return known;
  throw new VaultError("usage", `${source}: must be one of ${outputFormats.join(", ")}`);
}

function trueOrFalse(text: string, source: string): boolean {
  if (["true", "false"].includes(text)) return text === "true";
  throw invalid(source, "must be true or false");
}

export const settingDefinitions = {
  profile: {
    flag: "--profile <name>",
    env: "VAULTSVC_PROFILE",
    key: "currentProfile",
    fallback: "default",
    parse: anyText,
    help: "profile to use (default)",
  },
  baseUrl: {
    flag: "--base-url <url>",
    env: "VAULTSVC_BASE_URL",
    key: "baseUrl",
    required: "the base URL of the service",
    parse: checked(parseBaseUrl),
    help: "base URL of the service",
  },
  insecureHttp: {
    flag: "--insecure-http",
    form: "boolean",
    fallback: "false",
    parse: flag,
    help: "allow http: to other machines",
  },
  apiPrefix: {
    flag: "--api-prefix <path>",
    env: "VAULTSVC_API_PREFIX",
    key: "apiPrefix",
    fallback: defaults.apiPrefix,
    parse: valid(isPath, `must be a path, such as ${defaults.apiPrefix}`),
    help: "path prefix of the API (/vaultsvc/v1-2)",
  },
  appUuid: {
    flag: "--app-uuid <uuid>",
    env: "VAULTSVC_APP_UUID",
    key: "appUuid",
    required: "the application UUID",
    parse: valid(isUuid, uuidRule),
    help: "application UUID",
  },
  apiKey: {
    flag: "--api-key <secret>",
    env: "VAULTSVC_API_KEY",
    key: "apiKey",
    form: "secret",
    required: "the API key",
    help: "API key: @FILE, -, env:NAME; stored encrypted in a profile",
  },
  jwt: {
    flag: "--jwt <secret>",
    env: "VAULTSVC_JWT",
    form: "secret",
    help: "bearer token (JWT): @FILE, -, env:NAME",
  },
  jwtCommand: { key: "jwt.command", help: "command that prints the bearer token (run by /bin/sh)" },
  jwtPrivateKeyFile: {
    key: "jwt.privateKeyFile",
    form: "path",
    help: "P-384 private key (PEM) to sign the bearer token with",
  },
  jwtClaims: { key: "jwt.claims", form: "json", help: "claims of the signed token, an object" },
  device: {
    flag: "--device <json>",
    env: "VAULTSVC_DEVICE",
    key: "device",
    form: "json",
    help: "device for online vaults: @FILE or JSON",
  },
  state: {
    flag: "--state <directory>",
    env: "VAULTSVC_STATE",
    key: "state",
    form: "path",
    parse: checked(checkLocation),
    help: "the state: a directory, or postgres://…",
  },
  configDir: {
    env: "VAULTSVC_CONFIG_DIR",
    parse: anyText,
    help: "directory of the configuration and the key files (absolute path)",
  },
  stateKey: {
    flag: "--state-key <secret>",
    env: "VAULTSVC_STATE_KEY",
    form: "secret",
    help: "encryption key, 32 bytes as base64: @FILE, -, env:NAME",
  },
  stateKeyCommand: {
    key: "stateKeyCommand",
    help: "command that prints the encryption key (run by /bin/sh)",
  },
  live: {
    key: "live",
    form: "boolean",
    fallback: "false",
    parse: trueOrFalse,
    help: "true: show a banner and confirm updates",
  },
  rate: {
    flag: "--rate <n>",
    env: "VAULTSVC_RATE",
    key: "rateLimit",
    form: "number",
    fallback: String(defaults.rate),
    parse: wholeNumber(0),
    help: "requests per second, over all processes (25; 0 = unlimited)",
  },
  timeout: {
    flag: "--timeout <duration>",
    env: "VAULTSVC_TIMEOUT",
    key: "timeout",
    fallback: "30s",
    // A shorter one would spend starts that nothing can answer, and open the breaker for everybody.
    parse: (text: string, source: string) => parseDuration(text, source, 100),
    help: "time limit of one request, at least 100ms (30s)",
  },
  maxWait: {
    flag: "--max-wait <duration>",
    env: "VAULTSVC_MAX_WAIT",
    key: "maxWait",
    fallback: "2m",
    parse: parseDuration,
    help: "total time limit of waiting and retrying, of many vaults for each (2m)",
  },
  ca: {
    flag: "--ca <file>",
    key: "ca",
    form: "path",
    help: "trust only the certificates in this PEM file and NODE_EXTRA_CA_CERTS",
  },
  proxy: {
    flag: "--proxy <url>",
    key: "proxy",
    help: "proxy for the service (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)",
  },
  lockAfterFailed: {
    flag: "--lock-after-failed <n>",
    key: "policy.failedAttempts",
    form: "number",
    fallback: String(defaults.failedAttempts),
    parse: threshold,
    help: "failed attempts that lock a vault, at least 2 (3)",
  },
  lockAfterUnacked: {
    flag: "--lock-after-unacked <n>",
    key: "policy.unackedStarts",
    form: "number",
    fallback: String(defaults.unackedStarts),
    parse: threshold,
    help: "unacknowledged starts that lock a vault, at least 2 (5)",
  },
  output: {
    flag: "-o, --output <format>",
    env: "VAULTSVC_OUTPUT",
    key: "output",
    fallback: "table",
    parse: outputFormat,
    help: "table, json or ndjson (table)",
  },
  pagerCommand: {
    env: "VAULT_PAGER",
    key: "pager",
    parse: anyText,
    help: "command for output longer than the screen; cat: none (PAGER, or less)",
  },
  debug: {
    flag: "--debug",
    env: "VAULTSVC_DEBUG",
    form: "boolean",
    fallback: "false",
    parse: flag,
    help: "print each request and response, secrets redacted",
  },
} as const satisfies Record<string, SettingDefinition>;

export type SettingName = keyof typeof settingDefinitions;

/** Looks a setting up without the types of the table. */
export const definitionOf = (name: SettingName): SettingDefinition => settingDefinitions[name];

export const settingNames = Object.keys(settingDefinitions) as SettingName[];

/** Keys of a profile, each with its setting. `currentProfile` belongs to no profile. */
export const configKeys: ReadonlyMap<string, SettingName> = new Map(
  settingNames.flatMap((name) => {
    const { key } = definitionOf(name);
    return key === undefined || name === "profile" ? [] : [[key, name] as const];
  }),
);

const longFlag = (name: SettingName): string | undefined =>
  definitionOf(name)
    .flag?.replace(/^-\w, /, "")
    .split(" ")[0];

/** Every way to give a setting, for error messages: "--app-uuid, VAULTSVC_APP_UUID or the config key appUuid". */
export function waysToSet(name: SettingName): string {
  const { env, key } = definitionOf(name);
  const ways = [longFlag(name), env, key === undefined ? undefined : `the config key ${key}`];
  return joined(
    ways.filter((way) => way !== undefined),
    "or",
  );
}

/** The flag of a setting; else its variable or name. */
export const flagOf = (name: SettingName): string =>
  longFlag(name) ?? definitionOf(name).env ?? name;
