import { configPath, readConfiguration } from "../../settings/config-file.ts";
import type { ConfigValue } from "../../settings/config-keys.ts";
import { checkKey, isSecretKey, typedValue, valueText } from "../../settings/config-keys.ts";
import type { SettingName } from "../../settings/definitions.ts";
import { configKeys, definitionOf, settingNames, waysToSet } from "../../settings/definitions.ts";
import { isShared, withoutPassword } from "../../settings/location.ts";
import { profileValue } from "../../settings/profile.ts";
import { findSetting } from "../../settings/settings.ts";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { createPalette } from "../../terminal/palette.ts";
import { shownSetting } from "../../terminal/secrets.ts";
import type { TerminalFacts } from "../../terminal/streams.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type {
  ConfigGetDocument,
  ConfigListDocument,
  ConfigPathDocument,
} from "../documents/setup.ts";
import type { get, list } from "./descriptor.ts";

type Needs = Pick<
  App,
  | "configuration"
  | "flags"
  | "host"
  | "narrator"
  | "output"
  | "profile"
  | "settings"
  | "state"
  | "stateDirectory"
>;

type ShownSetting = ConfigListDocument["settings"][number];

/** What the profile holds; with --origin every setting, its effective value and where that comes from. */
export async function runConfigList(
  app: Needs,
  { origin }: OptionsOf<typeof list>,
): Promise<number> {
  warnOfProblem(app);
  const configuration = await readConfiguration(app.configuration.directory);
  const settings = origin === true ? await everySetting(app) : ofProfile(app);
  const { profile } = app;
  const path = configPath(app.configuration.directory);
  const document: ConfigListDocument = {
    profile: profile.name,
    profiles: Object.keys(configuration?.profiles ?? {}),
    path,
    settings,
  };
  await app.output.print(
    document,
    async ({ facts }) =>
      await asTable(facts, profile.name, settings, document.profiles, origin === true),
  );
  return 0;
}

/**
 * The effective value of one setting, raw; a secret only with --reveal.
 * @throws `usage` where it is not set
 */
export async function runConfigGet(app: Needs, { key }: OptionsOf<typeof get>): Promise<number> {
  warnOfProblem(app);
  if (key !== "currentProfile") checkKey(key);
  const settings = await everySetting(app);
  const shown = settings.find((setting) => setting.key === key);
  if (shown?.value === undefined || shown.value === null) {
    const name = configKeys.get(key);
    throw new VaultError("usage", `${key} is not set`, {
      hint: `vault config set ${key} VALUE; or set it with ${name === undefined ? key : waysToSet(name)}`,
    });
  }
  const sealed =
    app.output.reveal && isSecretKey(key) ? profileValue(app.profile.settings, key) : undefined;
  const revealed =
    sealed === undefined
      ? undefined
      : await (await app.state()).keys.openSecret({ profile: app.profile.name, key }, sealed);
  const value = revealed ?? shown.value;
  const document: ConfigGetDocument = { ...shown, value };
  await app.output.print(document, () => `${valueText(value)}\n`);
  return 0;
}

/** Prints the paths of configuration, key file and state. */
export async function runConfigPath(
  app: Pick<App, "configuration" | "output" | "settings" | "stateDirectory">,
): Promise<number> {
  const document: ConfigPathDocument = {
    config: configPath(app.configuration.directory),
    keyFile: app.settings.stateKeyFile ?? app.configuration.keyFile,
    state: isShared(app.settings.state)
      ? withoutPassword(app.settings.state)
      : app.stateDirectory(),
  };
  const rows = [
    ["Configuration", document.config] as const,
    ["Key file", document.keyFile] as const,
    ["State", document.state] as const,
  ];
  await app.output.print(document, async ({ facts: { color, columns } }) => {
    const { factsTable } = await import("../../terminal/tables.ts");
    return factsTable(rows, { palette: await createPalette(color), columns });
  });
  return 0;
}

function warnOfProblem({
  configuration: { problem },
  narrator,
  profile,
}: Pick<App, "configuration" | "narrator" | "profile">): void {
  if (problem !== undefined)
    narrator.warn(`profile ${profile.name} is not valid: ${problem.message}`);
}

function ofProfile({ profile }: Pick<App, "profile">): ShownSetting[] {
  return [...configKeys.keys()].flatMap((key) => inProfile({ profile }, key));
}

function inProfile({ profile }: Pick<App, "profile">, key: string): ShownSetting[] {
  const value = profileValue(profile.settings, key);
  return value === undefined
    ? []
    : [{ key, value: shownValue(key, value, isSecretKey(key)), origin: `profile ${profile.name}` }];
}

const shownValue = (key: string, text: string, isSecret: boolean): ConfigValue =>
  typedValue(key, shownSetting(text, isSecret));

/** Every setting by its config key, or by its name where it has none. */
async function everySetting(app: Needs): Promise<ShownSetting[]> {
  const current = (await readConfiguration(app.configuration.directory))?.currentProfile;
  return settingNames.map((name) => effective(app, name, current));
}

function effective(app: Needs, name: SettingName, current: string | undefined): ShownSetting {
  const { flags, host, profile } = app;
  const found = findSetting(name, flags, host.env, profile.settings);
  const { form, key = name } = definitionOf(name);
  if (found !== undefined) {
    const origin =
      found.fromProfile === true
        ? `profile ${profile.name}`
        : `${found.fromFlag ? "flag" : "variable"} ${found.source}`;
    return { key, value: shownValue(key, found.text, form === "secret"), origin };
  }
  if (name === "profile" && current !== undefined)
    return { key, value: profile.name, origin: "config key currentProfile" };
  const value = defaultOf(app, name);
  return value === null
    ? { key, value, origin: null }
    : { key, value: typedValue(key, value), origin: "default" };
}

/** Default of a setting as `config list` shows it, or null. */
export function defaultOf(
  app: Pick<App, "configuration" | "settings" | "stateDirectory">,
  name: SettingName,
): string | null {
  const ofMachine: Partial<Record<SettingName, string>> = {
    state: app.stateDirectory(),
    configDir: app.configuration.directory,
    stateKeyFile: app.configuration.keyFile,
    stateKeySource: app.settings.stateKeySource ?? "file",
  };
  return ofMachine[name] ?? definitionOf(name).fallback ?? null;
}

async function asTable(
  { color, columns }: TerminalFacts,
  profile: string,
  settings: readonly ShownSetting[],
  profiles: readonly string[],
  origin: boolean,
): Promise<string> {
  const { listTable } = await import("../../terminal/tables.ts");
  const options = { palette: await createPalette(color), columns };
  const others = profiles.filter((name) => name !== profile);
  const foot = others.length === 0 ? "" : `Other profiles: ${others.join(", ")}\n`;
  if (settings.length === 0) return `Profile ${profile} has no settings.\n${foot}`;
  const rows = settings.map(({ key, value, origin: from }) => [
    key,
    value === null ? "" : valueText(value),
    ...(origin ? [from ?? "not set"] : []),
  ]);
  return `Profile ${profile}\n${listTable(["Setting", "Value", ...(origin ? ["From"] : [])], rows, options)}${foot}`;
}
