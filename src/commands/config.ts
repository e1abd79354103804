import type { Command, Descriptor } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";
import { anyText } from "../cli/values.ts";
import { configKeys } from "../settings/definitions.ts";

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
  values: { from: "list", values: [...configKeys.keys()] },
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
      parse: anyText,
    },
  },
  examples: ["vault config set timeout 10s", "vault config set apiKey env:VAULTSVC_API_KEY"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const unset = {
  name: "unset",
  summary: "remove a setting from the profile",
  arguments: { key },
  examples: ["vault config unset timeout", "vault config unset timeout --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

const path = {
  name: "path",
  summary: "print where the configuration, the key files and the state are",
  examples: ["vault config path", "vault config path --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const use = {
  name: "use",
  summary: "switch to a profile",
  arguments: { name: { term: "<name>", help: "profile", values: { from: "profiles" } } },
  examples: ["vault config use default", "vault config use default --json"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export const config: Command = {
  name: "config",
  summary: "read and change profiles",
  description:
    "Read and change the settings of a profile (--profile, else the current one). vault init sets one up.",
  examples: ["vault config list --origin", "vault config set timeout 10s"],
  commands: [
    loaded(list, async () => (await import("./config/list.ts")).runConfigList),
    loaded(get, async () => (await import("./config/list.ts")).runConfigGet),
    loaded(set, async () => (await import("./config/run.ts")).runConfigSet),
    loaded(unset, async () => (await import("./config/run.ts")).runConfigUnset),
    loaded(path, async () => (await import("./config/list.ts")).runConfigPath),
    loaded(use, async () => (await import("./config/run.ts")).runConfigUse),
  ],
};
