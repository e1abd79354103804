import type { Descriptor } from "../../cli/command.ts";
import { text } from "../../cli/command.ts";

export const config = {
  name: "config",
  summary: "read and change profiles",
  description:
    "Read and change the settings of a profile (--profile, else the current one). vault init sets one up.",
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
  examples: [
    "vault config list",
    "vault config list --origin",
    "vault config list --origin --json",
  ],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

const key = {
  term: "<key>",
  help: "configuration key, such as timeout or policy.failedAttempts",
  value: text,
} as const;

export const get = {
  name: "get",
  summary: "print the effective value of a setting",
  arguments: { key },
  examples: ["vault config get baseUrl", "vault config get rateLimit --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const set = {
  name: "set",
  summary: "change a setting",
  arguments: {
    key,
    value: {
      term: "<value>",
      help: "checked like the flag; device: @FILE or JSON; apiKey: @FILE, -, env:NAME (stored encrypted)",
      value: (is) => is.any,
    },
  },
  examples: ["vault config set timeout 10s", "vault config set apiKey env:VAULTSVC_API_KEY"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const unset = {
  name: "unset",
  summary: "remove a setting from the profile",
  arguments: { key: { term: "<key>", help: "configuration key", value: text } },
  examples: ["vault config unset timeout", "vault config unset timeout --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const path = {
  name: "path",
  summary: "print where the configuration, the key files and the state are",
  examples: ["vault config path", "vault config path --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const use = {
  name: "use",
  summary: "switch to a profile",
  arguments: { name: { term: "<name>", help: "profile", value: text } },
  examples: ["vault config use default", "vault config use default --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;
