import { isAbsolute, resolve } from "node:path";
import { checkIdentifier } from "../../settings/transport/client-options.ts";
import { configPath, readConfiguration } from "../../settings/config-file.ts";
import { isJsonKey, isPathKey, parseConfigValue } from "../../settings/config-keys.ts";
import type { SettingDefinition, SettingName } from "../../settings/definitions.ts";
import { settingDefinitions } from "../../settings/definitions.ts";
import { passwordDropped, withoutPassword } from "../../settings/location.ts";
import type { Profile } from "../../settings/profile.ts";
import { profileValue, withValue } from "../../settings/profile.ts";
import { readValue } from "../../secrets/secret-value.ts";
import type { Settings } from "../../settings/settings.ts";
import { findSetting, missingSettings, requiredSettings, resolveSettings, serviceName } from "../../settings/settings.ts";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { InitDocument } from "../documents/setup.ts";
import type { InitOptions } from "./descriptor.ts";
import { isUuid, typedAppUuid, typedBaseUrl } from "../exchange/ask.ts";
import { defined } from "../../defined.ts";
import { askLocation, obstacleTo } from "./shared-state.ts";

type Needs = Pick<
  App,
  | "ask"
  | "configuration"
  | "flags"
  | "host"
  | "narrator"
  | "output"
  | "probe"
  | "profile"
  | "redactor"
  | "secretSetting"
  | "settings"
  | "sources"
  | "state"
>;

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
export async function runInit(app: Needs, options: InitOptions): Promise<number> {
  const name = await nameOf(app);
  await mayReplace(app, name, options.force === true);
  const missing = requiredSettings.filter((each) => given(app, each) === undefined);
  if (missing.length > 0 && !app.ask.isPossible) throw missingSettings(missing, []);
  let profile = await keptFlags(app);
  for (const [key, value] of [["baseUrl", await baseUrlOf(app, name)] as const, ["appUuid", await appUuidOf(app)] as const]) {
    profile = withValue(profile, key, parseConfigValue(key, value, profile));
  }
  if (options.stateKeySource !== undefined) profile = withValue(profile, "stateKeySource", options.stateKeySource);
  const apiKey = await apiKeyOf(app);
  const former = app.profile.name === name ? profileValue(app.profile.settings, "state") : undefined;
  const location = given(app, "state") === undefined && isAsked(app) ? await askLocation(app, name, former) : undefined;
  if (location !== undefined) profile = withValue(profile, "state", storable(app, location));
  if (await isLive(app, options)) profile = withValue(profile, "live", true);

  const local = await app.state({ name, exists: false, settings: location === undefined ? profile : { ...profile, state: location } });
  const obstacle = app.ask.isPossible ? await obstacleTo(local, app.settings.stateKeySpec !== undefined) : null;
  const after = await local.configure(async (current) => {
    const sealed = await local.store.sealSecret({ profile: name, key: "apiKey" }, apiKey);
    const profiles = { ...current.profiles, [name]: withValue(profile, "apiKey", sealed) };
    const currentProfile = current.currentProfile ?? (Object.keys(current.profiles).length === 0 ? name : undefined);
    return { ...current, ...defined({ currentProfile }), profiles };
  });
  const current = (after.currentProfile ?? "default") === name;
  const path = configPath(app.configuration.directory);
  const how = current ? "" : `; to use it: --profile ${name}, or vault config use ${name}`;
  const document: InitDocument = { profile: name, path, current };
  await app.output.printDone(document, () => `Saved profile ${name} (${path})${how}\n`);
  if (app.ask.isPossible) await verify(app, resolveSettings(app.flags, app.host.env, profile));
  const used = current ? "" : ` --profile ${name}`;
  if (obstacle !== null) app.narrator.warn(obstacle.message);
  const steps = [...(obstacle?.steps ?? []), `vault doctor${used}`, `vault import --file vaults.ndjson${used}`];
  for (const step of steps) app.narrator.close(`next: ${step}`);
  return 0;
}

/** Maximum wait of somebody who has just answered the last question. */
const verifyMs = 5000;

/** Says whether the service responds; the profile is saved in any case. Key and token are verified by the first call only. */
async function verify(app: Needs, settings: Settings): Promise<void> {
  const probe = await app.probe({ ...settings, timeoutMs: Math.min(settings.timeoutMs, verifyMs) });
  const { probeFindings } = await import("../doctor/service.ts");
  for (const { check, level, message, hint } of probeFindings(serviceName(settings), probe, null, app.host.now())) {
    if (level !== "ok") app.narrator.warn(`${message}${hint === null ? "" : `: ${hint}`}`);
    else if (check === "service") app.narrator.close(message);
  }
}

async function nameOf(app: Pick<App, "ask" | "flags" | "host" | "profile">): Promise<string> {
  const rule = (name: string): string | null =>
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) ? null : "must be letters, digits, dots, dashes and underscores, such as staging";
  const given = findSetting("profile", app.flags, app.host.env, {})?.text;
  const name = given ?? (app.ask.isPossible ? await app.ask.text({ message: "Profile name", initial: "default", rule }) : app.profile.name);
  const wrong = rule(name);
  if (wrong !== null) throw new VaultError("invalid-input", `--profile: ${wrong}`, { hint: "vault init --profile staging" });
  return name;
}

async function mayReplace(app: Pick<App, "ask" | "configuration">, name: string, force: boolean): Promise<void> {
  const profiles = (await readConfiguration(app.configuration.directory))?.profiles ?? {};
  if (force || !Object.hasOwn(profiles, name)) return;
  if (!app.ask.isPossible) {
    throw new VaultError("usage", `profile ${name} already exists`, {
      hint: `use --force to replace it, or choose another name with --profile; vault config set KEY VALUE --profile ${name} (changes one setting)`,
    });
  }
  if (await app.ask.confirm(`Profile ${name} already exists. Replace it?`)) return;
  throw new VaultError("canceled", "canceled; nothing was changed", { retry: "safe" });
}

async function keptFlags(app: Pick<App, "flags" | "host" | "narrator" | "sources">): Promise<Profile> {
  let profile: Profile = {};
  for (const [name, { key }] of Object.entries<SettingDefinition>(settingDefinitions)) {
    const given = app.flags[name as SettingName];
    if (!kept.includes(name) || key === undefined || typeof given !== "string") continue;
    const text = isJsonKey(key) ? await readValue(given, `--${name}`, app.sources) : given;
    const whole = isPathKey(key) && !isAbsolute(text) && !/^[a-z]+:\/\//i.test(text) ? resolve(app.host.cwd, text) : text;
    profile = withValue(profile, key, parseConfigValue(key, storable(app, whole), profile));
  }
  return profile;
}

/** A value as the profile stores it: the address of a state without its password. */
function storable(app: Pick<App, "narrator">, value: string): string {
  const stored = withoutPassword(value);
  if (stored !== value) app.narrator.warn(passwordDropped);
  return stored;
}

/** The value of a flag or a variable. The profile that may be replaced only supplies defaults for questions. */
const given = (app: Pick<App, "flags" | "host">, name: SettingName): string | undefined =>
  findSetting(name, app.flags, app.host.env, {})?.text;

async function baseUrlOf(app: Needs, name: string): Promise<string> {
  let baseUrl = given(app, "baseUrl");
  if (baseUrl === undefined) {
    const initial = app.profile.name === name ? profileValue(app.profile.settings, "baseUrl") : undefined;
    baseUrl = await typedBaseUrl(app, initial);
  }
  serviceName({ ...app.settings, baseUrl });
  return baseUrl;
}

async function appUuidOf(app: Pick<App, "ask" | "flags" | "host">): Promise<string> {
  const answer = given(app, "appUuid") ?? (await typedAppUuid(app));
  const wrong = isUuid(answer);
  if (wrong !== null) throw new VaultError("invalid-input", `--app-uuid: ${wrong}`, { hint: "nothing was changed" });
  return answer;
}

async function apiKeyOf(app: Needs): Promise<string> {
  const found = findSetting("apiKey", app.flags, app.host.env, {});
  const read = async (): Promise<string> =>
    found === undefined ? await app.ask.secret({ message: "API key (stored encrypted)", rule: isUuid }) : await app.secretSetting(found);
  const key = await read();
  app.redactor.add(key);
  checkIdentifier(key, found?.source ?? "--api-key", "nothing was changed");
  return key;
}

/** Whether anything else was asked for: a person who gave all by flags has decided. */
const isAsked = (app: Pick<App, "ask" | "flags" | "host">): boolean =>
  app.ask.isPossible && (["baseUrl", "appUuid", "apiKey"] as const).some((name) => given(app, name) === undefined);

async function isLive(app: Pick<App, "ask" | "flags" | "host">, options: InitOptions): Promise<boolean> {
  if (options.live === true || !isAsked(app)) return options.live === true;
  return await app.ask.confirm("Is this production? (adds a banner, confirms updates)");
}
