import { isAbsolute, resolve } from "node:path";
import * as z from "zod/mini";
import { checkApiKey } from "../../settings/application.ts";
import { configPath, readConfiguration } from "../../settings/config-file.ts";
import { isJsonKey, isPathKey, parseConfigValue } from "../../settings/config-keys.ts";
import type { SettingDefinition, SettingName } from "../../settings/definitions.ts";
import { settingDefinitions } from "../../settings/definitions.ts";
import type { Profile } from "../../settings/profile.ts";
import { profileValue, withValue } from "../../settings/profile.ts";
import { readValue } from "../../secrets/secret-value.ts";
import { findSetting, keySourceNames, missingSetting, serviceName } from "../../settings/settings.ts";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import type { RawInput } from "../../cli/act.ts";
import { broken, isUuid } from "../exchange/ask.ts";
import { checkField, serialiseDone } from "../../cli/document.ts";
import { flag, parseInput } from "../../cli/options.ts";

const schema = z.object({
  live: flag,
  force: flag,
  stateKeySource: z.optional(z.enum(keySourceNames, { error: `must be one of ${keySourceNames.join(", ")}` })),
});
export type InitOptions = z.infer<typeof schema>;

export const parseInit = (input: RawInput): InitOptions => parseInput(schema, input);

/** Flags that are kept in the profile where they are given. */
const kept: readonly string[] = [
  "apiPrefix",
  "device",
  "state",
  "rate",
  "timeout",
  "maxWait",
  "lockAfterFailed",
  "lockAfterUnacked",
  "ca",
  "proxy",
];

/** Makes a profile, or replaces one after a question; nothing is written before all answers are there. */
export async function runInit(deps: Deps, input: RawInput): Promise<number> {
  const options = parseInit(input);
  checkField(deps.output.field, ["profile", "path", "current"]);
  const { host } = deps;
  const name = await nameOf(deps);
  await mayReplace(deps, name, options.force === true);
  let profile = await keptFlags(deps);
  for (const [key, value] of [["baseUrl", await baseUrlOf(deps, name)] as const, ["appUuid", await appUuidOf(deps)] as const]) {
    profile = withValue(profile, key, parseConfigValue(key, value, profile));
  }
  if (options.stateKeySource !== undefined) profile = withValue(profile, "stateKeySource", options.stateKeySource);
  const apiKey = await apiKeyOf(deps);
  if (await isLive(deps, options)) profile = withValue(profile, "live", true);

  const local = await deps.localState({ name, exists: false, settings: profile });
  const after = await local.configure(async (current) => {
    const sealed = await local.store.sealSecret({ profile: name, key: "apiKey" }, apiKey);
    const profiles = { ...current.profiles, [name]: withValue(profile, "apiKey", sealed) };
    const currentProfile = current.currentProfile ?? (Object.keys(current.profiles).length === 0 ? name : undefined);
    return { ...current, ...(currentProfile === undefined ? {} : { currentProfile }), profiles };
  });
  const current = (after.currentProfile ?? "default") === name;
  const path = configPath(deps.configDirectory());
  const how = current ? "" : `; use it with --profile ${name}, or always: vault config use ${name}`;
  await host.stdout.write(serialiseDone({ profile: name, path, current }, deps) ?? `Profile ${name} is in ${path}${how}\n`);
  return 0;
}

async function nameOf(deps: Deps): Promise<string> {
  const rule = (name: string): string | null =>
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) ? null : "must be letters, digits, dots, dashes and underscores, like staging";
  const given = findSetting("profile", deps.flags, deps.host.env, {})?.text;
  const { askText } = await import("../../terminal/prompts.ts");
  const name =
    given ?? (deps.mayAsk ? await askText(deps.host, { message: "Name of the profile", initial: "default", rule }) : deps.profile.name);
  const wrong = rule(name);
  if (wrong !== null) throw new VaultError("invalid-input", `--profile: ${wrong}`, { hint: "vault init --profile staging" });
  return name;
}

async function mayReplace(deps: Deps, name: string, force: boolean): Promise<void> {
  const profiles = (await readConfiguration(deps.configDirectory()))?.profiles ?? {};
  if (force || !Object.hasOwn(profiles, name)) return;
  if (!deps.mayAsk) {
    throw new VaultError("usage", `there is a profile ${name} already`, {
      hint: `to replace it: --force; to change one setting: vault config set KEY VALUE --profile ${name}; or choose another name with --profile`,
    });
  }
  const { confirm } = await import("../../terminal/prompts.ts");
  if (await confirm(deps.host, `There is a profile ${name} already. Replace it?`)) return;
  throw new VaultError("interrupted", "not confirmed: nothing was changed", { retry: "safe" });
}

async function keptFlags(deps: Deps): Promise<Profile> {
  let profile: Profile = {};
  for (const [name, { key }] of Object.entries<SettingDefinition>(settingDefinitions)) {
    const given = deps.flags[name as SettingName];
    if (!kept.includes(name) || key === undefined || typeof given !== "string") continue;
    const text = isJsonKey(key) ? await readValue(given, `--${name}`, deps.sources) : given;
    const value = isPathKey(key) && !isAbsolute(text) && !/^[a-z]+:\/\//i.test(text) ? resolve(deps.host.cwd, text) : text;
    profile = withValue(profile, key, parseConfigValue(key, value, profile));
  }
  return profile;
}

/** What a flag or a variable gives; the profile that may be replaced gives only what is offered at the question. */
const given = (deps: Deps, name: SettingName): string | undefined => findSetting(name, deps.flags, deps.host.env, {})?.text;

async function baseUrlOf(deps: Deps, name: string): Promise<string> {
  const check = (baseUrl: string): string => serviceName({ ...deps.settings, baseUrl });
  let baseUrl = given(deps, "baseUrl");
  if (baseUrl === undefined) {
    if (!deps.mayAsk) throw missingSetting("baseUrl", "the base URL of the service");
    const { askText } = await import("../../terminal/prompts.ts");
    const initial = deps.profile.name === name ? profileValue(deps.profile.settings, "baseUrl") : undefined;
    baseUrl = await askText(deps.host, {
      message: "Base URL of the service",
      rule: broken(check),
      ...(initial === undefined ? {} : { initial }),
    });
  }
  check(baseUrl);
  return baseUrl;
}

async function appUuidOf(deps: Deps): Promise<string> {
  const uuid = given(deps, "appUuid");
  if (uuid === undefined && !deps.mayAsk) throw missingSetting("appUuid", "the application's uuid");
  const { askText } = await import("../../terminal/prompts.ts");
  const answer = uuid ?? (await askText(deps.host, { message: "Uuid of the application", rule: isUuid }));
  const wrong = isUuid(answer);
  if (wrong !== null) throw new VaultError("invalid-input", `--app-uuid: ${wrong}`, { hint: "nothing was changed" });
  return answer;
}

async function apiKeyOf(deps: Deps): Promise<string> {
  const found = findSetting("apiKey", deps.flags, deps.host.env, {});
  if (found === undefined && !deps.mayAsk) throw missingSetting("apiKey", "the application's key");
  const { askSecret } = await import("../../terminal/prompts.ts");
  const read = async (): Promise<string> =>
    found === undefined
      ? await askSecret(deps.host, { message: "Key of the application (sealed at rest)", rule: isUuid })
      : await deps.readSecret(found);
  const key = await read();
  deps.redactor.add(key);
  checkApiKey(key, found?.source ?? "--api-key");
  return key;
}

/** Asked for where anything is: a person who gave all by flags has decided. */
async function isLive(deps: Deps, options: InitOptions): Promise<boolean> {
  const complete = (["baseUrl", "appUuid", "apiKey"] as const).every((name) => given(deps, name) !== undefined);
  if (options.live === true || complete || !deps.mayAsk) return options.live === true;
  const { confirm } = await import("../../terminal/prompts.ts");
  return await confirm(deps.host, "Is it live? A live profile shows itself, and asks before an update");
}
