import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const config = {
  name: "config",
  summary: "read and change the profiles; change the key of the state",
  description: "Read and change the settings of a profile (--profile, else the current one). vault init makes a profile.",
  examples: ["vault config list --origin", "vault config set timeout 10s"],
} as const satisfies Descriptor;

export const list = {
  name: "list",
  summary: "the settings of the profile",
  options: {
    origin: { flag: "--origin", help: "every setting: what holds, and the flag, variable, profile or default that it comes from" },
  },
  examples: ["vault config list", "vault config list --origin", "vault config list --origin --json"],
  fields: ["profile", "profiles", "path", "settings"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const get = {
  name: "get",
  summary: "print what holds for one setting",
  arguments: { key: { term: "<key>", help: "the config key, like timeout or policy.failed" } },
  examples: ["vault config get baseUrl", "vault config get rateLimit --json"],
  fields: ["key", "value", "origin"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const set = {
  name: "set",
  summary: "change one setting",
  arguments: {
    key: { term: "<key>", help: "the config key, like timeout or policy.failed" },
    value: {
      term: "<value>",
      help: "checked as the flag is; device: @FILE or JSON; apiKey: @FILE, -, env:NAME, and it is sealed",
      is: "any",
    },
  },
  examples: ["vault config set timeout 10s", "vault config set apiKey env:VAULTSVC_API_KEY"],
  fields: ["profile", "key", "value"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const unset = {
  name: "unset",
  summary: "take one setting out of the profile",
  arguments: { key: { term: "<key>", help: "the config key" } },
  examples: ["vault config unset timeout", "vault config unset policy.failed --json"],
  fields: ["profile", "key", "value"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const path = {
  name: "path",
  summary: "where the configuration, the key file and the state are",
  examples: ["vault config path", "vault config path --json"],
  fields: ["config", "keyFile", "state"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const use = {
  name: "use",
  summary: "make a profile the current one",
  arguments: { name: { term: "<name>", help: "the profile" } },
  examples: ["vault config use default", "vault config use default --json"],
  fields: ["profile"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const rekey = {
  name: "rekey",
  summary: "change the key that seals all secrets",
  description:
    "Change the key that seals credentials, tokens and secrets of profiles, or where it comes from. Killed at any moment, nothing " +
    "is lost: run it again. Backups made before still need the old key.",
  options: {
    to: { flag: "--to <source>", help: "file, passphrase, keyring or given (what it is now)", is: "anyKeySource" },
    newPassphrase: { flag: "--new-passphrase <secret>", help: "for a passphrase: @FILE, -, env:NAME (asked for)" },
    newStateKey: { flag: "--new-state-key <secret>", help: "for a given key, 32 bytes as base64: @FILE, -, env:NAME" },
    skipMissing: { flag: "--skip-missing", help: "go on although a state with this key is not there: what it holds is lost" },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: [
    "vault config rekey --yes",
    "vault config rekey --to file --yes --json",
    "echo correct horse battery | vault config rekey --new-passphrase - --yes",
  ],
  fields: ["rekeyed"],
} as const satisfies Descriptor;

export type RekeyOptions = OptionsOf<typeof rekey>;
