import { isAbsolute, resolve } from "node:path";
import { checkIdentifier } from "../../settings/transport/client-options.ts";
import type { Configuration } from "../../settings/config-file.ts";
import type { ConfigValue } from "../../settings/config-keys.ts";
import {
  checkKey,
  isJsonKey,
  isPathKey,
  isSecretKey,
  parseConfigValue,
  valueText,
} from "../../settings/config-keys.ts";
import {
  checkLocation,
  passwordDropped,
  passwordSeen,
  withoutPassword,
} from "../../settings/location.ts";
import { configKeys } from "../../settings/definitions.ts";
import type { Profile } from "../../settings/profile.ts";
import { profileValue, withValue } from "../../settings/profile.ts";
import { findSetting } from "../../settings/settings.ts";
import { readValue } from "../../secrets/secret-value.ts";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { shownSetting } from "../../terminal/secrets.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type {
  ConfigSetDocument,
  ConfigUnsetDocument,
  ConfigUseDocument,
} from "../documents/setup.ts";
import type { set, unset, use } from "./descriptor.ts";
import { defaultOf } from "./list.ts";

type Needs = Pick<
  App,
  | "configuration"
  | "host"
  | "narrator"
  | "output"
  | "profile"
  | "secretOption"
  | "sources"
  | "state"
>;

/** Checks a value as its flag is checked, seals it where it is a secret, and writes it into the profile. */
export async function runConfigSet(
  app: Needs,
  { key, value: given }: OptionsOf<typeof set>,
): Promise<number> {
  checkKey(key);
  const whole = await valueOf(app, key, given);
  const value = key === "state" ? withoutPassword(whole) : whole;
  if (value !== whole) app.narrator.warn(`${passwordSeen(whole, "VALUE")}; ${passwordDropped}`);
  await checkSource(app, key, value);
  const local = await stateFor(app, key, value);
  if (key === "state") await local.checkAddress(whole);
  const { name } = app.profile;
  let shown: ConfigValue = "";
  await local.configure(async (current) => {
    const profile = profileIn(current, name);
    const checked = parseConfigValue(key, value, profile);
    const stored = isSecretKey(key)
      ? await local.keys.sealSecret({ profile: name, key }, value)
      : checked;
    shown =
      typeof stored === "string" ? shownSetting(stored, isSecretKey(key)) : (stored as ConfigValue);
    return withProfile(current, name, withValue(profile, key, stored));
  });
  const [, apiKeyId] = profileValue(app.profile.settings, "apiKey")?.split(":") ?? [];
  const isSealedWith = async (file: string): Promise<boolean> => {
    const { keys } = await app.state({
      ...app.profile,
      settings: withValue(app.profile.settings, key, file),
    });
    return keys.keyEntries()?.some(({ id }) => id === apiKeyId) === true;
  };
  if (key === "stateKeyFile" && apiKeyId !== undefined && !(await isSealedWith(value))) {
    app.narrator.warn(
      "the apiKey of this profile was encrypted with the former key file; set it again",
    );
  }
  return await print(
    app,
    { profile: name, key, value: shown },
    `${key} = ${valueText(shown)} (profile ${name})`,
  );
}

/** Removes a setting from the profile; one that is not set is no error. */
export async function runConfigUnset(
  app: Pick<
    App,
    "configuration" | "host" | "output" | "profile" | "settings" | "state" | "stateDirectory"
  >,
  { key }: OptionsOf<typeof unset>,
): Promise<number> {
  checkKey(key);
  const { name } = app.profile;
  await (
    await stateFor(app, key, undefined)
  ).configure(async (current) => {
    const profile = profileIn(current, name);
    return Promise.resolve(withProfile(current, name, withValue(profile, key, undefined)));
  });
  const setting = configKeys.get(key);
  const isSetElsewhere =
    setting === undefined || findSetting(setting, {}, app.host.env, {}) !== undefined;
  const fallback = isSetElsewhere ? null : defaultOf(app, setting);
  const line = `Removed ${key} from profile ${name}${fallback === null ? "" : `; the default ${fallback} applies`}`;
  return await print(app, { profile: name, key, value: null }, line);
}

/**
 * Switches to a profile.
 * @throws `usage` for one that is not there
 */
export async function runConfigUse(
  app: Pick<App, "output" | "state">,
  { name }: OptionsOf<typeof use>,
): Promise<number> {
  await (
    await app.state()
  ).configure(async (current) => {
    profileIn(current, name);
    return Promise.resolve({ ...current, currentProfile: name });
  });
  return await print(app, { profile: name }, `Switched to profile ${name}`);
}

async function valueOf(
  app: Pick<App, "configuration" | "host" | "secretOption" | "sources">,
  key: string,
  given: string,
): Promise<string> {
  const source = `config key ${key}`;
  if (key === "state") checkLocation(given, source);
  if (isPathKey(key) && given !== "" && !/^[a-z]+:\/\//i.test(given)) {
    return isAbsolute(given) ? given : resolve(app.host.cwd, given);
  }
  if (isJsonKey(key)) return await readValue(given, source, app.sources);
  if (!isSecretKey(key)) return given;
  // What the profile says of its state and key decides what the secret is sealed with.
  if (app.configuration.problem !== undefined) throw app.configuration.problem;
  const secret = await app.secretOption(given, source);
  if (key === "apiKey") checkIdentifier(secret, source, "nothing was changed");
  return secret;
}

/** The state with which a key is changed: that of the settings, unless the key is what names it, and may be wrong. */
const stateFor = async (
  app: Pick<App, "profile" | "state">,
  key: string,
  value: string | undefined,
): ReturnType<App["state"]> =>
  await app.state(
    key === "state"
      ? { ...app.profile, settings: withValue(app.profile.settings, key, value) }
      : undefined,
  );

/** Refuses a source that the key file contradicts: it would stop every command. */
async function checkSource(
  app: Pick<App, "profile" | "state">,
  key: string,
  value: string,
): Promise<void> {
  if (key !== "stateKeySource") return;
  parseConfigValue(key, value, {});
  const keys = (await app.state(app.profile, true)).keys.keyEntries();
  if (keys === null || keys.some(({ source }) => source === value)) return;
  throw new VaultError(
    "usage",
    `stateKeySource: a key of source ${keys.at(-1)?.source} already exists`,
    {
      hint: `vault state rekey --to ${value}`,
    },
  );
}

/** @throws `usage` for a profile that is not there; the default one need not be */
function profileIn({ profiles }: Configuration, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined || name === "default") return profile ?? {};
  throw new VaultError("usage", `no such profile: ${name}`, {
    hint: `profiles: ${Object.keys(profiles).join(", ") || "none"}; vault init --profile ${name}`,
  });
}

const withProfile = (current: Configuration, name: string, profile: Profile): Configuration => ({
  ...current,
  profiles: { ...current.profiles, [name]: profile },
});

type Document = ConfigSetDocument | ConfigUnsetDocument | ConfigUseDocument;

async function print(app: Pick<App, "output">, document: Document, line: string): Promise<number> {
  await app.output.printDone(document, () => `${line}\n`);
  return 0;
}
