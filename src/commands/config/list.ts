import type { App } from "../../app.ts";
import { configPath, readConfiguration, profileValue } from "../../settings/config-file.ts";
import type { ConfigValue } from "../../settings/config-keys.ts";
import { checkKey, formOf, typedValue, valueText } from "../../settings/config-keys.ts";
import type { SettingName } from "../../settings/definitions.ts";
import { configKeys, definitionOf, settingNames, waysToSet } from "../../settings/definitions.ts";
import { isShared } from "../../settings/location.ts";
import { findSetting } from "../../settings/settings.ts";
import type { NamedProfile } from "../../settings/config-file.ts";
import { VaultError } from "../../errors.ts";
import { shownSetting } from "../../terminal/secrets.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type { View } from "../../cli/vault-view.ts";
import type { Document } from "../../documents/schemas.ts";
import type { get, list } from "../config.ts";
import { command } from "../../way.ts";

type ShownSetting = Document<"config list">["settings"][number];

/** What the profile holds; with --origin every setting, its effective value and where that comes from. */
export async function runConfigList(app: App, { origin }: OptionsOf<typeof list>): Promise<void> {
  warnOfProblem(app);
  const { profileInUse: profile, configuration } = app.settings;
  const { directory } = configuration;
  // The list first: it is what has a line for each entry.
  const document: Document<"config list"> = {
    settings: origin === true ? everySetting(app) : ofProfile(profile),
    profile: profile.name,
    profiles: Object.keys(readConfiguration(directory)?.profiles ?? {}),
    path: configPath(directory),
  };
  await app.io.output.show(
    document,
    async (view) => await asTable(document, origin === true, view),
  );
}

/**
 * The effective value of one setting, raw; a secret only with --reveal.
 * @throws `usage` where it is not set
 */
export async function runConfigGet(app: App, { key }: OptionsOf<typeof get>): Promise<void> {
  const { io, settings, state } = app;
  warnOfProblem(app);
  if (key !== "currentProfile") checkKey(key);
  const name = configKeys.get(key);
  const shown = everySetting(app).find((setting) => setting.key === key);
  if (shown?.value === undefined || shown.value === null)
    throw new VaultError("usage", `${key} is not set`, {
      hint: `set it with ${name === undefined ? key : waysToSet(name)}`,
      next: [command`vault config set ${key} VALUE`],
    });
  const { flags, profileInUse } = settings;
  const found = name && findSetting(name, flags, io.host.env, profileInUse.settings);
  const isRevealed = io.output.reveal && found !== undefined && formOf(key) === "secret";
  const value = isRevealed ? await state.secretSetting(found) : shown.value;
  const document: Document<"config get"> = { ...shown, value };
  await io.output.print(document, () => `${valueText(value)}\n`);
}

/** Prints the paths of configuration, key files and state. */
export async function runConfigPath({ io, settings }: App): Promise<void> {
  const document: Document<"config path"> = {
    config: configPath(settings.configuration.directory),
    keys: settings.configuration.keys,
    state: isShared(settings.state)
      ? shownSetting(settings.state, false)
      : settings.stateDirectory(),
  };
  const rows = [
    ["Configuration", document.config] as const,
    ["Key files", document.keys] as const,
    ["State", document.state] as const,
  ];
  await io.output.print(document, async (view) => {
    const { factsTable } = await import("../../terminal/tables.ts");
    return factsTable(rows, view);
  });
}

function warnOfProblem({ io, settings }: App): void {
  const { configuration, profileInUse } = settings;
  if (configuration.problem !== undefined)
    io.narrator.warn(`profile ${profileInUse.name} is not valid: ${configuration.problem.message}`);
}

function ofProfile({ name, settings }: NamedProfile): ShownSetting[] {
  return [...configKeys.keys()].flatMap((key) => {
    const text = profileValue(settings, key);
    return text === undefined
      ? []
      : [{ key, value: shownValue(key, text), origin: `profile ${name}` }];
  });
}

const shownValue = (key: string, text: string): ConfigValue =>
  typedValue(key, shownSetting(text, formOf(key) === "secret"));

/** Every setting by its config key, or by its name where it has none. */
function everySetting(app: App): ShownSetting[] {
  const current = readConfiguration(app.settings.configuration.directory)?.currentProfile;
  return settingNames.map((name) => effective(app, name, current));
}

function effective(
  { io: { host }, settings }: App,
  name: SettingName,
  current: string | undefined,
): ShownSetting {
  const { flags, profileInUse: profile } = settings;
  const found = findSetting(name, flags, host.env, profile.settings);
  const { key = name } = definitionOf(name);
  if (found !== undefined) {
    const origin =
      found.fromProfile === true
        ? `profile ${profile.name}`
        : `${found.fromFlag ? "flag" : "variable"} ${found.source}`;
    return { key, value: shownValue(key, found.text), origin };
  }
  if (name === "profile" && current !== undefined)
    return { key, value: profile.name, origin: "config key currentProfile" };
  const ofMachine: Partial<Record<SettingName, string>> = {
    state: settings.stateDirectory(),
    configDir: settings.configuration.directory,
  };
  const value = ofMachine[name] ?? definitionOf(name).fallback;
  return value === undefined
    ? { key, value: null, origin: null }
    : { key, value: typedValue(key, value), origin: "default" };
}

async function asTable(
  { settings, profile, profiles }: Document<"config list">,
  origin: boolean,
  view: View,
): Promise<string> {
  const { listTable } = await import("../../terminal/tables.ts");
  const others = profiles.filter((name) => name !== profile);
  const foot = others.length === 0 ? "" : `Other profiles: ${others.join(", ")}\n`;
  const rows = settings.map(({ key, value, origin: from }) => [
    key,
    value === null ? "" : valueText(value),
    ...(origin ? [from ?? "not set"] : []),
  ]);
  const table = listTable(["Setting", "Value", ...(origin ? ["From"] : [])], rows, view);
  if (!view.isTTY) return table;
  if (settings.length === 0) return `Profile ${profile} has no settings.\n${foot}`;
  return `Profile ${profile}\n${table}${foot}`;
}
