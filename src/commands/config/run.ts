import type { Io } from "../../parts/io.ts";
import type { Basics, SettingsPart } from "../../parts/settings.ts";
import type { Local, StatePart } from "../../parts/state.ts";
import type { Output } from "../../cli/output.ts";
import { uuid as identifier } from "../../protocol/fields.ts";
import { checkGiven } from "../../protocol/validate.ts";
import type { Configuration, Profile } from "../../settings/config-file.ts";
import type { ConfigValue } from "../../settings/config-keys.ts";
import { checkKey, formOf, parseConfigValue, valueText } from "../../settings/config-keys.ts";
import { withoutPassword } from "../../protocol/address.ts";
import { checkLocation, passwordDropped, passwordSeen } from "../../settings/location.ts";
import { configKeys } from "../../settings/definitions.ts";
import { withValue } from "../../settings/config-file.ts";
import { findSetting } from "../../settings/settings.ts";
import { readValue } from "../../settings/given.ts";
import { VaultError } from "../../errors.ts";
import { shownSetting } from "../../terminal/secrets.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type { Document } from "../../documents/schemas.ts";
import type { set, unset, use } from "../config.ts";
import { defaultOf } from "./list.ts";
import { command } from "../../way.ts";

/** Checks a value as its flag is checked, seals it where it is a secret, and writes it into the profile. */
export async function runConfigSet(
  { io, settings, state }: Local,
  { key, value: given }: OptionsOf<typeof set>,
): Promise<number> {
  checkKey(key);
  const whole = await valueOf({ io }, key, given);
  const value = key === "state" ? withoutPassword(whole) : whole;
  if (value !== whole) io.narrator.warn(`${passwordSeen(whole, "VALUE")}; ${passwordDropped}`);
  const local = await stateFor({ settings, state }, key, value);
  if (key === "state") await local.at(whole);
  const { name } = settings.profileInUse;
  let shown: ConfigValue = "";
  await local.configuration.change(async (current) => {
    const profile = profileIn(current, name);
    const checked = parseConfigValue(key, value, settings.flags);
    const stored =
      formOf(key) === "secret" ? local.configuration.seal({ profile: name, key }, value) : checked;
    shown = typeof stored === "string" ? shownSetting(stored, formOf(key) === "secret") : stored;
    return withProfile(current, name, withValue(profile, key, stored));
  });
  return await print(
    io.output,
    { profile: name, key, value: shown },
    `${key} = ${valueText(shown)} (profile ${name})`,
  );
}

/** Removes a setting from the profile; one that is not set is no error. */
export async function runConfigUnset(
  { io, settings, state }: Local,
  { key }: OptionsOf<typeof unset>,
): Promise<number> {
  checkKey(key);
  const { name } = settings.profileInUse;
  await (
    await stateFor({ settings, state }, key, undefined)
  ).configuration.change(async (current) => {
    const profile = profileIn(current, name);
    return Promise.resolve(withProfile(current, name, withValue(profile, key, undefined)));
  });
  const setting = configKeys.get(key);
  const isSetElsewhere =
    setting === undefined || findSetting(setting, {}, io.host.env, {}) !== undefined;
  const fallback = isSetElsewhere ? null : defaultOf(settings, setting);
  const line = `Removed ${key} from profile ${name}${fallback === null ? "" : `; the default ${fallback} applies`}`;
  return await print(io.output, { profile: name, key, value: null }, line);
}

/**
 * Switches to a profile.
 * @throws `usage` for one that is not there
 */
export async function runConfigUse(
  { io, state }: { io: Io; state: StatePart },
  { name }: OptionsOf<typeof use>,
): Promise<number> {
  // That of the profile in use may be what cannot be used.
  await (
    await state.open({ name, exists: false, settings: {} })
  ).configuration.change(async (current) => {
    profileIn(current, name);
    return Promise.resolve({ ...current, currentProfile: name });
  });
  return await print(io.output, { profile: name }, `Switched to profile ${name}`);
}

async function valueOf({ io }: Pick<Basics, "io">, key: string, given: string): Promise<string> {
  const source = `config key ${key}`;
  if (key === "state") checkLocation(given, source);
  if (formOf(key) === "path" && given !== "" && !/^[a-z]+:\/\//i.test(given)) {
    return io.host.resolve(given);
  }
  if (formOf(key) === "json") return await readValue(given, source, io.sources);
  if (formOf(key) !== "secret") return given;
  const secret = await io.secretOption(given, source);
  if (key === "apiKey") checkGiven(identifier, secret, source, "nothing was changed");
  return secret;
}

/** The state with which a key is changed: that of the settings, unless the key is what names it, and may be wrong. */
async function stateFor(
  { settings, state }: { settings: SettingsPart; state: StatePart },
  key: string,
  value: string | undefined,
): ReturnType<StatePart["open"]> {
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
    next: [command`vault init --profile ${name}`],
  });
}

const withProfile = (current: Configuration, name: string, profile: Profile): Configuration => ({
  ...current,
  profiles: { ...current.profiles, [name]: profile },
});

async function print(
  output: Output,
  document: Document<"config set" | "config unset" | "config use">,
  line: string,
): Promise<number> {
  await output.printDone(document, line);
  return 0;
}
