import type { App } from "../app.ts";
import { command, listed, type Command } from "../cli/command.ts";
import { anyText } from "../cli/values.ts";
import type { View } from "../cli/vault-view.ts";
import type { Document } from "../documents/schemas.ts";
import { VaultError } from "../errors.ts";
import type { Io } from "../parts/basics.ts";
import type { OpenState } from "../parts/state.ts";
import { withoutPassword } from "../protocol/address.ts";
import {
  configPath,
  profileValue,
  type Configuration,
  type Profile,
  readConfiguration,
  withProfile,
  withValue,
} from "../settings/config-file.ts";
import {
  parseConfigValue,
  settingOf,
  typedValue,
  valueText,
  type ConfigValue,
} from "../settings/config-keys.ts";
import {
  configKeys,
  definitionOf,
  settingNames,
  type SettingName,
} from "../settings/definitions.ts";
import { readValue } from "../settings/given.ts";
import { checkLocation, isShared, passwordDropped, passwordSeen } from "../settings/location.ts";
import { findSetting, type GivenFlags } from "../settings/settings.ts";
import { shownSetting } from "../terminal/secrets.ts";
import { factsTable, listTable } from "../terminal/tables.ts";
import { command as wayTo } from "../way.ts";

type ShownSetting = Document<"config list">["settings"][number];

const key = {
  term: "<key>",
  help: "configuration key, such as timeout or policy.failedAttempts",
  values: { from: "list", values: [...configKeys.keys()] },
} as const;

const list = command({
  options: {
    "--origin":
      "every setting with its effective value, and where it comes from: flag, variable, profile or default",
  },
  examples: ["vault config list", "vault config list --origin --json"],
  mode: "fixes-configuration",
  async run(app, { origin }) {
    const { profileInUse, configuration } = app.settings;
    const { directory } = configuration;
    // The list first: it is what has a line for each entry.
    const document: Document<"config list"> = {
      settings: origin === true ? everySetting(app) : ofProfile(app),
      profile: profileInUse.name,
      profiles: Object.keys(readConfiguration(directory)?.profiles ?? {}),
      path: configPath(directory),
    };
    await app.io.output.show(document, (view) => asTable(document, origin === true, view));
  },
});

/** @throws `usage` if it is not set */
const get = command({
  arguments: { key },
  examples: ["vault config get baseUrl", "vault config get rateLimit --json"],
  mode: "fixes-configuration",
  async run(app, { key }) {
    const { io, settings, state } = app;
    if (key !== "currentProfile") settingOf(key);
    const shown = everySetting(app).find((setting) => setting.key === key);
    if (shown?.value === undefined || shown.value === null)
      throw new VaultError("usage", `${key} is not set`, {
        next: [wayTo`vault config set ${key} VALUE`],
      });
    const { flags, profileInUse } = settings;
    const secret =
      key === "apiKey" && io.output.reveal
        ? findSetting(key, flags, io.host.env, profileInUse.settings)
        : undefined;
    const value = secret === undefined ? shown.value : await state.secretSetting(secret);
    const document: Document<"config get"> = { ...shown, value };
    await io.output.print(document, () => `${valueText(value)}\n`);
  },
});

const path = command({
  examples: ["vault config path", "vault config path --json"],
  mode: "fixes-configuration",
  async run({ io, settings }) {
    const document: Document<"config path"> = {
      config: configPath(settings.configuration.directory),
      keys: settings.configuration.keys,
      state: isShared(settings.state)
        ? shownSetting(settings.state, false)
        : settings.stateDirectory(),
    };
    const { config, keys, state } = document;
    const rows = Object.entries({ Configuration: config, "Key files": keys, State: state });
    await io.output.print(document, (view) => factsTable(rows, view));
  },
});

function ofProfile({ settings: { profileInUse: profile } }: App): ShownSetting[] {
  const origin = `profile ${profile.name}`;
  return [...configKeys].flatMap(([key, setting]) => {
    const text = profileValue(profile.settings, key);
    return text === undefined ? [] : [{ key, value: shownValue(setting, text), origin }];
  });
}

const shownValue = (setting: SettingName, text: string): ConfigValue =>
  typedValue(setting, shownSetting(text, definitionOf(setting).form === "secret"));

/** Every setting by its config key, or by its name if it has none. */
function everySetting({ io: { host }, settings }: App): ShownSetting[] {
  const { flags, profileInUse: profile, configuration } = settings;
  const { directory: configDir } = configuration;
  const isChosen = readConfiguration(configDir)?.currentProfile !== undefined;
  const ofMachine: Partial<Record<string, string>> = {
    state: settings.stateDirectory(),
    configDir,
  };
  return settingNames.map((name) => {
    const { key = name } = definitionOf(name);
    const found = findSetting(name, flags, host.env, profile.settings);
    const { text = ofMachine[name], source = "", from = "default" } = found ?? {};
    if (text === undefined) return { key, value: null, origin: null };
    if (name === "profile" && from === "default" && isChosen)
      return { key, value: profile.name, origin: "config key currentProfile" };
    const place = { profile: profile.name, default: "", flag: source, variable: source }[from];
    return { key, value: shownValue(name, text), origin: `${from} ${place}`.trimEnd() };
  });
}

function asTable(
  { settings, profile, profiles }: Document<"config list">,
  origin: boolean,
  view: View,
): string {
  const rows = settings.map(({ key, value, origin: from }) => [
    key,
    value === null ? "" : valueText(value),
    ...(origin ? [from ?? "not set"] : []),
  ]);
  const table = listTable(["Setting", "Value", ...(origin ? ["From"] : [])], rows, view);
  if (!view.isTTY) return table;
  const others = profiles.filter((name) => name !== profile).join(", ");
  const title = `Profile ${profile}${others === "" ? "" : ` (others: ${others})`}`;
  return settings.length === 0 ? `${title} has no settings.\n` : `${title}\n${table}`;
}

const set = command({
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
  async run(app, { key, value: given }) {
    const { io, settings } = app;
    const setting = settingOf(key);
    const seen = key === "state" ? passwordSeen(given, "VALUE") : undefined;
    if (seen !== undefined) io.narrator.warn(seen);
    let stored = await storable(io, setting, given, `config key ${key}`, settings.flags.profile);
    const local = await stateFor(app, key, stored);
    if (key === "state") await local.at(given);
    const { name } = settings.profileInUse;
    await local.configuration.change((current) => {
      const profile = profileIn(current, name);
      if (key === "apiKey")
        stored = local.configuration.seal({ profile: name, key }, valueText(stored));
      return withProfile(current, name, withValue(profile, key, stored));
    });
    const shown = shownValue(setting, valueText(stored));
    const document: Document<"config set"> = { profile: name, key, value: shown };
    await io.output.printDone(document, `${key} = ${valueText(shown)} (profile ${name})`);
  },
});

/** Removes a setting from the profile; one that is not set is no error. */
const unset = command({
  arguments: { key },
  examples: ["vault config unset timeout", "vault config unset timeout --json"],
  mode: "fixes-configuration",
  async run(app, { key }) {
    settingOf(key);
    const { name } = app.settings.profileInUse;
    const { configuration } = await stateFor(app, key, undefined);
    await configuration.change((current) =>
      withProfile(current, name, withValue(profileIn(current, name), key, undefined)),
    );
    const document: Document<"config unset"> = { profile: name, key, value: null };
    await app.io.output.printDone(document, `Removed ${key} from profile ${name}`);
  },
});

/** @throws `usage` for a profile that is not there */
const use = command({
  arguments: { name: { term: "<name>", help: "profile", values: { from: "profiles" } } },
  examples: ["vault config use default", "vault config use default --json"],
  mode: "fixes-configuration",
  async run({ io, state }, { name }) {
    // That of the profile in use may be what cannot be used.
    const { configuration } = await state.open({ name, exists: false, settings: {} });
    await configuration.change((current) => {
      profileIn(current, name);
      return { ...current, currentProfile: name };
    });
    const document: Document<"config use"> = { profile: name };
    await io.output.printDone(document, `Switched to profile ${name}`);
  },
});

/**
 * A given value as a profile stores it, checked, a secret still open: paths are absolute, and the address of a state has no password.
 * @throws as `parseConfigValue`
 */
export async function storable(
  io: Io,
  setting: SettingName,
  given: string,
  source: string,
  profile?: GivenFlags["profile"],
): Promise<ConfigValue> {
  const { form } = definitionOf(setting);
  let text = given;
  if (form === "json") text = await readValue(given, source, io.sources);
  if (form === "secret") text = await io.secretOption(given, source);
  if (setting === "state") {
    checkLocation(given, source);
    text = withoutPassword(given);
    if (text !== given) io.narrator.warn(passwordDropped);
  }
  if (form === "path" && given !== "" && !isShared(given)) text = io.host.resolve(given);
  return parseConfigValue(setting, { text, source }, profile);
}

/** The state with which a key is changed: that of the settings, unless the key is what names it, and may be wrong. */
async function stateFor(
  { settings, state }: App,
  key: string,
  value: ConfigValue | undefined,
): Promise<OpenState> {
  if (key !== "state") return await state.open();
  const changed = withValue(settings.profileInUse.settings, key, value);
  return await state.open({ ...settings.profileInUse, settings: changed });
}

/** @throws `usage` for a profile that is not there; the default one need not be */
function profileIn({ profiles }: Configuration, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined || name === "default") return profile ?? {};
  throw new VaultError("usage", `no such profile: ${name}`, {
    hint: `profiles: ${Object.keys(profiles).join(", ") || "none"}`,
    next: [wayTo`vault init --profile ${name}`],
  });
}

export const config: Command = {
  description:
    "Read and change the settings of a profile (--profile, else the current one). vault init sets one up.",
  examples: ["vault config list --origin", "vault config set timeout 10s"],
  commands: listed("Commands:", {
    list: ["list the settings of the profile", () => ({ list })],
    get: ["print the effective value of a setting", () => ({ get })],
    set: ["change a setting", () => ({ set })],
    unset: ["remove a setting from the profile", () => ({ unset })],
    path: ["print where the configuration, the keys and the state are", () => ({ path })],
    use: ["switch to a profile", () => ({ use })],
  }),
};
