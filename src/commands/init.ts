import { command } from "../cli/command.ts";
import type { App } from "../app.ts";
import { confirmOrFail, ruleFrom, type Rule } from "../cli/prompts.ts";
import { defined } from "../defined.ts";
import type { Document, Finding } from "../documents/schemas.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { brokenUuid } from "../input/ask.ts";
import type { Basics } from "../parts/basics.ts";
import { withoutPassword } from "../protocol/address.ts";
import { uuid as identifier } from "../protocol/fields.ts";
import { checkGiven } from "../protocol/validate.ts";
import {
  type Profile,
  configPath,
  profileName,
  profileValue,
  readConfiguration,
  withProfile,
  withValue,
} from "../settings/config-file.ts";
import { configKeys, definitionOf, flagOf, type SettingName } from "../settings/definitions.ts";
import { isShared } from "../settings/location.ts";
import {
  type Settings,
  findSetting,
  missingSettings,
  requiredSettings,
  resolveSettings,
  serviceName,
} from "../settings/settings.ts";
import { command as wayTo } from "../way.ts";
import { storable } from "./config.ts";
import { probeFinding, reachFindings } from "./doctor/findings.ts";

/** Makes a profile, or changes what is asked for in one, after a question; nothing is written before all answers are there. */
export const init = command({
  description:
    "Set up a profile: the service, the application and its key (stored encrypted), and the place of the state. Asks for what is not " +
    "given. Other settings given as flags, such as --rate or --timeout, are stored too.",
  options: {
    "--live": "production: show a banner and confirm updates",
    "--force": "change a profile that has a service; settings that are not given stay",
  },
  examples: [
    "vault init",
    "vault init --profile demo --app-uuid $VAULTSVC_APP_UUID",
    "vault init --profile prod --live --base-url https://vaults.example.com",
  ],
  mode: "fixes-configuration",
  async run(app, options) {
    const { io, settings } = app;
    const name = await nameOf(app);
    const former = await mayChange(app, name, options.force === true);
    const had = (each: SettingName): string | undefined => profileValue(former, each);
    const left = requiredSettings.filter((each) => given(app, each) === undefined);
    const missing = left.filter((each) => had(each) === undefined);
    if (missing.length > 0 && !io.ask.isPossible) throw missingSettings(missing, []);
    // A person who gave all by flags has decided.
    const isAsked = io.ask.isPossible && left.length > 0;
    let profile = former;
    const store = async (each: SettingName, text: string, source?: string): Promise<void> => {
      const { key = each } = definitionOf(each);
      const value = await storable(io, each, text, source ?? `config key ${key}`);
      profile = withValue(profile, key, value);
    };
    for (const each of configKeys.values()) {
      const flag = settings.flags[each];
      // The required ones are asked for; the output is that of this command alone.
      const isKept = definitionOf(each).required === undefined && each !== "output";
      if (isKept && typeof flag === "string") await store(each, flag, flagOf(each));
    }
    const answer = async (each: SettingName, message: string, rule: Rule): Promise<string> => {
      const initial = had(each);
      return (
        given(app, each) ??
        (io.ask.isPossible ? await io.ask.text({ message, rule, initial }) : (initial ?? ""))
      );
    };
    const isUsable = ruleFrom((baseUrl) => serviceName({ ...settings, baseUrl }, "the base URL"));
    const baseUrl = await answer("baseUrl", "Base URL of the service", isUsable);
    serviceName({ ...settings, baseUrl });
    await store("baseUrl", baseUrl);
    await store("appUuid", await answer("appUuid", "Application UUID", brokenUuid));
    const apiKey = await apiKeyOf(app, had("apiKey") !== undefined);
    const location =
      isAsked && given(app, "state") === undefined
        ? await askLocation(app, name, had("state"))
        : undefined;
    if (isShared(location)) await store("state", location, "the state");
    else if (location !== undefined && isShared(had("state")))
      profile = withValue(profile, "state", undefined);
    const isLive =
      options.live === true ||
      (isAsked &&
        (await io.ask.confirm(
          "Is this production? (adds a banner, confirms updates)",
          had("live") === "true",
        )));
    if (isLive || isAsked) profile = withValue(profile, "live", isLive || undefined);

    const local = await app.state.open({
      name,
      exists: false,
      settings: isShared(location) ? { ...profile, state: location } : profile,
    });
    const problem = local.state.isShared
      ? (await (await local.state.whole()).inspect()).problem
      : null;
    const place = { profile: name, key: "apiKey" } as const;
    const { currentProfile = "default" } = await local.configuration.change((current) => {
      const sealed = apiKey === undefined ? undefined : local.configuration.seal(place, apiKey);
      const saved = sealed === undefined ? profile : withValue(profile, "apiKey", sealed);
      const isFirst = Object.keys(current.profiles).length === 0;
      const used = current.currentProfile ?? (isFirst ? name : undefined);
      return { ...withProfile(current, name, saved), ...defined({ currentProfile: used }) };
    });
    const current = currentProfile === name;
    const path = configPath(settings.configuration.directory);
    const how = current ? "" : `; to use it: --profile ${name}, or vault config use ${name}`;
    const document: Document<"init"> = { profile: name, path, current };
    await io.output.printDone(document, `Saved profile ${name} (${path})${how}`);
    await verify(
      app,
      resolveSettings(settings.flags, io.host.env, profile),
      async () => apiKey ?? (await local.configuration.open(place, had("apiKey") ?? "")),
    );
    if (problem !== null) io.narrator.warn(withHint(problem.message, problem.facts.hint));
    const used = current ? [] : ["--profile", name];
    io.narrator.note("", [
      ...(problem?.facts.next ?? []).slice(0, 1),
      wayTo`vault doctor ${used}`,
      local.state.isShared ? wayTo`vault status ${used}` : wayTo`vault import ${used}`,
    ]);
  },
});

const withHint = (message: string, hint: string | undefined): string =>
  hint === undefined ? message : `${message}: ${hint}`;

/** Maximum wait of somebody who has just answered the last question. */
const verifyMs = 5000;

/** Says whether the service responds, and refuses the application; the profile is saved in any case. */
async function verify(
  { io, service }: App,
  wanted: Settings,
  openKey: () => Promise<string>,
): Promise<void> {
  const settings = { ...wanted, timeout: Math.min(wanted.timeout, verifyMs) };
  const say = ({ check, level, message, hint }: Finding): void => {
    if (level !== "ok") io.narrator.warn(withHint(message, hint));
    else if (check === "service") io.narrator.note(message);
  };
  const reach = await service.reach(settings);
  reachFindings(serviceName(settings), reach).forEach(say);
  let why: string | undefined;
  try {
    const apiKey = { text: await openKey(), source: "--api-key", from: "variable" } as const;
    const reply = reach.reached ? await service.probe({ ...settings, apiKey }) : undefined;
    const found = reply && probeFinding("the application", reply);
    if (found) return say(found);
  } catch (error) {
    why = asVaultError(error).message;
  }
  io.narrator.warn(withHint("the application and its key could not be checked", why));
}

async function nameOf({ io, settings }: Basics): Promise<string> {
  const rule = (name: string): string | null =>
    profileName.test(name)
      ? null
      : "must be letters, digits, dots, dashes and underscores, such as staging";
  const initial = settings.profileInUse.name;
  const message = "Profile name (one for each service or team)";
  const name =
    settings.configuration.profile ??
    (io.ask.isPossible ? await io.ask.text({ message, initial, rule }) : initial);
  const wrong = rule(name);
  if (wrong === null) return name;
  throw new VaultError("invalid-input", `--profile: ${wrong}`, {
    next: [wayTo`vault init --profile staging`],
  });
}

/** The profile that is there already and may be changed, or has no service yet; an empty one if there is none. */
async function mayChange({ io, settings }: Basics, name: string, force: boolean): Promise<Profile> {
  const profiles = readConfiguration(settings.configuration.directory)?.profiles ?? {};
  const former = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (former === undefined) return {};
  if (force || profileValue(former, "baseUrl") === undefined) return former;
  await confirmOrFail(io.ask, false, `Profile ${name} already exists. Change it?`, "--force");
  return former;
}

/** The value of a flag or a variable. A profile that is there already supplies defaults for questions, and what is not asked. */
const given = ({ io, settings }: Basics, name: SettingName): string | undefined =>
  findSetting(name, settings.flags, io.host.env, {})?.text;

/** The API key that is given or typed; undefined if the one of the profile is kept. */
async function apiKeyOf(
  { io, settings, state }: App,
  isKept: boolean,
): Promise<string | undefined> {
  const found = findSetting("apiKey", settings.flags, io.host.env, {});
  if (found === undefined && isKept && !io.ask.isPossible) return undefined;
  const message = isKept ? "API key (Enter keeps the present one)" : "API key (stored encrypted)";
  const rule = (answer: string): string | null =>
    isKept && answer === "" ? null : brokenUuid(answer);
  const key =
    found === undefined ? await io.ask.secret({ message, rule }) : await state.secretSetting(found);
  if (key === "" && found === undefined) return undefined;
  io.redactor.add(key);
  return checkGiven(identifier, key, found?.source ?? "--api-key", "nothing was changed");
}

async function askLocation(
  { io, state }: App,
  profile: string,
  former: string | undefined,
): Promise<string> {
  const here = "on this machine";
  const isUsable = ruleFrom(
    async (location) =>
      await state.open({ name: profile, exists: false, settings: { state: location } }),
  );
  return await io.ask.text({
    message: "Place of the state, such as postgres://user@host/database",
    rule: async (answer) => {
      if (answer === here) return null;
      if (isShared(answer)) return await isUsable(answer);
      return `must be: ${here}, or an address that begins with postgres://`;
    },
    initial: isShared(former) ? former : here,
    shown: withoutPassword,
  });
}
