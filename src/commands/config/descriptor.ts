import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const config = {
  name: "config",
  summary: "read and change profiles; change the encryption key",
  description: "Read and change the settings of a profile (--profile, else the current one). vault init sets one up.",
  examples: ["vault config list --origin", "vault config set timeout 10s"],
} as const satisfies Descriptor;

export const list = {
  name: "list",
  summary: "list the settings of the profile",
  options: {
    origin: {
      flag: "--origin",
      help: "every setting with its effective value, and where it comes from: flag, variable, profile or default",
    },
  },
  examples: ["vault config list", "vault config list --origin", "vault config list --origin --json"],
  fields: ["profile", "profiles", "path", "settings"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const get = {
  name: "get",
  summary: "print the effective value of a setting",
  arguments: { key: { term: "<key>", help: "configuration key, such as timeout or policy.failedAttempts" } },
  examples: ["vault config get baseUrl", "vault config get rateLimit --json"],
  fields: ["key", "value", "origin"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const set = {
  name: "set",
  summary: "change a setting",
  arguments: {
    key: { term: "<key>", help: "configuration key, such as timeout or policy.failedAttempts" },
    value: {
      term: "<value>",
      help: "checked like the flag; device: @FILE or JSON; apiKey: @FILE, -, env:NAME (stored encrypted)",
      is: "any",
    },
  },
  examples: ["vault config set timeout 10s", "vault config set apiKey env:VAULTSVC_API_KEY"],
  fields: ["profile", "key", "value"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const unset = {
  name: "unset",
  summary: "remove a setting from the profile",
  arguments: { key: { term: "<key>", help: "configuration key" } },
  examples: ["vault config unset timeout", "vault config unset timeout --json"],
  fields: ["profile", "key", "value"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const path = {
  name: "path",
  summary: "print where the configuration, the key file and the state are",
  examples: ["vault config path", "vault config path --json"],
  fields: ["config", "keyFile", "state"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const use = {
  name: "use",
  summary: "switch to a profile",
  arguments: { name: { term: "<name>", help: "profile" } },
  examples: ["vault config use default", "vault config use default --json"],
  fields: ["profile"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const rekey = {
  name: "rekey",
  summary: "change the encryption key",
  description:
    "Change the key that encrypts credentials, tokens and the secrets of profiles, or where it comes from. Safe to interrupt; run it " +
    "again. Backups made before still need the old key.",
  options: {
    to: {
      flag: "--to <source>",
      help: "source of the new key: file, passphrase, keyring or given (default: unchanged)",
      is: "anyKeySource",
    },
    newPassphrase: { flag: "--new-passphrase <secret>", help: "new passphrase: @FILE, -, env:NAME (default: asked for)" },
    newStateKey: { flag: "--new-state-key <secret>", help: "new given key, 32 bytes as base64: @FILE, -, env:NAME" },
    skipMissing: { flag: "--skip-missing", help: "continue although a state with this key is missing; its secrets are lost" },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault config rekey", "vault config rekey --to file --json", "vault config rekey --new-passphrase @passphrase.txt"],
  fields: ["rekeyed"],
} as const satisfies Descriptor;

export type RekeyOptions = OptionsOf<typeof rekey>;
