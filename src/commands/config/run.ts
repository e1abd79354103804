import type { App } from "../../app.ts";
import type { Io } from "../../parts/basics.ts";
import type { OpenState } from "../../parts/state.ts";
import { uuid as identifier } from "../../protocol/fields.ts";
import { checkGiven } from "../../protocol/validate.ts";
import type { Configuration, Profile } from "../../settings/config-file.ts";
import type { ConfigValue } from "../../settings/config-keys.ts";
import { checkKey, formOf, parseConfigValue, valueText } from "../../settings/config-keys.ts";
import { withoutPassword } from "../../protocol/address.ts";
import { checkLocation, passwordDropped, passwordSeen } from "../../settings/location.ts";
import { withProfile, withValue } from "../../settings/config-file.ts";
import { readValue } from "../../settings/given.ts";
import { VaultError } from "../../errors.ts";
import { shownSetting } from "../../terminal/secrets.ts";
import type { OptionsOf } from "../../cli/command.ts";
import type { Document } from "../../documents/schemas.ts";
import type { set, unset, use } from "../config.ts";
import { command } from "../../way.ts";

/** Checks a value as its flag is checked, seals it where it is a secret, and writes it into the profile. */
export async function runConfigSet(
  app: App,
  { key, value: given }: OptionsOf<typeof set>,
): Promise<void> {
  const { io, settings } = app;
  checkKey(key);
  const whole = await valueOf(io, key, given);
  const value = key === "state" ? withoutPassword(whole) : whole;
  if (value !== whole) io.narrator.warn(`${passwordSeen(whole, "VALUE")}; ${passwordDropped}`);
  const local = await stateFor(app, key, value);
  if (key === "state") await local.at(whole);
  const { name } = settings.profileInUse;
  let shown: ConfigValue = "";
  await local.configuration.change((current) => {
    const profile = profileIn(current, name);
    const checked = parseConfigValue(key, value, settings.flags);
    const stored =
      formOf(key) === "secret" ? local.configuration.seal({ profile: name, key }, value) : checked;
    shown = typeof stored === "string" ? shownSetting(stored, formOf(key) === "secret") : stored;
    return withProfile(current, name, withValue(profile, key, stored));
  });
  const document: Document<"config set"> = { profile: name, key, value: shown };
  await io.output.printDone(document, `${key} = ${valueText(shown)} (profile ${name})`);
}

/** Removes a setting from the profile; one that is not set is no error. */
export async function runConfigUnset(app: App, { key }: OptionsOf<typeof unset>): Promise<void> {
  checkKey(key);
  const { name } = app.settings.profileInUse;
  const { configuration } = await stateFor(app, key, undefined);
  await configuration.change((current) =>
    withProfile(current, name, withValue(profileIn(current, name), key, undefined)),
  );
  const document: Document<"config unset"> = { profile: name, key, value: null };
  await app.io.output.printDone(document, `Removed ${key} from profile ${name}`);
}

/**
 * Switches to a profile.
 * @throws `usage` for one that is not there
 */
export async function runConfigUse(
  { io, state }: App,
  { name }: OptionsOf<typeof use>,
): Promise<void> {
  // That of the profile in use may be what cannot be used.
  const { configuration } = await state.open({ name, exists: false, settings: {} });
  await configuration.change((current) => {
    profileIn(current, name);
    return { ...current, currentProfile: name };
  });
  const document: Document<"config use"> = { profile: name };
  await io.output.printDone(document, `Switched to profile ${name}`);
}

async function valueOf(io: Io, key: string, given: string): Promise<string> {
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
  { settings, state }: App,
  key: string,
  value: string | undefined,
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
    next: [command`vault init --profile ${name}`],
  });
}
