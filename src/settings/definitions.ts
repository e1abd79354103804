/**
 * A setting of the contract. A flag takes precedence over the environment, that over the profile, and that over the default.
 * `help` appears in `--help` and the README.
 */
export interface SettingDefinition {
  /** Long flag with its argument, as commander takes it. */
  flag?: string;
  env?: string;
  /** Key in a profile; dotted for nested ones. */
  key?: string;
  help: string;
}

export const outputFormats = ["table", "json", "ndjson"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Values of `stateKeySource`. */
export const keySourceNames = ["file", "passphrase", "keyring"] as const;
export type KeySourceName = (typeof keySourceNames)[number];

export const settingDefinitions = {
  profile: {
    flag: "--profile <name>",
    env: "VAULTSVC_PROFILE",
    key: "currentProfile",
    help: "profile to use (default)",
  },
  baseUrl: {
    flag: "--base-url <url>",
    env: "VAULTSVC_BASE_URL",
    key: "baseUrl",
    help: "base URL of the service",
  },
  insecureHttp: { flag: "--insecure-http", help: "allow http: to other machines" },
  apiPrefix: {
    flag: "--api-prefix <path>",
    env: "VAULTSVC_API_PREFIX",
    key: "apiPrefix",
    help: "path prefix of the API (/vaultsvc/v1-2)",
  },
  appUuid: {
    flag: "--app-uuid <uuid>",
    env: "VAULTSVC_APP_UUID",
    key: "appUuid",
    help: "application UUID",
  },
  apiKey: {
    flag: "--api-key <secret>",
    env: "VAULTSVC_API_KEY",
    key: "apiKey",
    help: "API key: @FILE, -, env:NAME; stored encrypted in a profile",
  },
  jwt: {
    flag: "--jwt <secret>",
    env: "VAULTSVC_JWT",
    help: "bearer token (JWT): @FILE, -, env:NAME",
  },
  jwtCommand: { key: "jwt.command", help: "command that prints the bearer token (run by /bin/sh)" },
  jwtPrivateKeyFile: {
    key: "jwt.privateKeyFile",
    help: "P-384 private key (PEM) to sign the bearer token with",
  },
  jwtClaims: { key: "jwt.claims", help: "claims of the signed token, an object" },
  device: {
    flag: "--device <json>",
    env: "VAULTSVC_DEVICE",
    key: "device",
    help: "device for online vaults: @FILE or JSON",
  },
  state: {
    flag: "--state <directory>",
    env: "VAULTSVC_STATE",
    key: "state",
    help: "directory of the state",
  },
  configDir: {
    env: "VAULTSVC_CONFIG_DIR",
    help: "directory of the configuration and the key file (absolute path)",
  },
  stateKey: {
    flag: "--state-key <secret>",
    env: "VAULTSVC_STATE_KEY",
    help: "encryption key, 32 bytes as base64: @FILE, -, env:NAME",
  },
  stateKeyFile: { key: "stateKeyFile", help: "file of the encryption key (created on first use)" },
  stateKeySource: {
    key: "stateKeySource",
    help: "source of the encryption key: file, passphrase or keyring (file)",
  },
  statePassphrase: {
    env: "VAULTSVC_STATE_PASSPHRASE",
    help: "passphrase, if the encryption key is derived from one",
  },
  live: { key: "live", help: "true: show a banner and confirm updates" },
  rate: {
    flag: "--rate <n>",
    env: "VAULTSVC_RATE",
    key: "rateLimit",
    help: "requests per second, over all processes (25; 0 = unlimited)",
  },
  timeout: {
    flag: "--timeout <duration>",
    env: "VAULTSVC_TIMEOUT",
    key: "timeout",
    help: "time limit of one request (30s)",
  },
  maxWait: {
    flag: "--max-wait <duration>",
    env: "VAULTSVC_MAX_WAIT",
    key: "maxWait",
    help: "total time limit, retries included (2m)",
  },
  ca: {
    flag: "--ca <file>",
    key: "ca",
    help: "trust only the certificates in this PEM file and in NODE_EXTRA_CA_CERTS",
  },
  proxy: {
    flag: "--proxy <url>",
    key: "proxy",
    help: "proxy for the service (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)",
  },
  lockAfterFailed: {
    flag: "--lock-after-failed <n>",
    key: "policy.failedAttempts",
    help: "failed attempts that lock a vault (3)",
  },
  lockAfterUnacked: {
    flag: "--lock-after-unacked <n>",
    key: "policy.unackedStarts",
    help: "unacknowledged starts that lock a vault (5)",
  },
  policyTokenLifetime: {
    key: "policy.tokenLifetime",
    help: "token lifetime that audit-replay assumes (5m)",
  },
  auditFailure: {
    key: "audit.failure",
    help: "regular expression that marks a failed attempt in audit items",
  },
  output: {
    flag: "-o, --output <format>",
    env: "VAULTSVC_OUTPUT",
    key: "output",
    help: "table, json or ndjson (table)",
  },
  debug: {
    flag: "--debug",
    env: "VAULTSVC_DEBUG",
    help: "print each request and response, secrets redacted",
  },
} as const satisfies Record<string, SettingDefinition>;

export type SettingName = keyof typeof settingDefinitions;

/** Joins words for a sentence: `a, b or c`. */
export const joined = (words: readonly string[], last: "and" | "or"): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;

/** Every way to give a setting, for error messages: "--app-uuid, VAULTSVC_APP_UUID or the config key appUuid". */
export function waysToSet(name: SettingName): string {
  const { flag, env, key }: SettingDefinition = settingDefinitions[name];
  const ways = [
    flag?.replace(/^-\w, /, "").split(" ")[0],
    env,
    key === undefined ? undefined : `the config key ${key}`,
  ];
  return joined(
    ways.filter((way) => way !== undefined),
    "or",
  );
}

/** The flag of a setting, as on the command line; else its variable or name. */
export function flagOf(name: SettingName): string {
  const { flag, env }: SettingDefinition = settingDefinitions[name];
  return flag?.replace(/^-\w, /, "").split(" ")[0] ?? env ?? name;
}
