import * as z from "zod/mini";
import { configPath, readConfiguration } from "../../settings/config-file.ts";
import { checkKey, configKeys, isSecretKey } from "../../settings/config-keys.ts";
import type { SettingDefinition, SettingName } from "../../settings/definitions.ts";
import { settingDefinitions, waysToSet } from "../../settings/definitions.ts";
import { profileValue } from "../../settings/profile.ts";
import { findSetting } from "../../settings/settings.ts";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import { defaults } from "../../protocol/limits.ts";
import { createPalette } from "../../terminal/palette.ts";
import { shownSetting } from "../../terminal/secrets.ts";
import { factsTable, listTable } from "../../terminal/tables.ts";
import type { RawInput } from "../../cli/act.ts";
import { checkField, serialise } from "../../cli/document.ts";
import { flag, parseInput, text } from "../../cli/options.ts";

const listSchema = z.object({ origin: flag });
const getSchema = z.object({ key: text });

export const parseConfigList = (input: RawInput) => parseInput(listSchema, input);
export const parseConfigGet = (input: RawInput) => parseInput(getSchema, input, ["key"]);

interface ShownSetting {
  key: string;
  /** Null where it is not set; a secret is masked. */
  value: string | null;
  /** `flag --timeout`, `variable VAULTSVC_TIMEOUT`, `profile work`, `default`; null where it is not set. */
  origin: string | null;
}

/** What the profile holds; with --origin every setting, its effective value and where that comes from. */
export async function runConfigList(deps: Deps, input: RawInput): Promise<number> {
  const { origin } = parseConfigList(input);
  checkField(deps.output.field, ["profile", "profiles", "path", "settings"]);
  warnOfProblem(deps);
  const configuration = await readConfiguration(deps.configDirectory());
  const settings = origin === true ? await everySetting(deps) : ofProfile(deps);
  const { profile, host } = deps;
  const path = configPath(deps.configDirectory());
  const document = { profile: profile.name, profiles: Object.keys(configuration?.profiles ?? {}), path, settings };
  const done = serialise(document, deps.output, host.stdout.isTTY);
  await host.stdout.write(done ?? (await asTable(deps, settings, document.profiles, origin === true)));
  return 0;
}

/** The effective value of one setting, raw; a secret only with --reveal. Raises `usage` where it is not set. */
export async function runConfigGet(deps: Deps, input: RawInput): Promise<number> {
  const { key } = parseConfigGet(input);
  checkField(deps.output.field, ["key", "value", "origin"]);
  warnOfProblem(deps);
  if (key !== "currentProfile") checkKey(key);
  const settings = await everySetting(deps);
  const shown = settings.find((setting) => setting.key === key);
  if (shown?.value === undefined || shown.value === null) {
    const name = configKeys().get(key);
    throw new VaultError("usage", `${key} is not set`, {
      hint: `vault config set ${key} VALUE; or give it by ${name === undefined ? key : waysToSet(name)}`,
    });
  }
  const sealed = deps.output.reveal && isSecretKey(key) ? profileValue(deps.profile.settings, key) : undefined;
  const revealed =
    sealed === undefined ? undefined : await (await deps.localState()).store.openSecret({ profile: deps.profile.name, key }, sealed);
  const value = revealed ?? shown.value;
  const done = serialise({ ...shown, value }, deps.output, deps.host.stdout.isTTY);
  await deps.host.stdout.write(done ?? `${value}\n`);
  return 0;
}

/** Where the files are that these settings lead to. */
export async function runConfigPath(deps: Deps, input: RawInput): Promise<number> {
  parseInput(z.object({}), input);
  checkField(deps.output.field, ["config", "keyFile", "state"]);
  const config = deps.configDirectory();
  const document = {
    config: configPath(config),
    keyFile: deps.settings.stateKeyFile ?? `${config}/state.key`,
    state: deps.stateDirectory(),
  };
  const { stdout } = deps.host;
  const options = { palette: await createPalette(stdout.color), columns: stdout.columns };
  const facts = [["Configuration", document.config] as const, ["Key file", document.keyFile] as const, ["State", document.state] as const];
  await stdout.write(serialise(document, deps.output, stdout.isTTY) ?? (await factsTable(facts, options)));
  return 0;
}

export function warnOfProblem({ configuration: { problem }, narrator, profile }: Deps): void {
  if (problem !== undefined) narrator.warn(`profile ${profile.name} does not fit: ${problem.message}`);
}

function ofProfile({ profile }: Deps): ShownSetting[] {
  return [...configKeys().keys()].flatMap((key) => {
    const value = profileValue(profile.settings, key);
    return value === undefined ? [] : [{ key, value: shownSetting(value, isSecretKey(key)), origin: `profile ${profile.name}` }];
  });
}

/** Every setting by its first config key, or by its name where it has none. */
async function everySetting(deps: Deps): Promise<ShownSetting[]> {
  const current = (await readConfiguration(deps.configDirectory()))?.currentProfile;
  const keys = [...configKeys()];
  return Object.entries<SettingDefinition>(settingDefinitions).flatMap(([id, definition]) => {
    const name = id as SettingName;
    const own = keys.filter(([, setting]) => setting === name).map(([key]) => key);
    const [first = definition.key ?? id, ...more] = own;
    const others = more.flatMap((key) => {
      const value = profileValue(deps.profile.settings, key);
      return value === undefined ? [] : [{ key, value: shownSetting(value, isSecretKey(key)), origin: `profile ${deps.profile.name}` }];
    });
    return [{ key: first, ...effective(deps, name, definition, current) }, ...others];
  });
}

function effective(deps: Deps, name: SettingName, definition: SettingDefinition, current: string | undefined): Omit<ShownSetting, "key"> {
  const { flags, host, profile } = deps;
  const found = findSetting(name, flags, host.env, profile.settings);
  const secret = definition.flag?.includes("<secret>") === true || name === "statePassphrase";
  if (found !== undefined) {
    const origin = found.fromProfile === true ? `profile ${profile.name}` : `${found.fromFlag ? "flag" : "variable"} ${found.source}`;
    return { value: shownSetting(found.text, secret), origin };
  }
  if (name === "profile" && current !== undefined) return { value: profile.name, origin: "config key currentProfile" };
  const value = defaultOf(deps, name);
  return { value, origin: value === null ? null : "default" };
}

function defaultOf(deps: Deps, name: SettingName): string | null {
  const known: Partial<Record<SettingName, string>> = {
    profile: "default",
    insecureHttp: "false",
    apiPrefix: defaults.apiPrefix,
    state: deps.stateDirectory(),
    configDir: deps.configDirectory(),
    stateKeyFile: `${deps.configDirectory()}/state.key`,
    stateKeySource: deps.settings.stateKeySource ?? "file",
    live: "false",
    rate: String(defaults.rate),
    timeout: "30s",
    maxWait: "2m",
    lockAfterFailed: String(defaults.lockAfterFailed),
    lockAfterUnacked: String(defaults.lockAfterUnacked),
    output: "table",
    debug: "false",
  };
  return known[name] ?? null;
}

async function asTable(deps: Deps, settings: readonly ShownSetting[], profiles: readonly string[], origin: boolean): Promise<string> {
  const { host, profile } = deps;
  const options = { palette: await createPalette(host.stdout.color), columns: host.stdout.columns };
  const others = profiles.filter((name) => name !== profile.name);
  const foot = others.length === 0 ? "" : `Other profiles: ${others.join(", ")}\n`;
  if (settings.length === 0) return `Profile ${profile.name} holds no settings.\n${foot}`;
  const rows = settings.map(({ key, value, origin: from }) => [key, value ?? "", ...(origin ? [from ?? "not set"] : [])]);
  return `Profile ${profile.name}\n${await listTable(["Setting", "Value", ...(origin ? ["From"] : [])], rows, options)}${foot}`;
}
