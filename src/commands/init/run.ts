import type { Basics } from "../../parts/settings.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import { uuid as identifier } from "../../protocol/fields.ts";
import { checkGiven } from "../../protocol/validate.ts";
import {
  configPath,
  readConfiguration,
  profileValue,
  withValue,
} from "../../settings/config-file.ts";
import { formOf, parseConfigValue } from "../../settings/config-keys.ts";
import type { SettingName } from "../../settings/definitions.ts";
import { definitionOf, settingNames } from "../../settings/definitions.ts";
import { withoutPassword } from "../../protocol/address.ts";
import { isShared, passwordDropped } from "../../settings/location.ts";
import type { Profile } from "../../settings/config-file.ts";
import { readValue } from "../../settings/given.ts";
import type { Settings } from "../../settings/settings.ts";
import {
  findSetting,
  missingSettings,
  requiredSettings,
  resolveSettings,
  serviceName,
} from "../../settings/settings.ts";
import type { App } from "../../app.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Finding, InitDocument } from "../../documents/setup.ts";
import type { InitOptions } from "../init.ts";
import { isUuid, typedAppUuid, typedBaseUrl } from "../../input/ask.ts";
import { defined } from "../../defined.ts";
import type { Way } from "../../way.ts";
import type { Io } from "../../parts/io.ts";
import type { StatePart, OpenState } from "../../parts/state.ts";
import { command, commandLine } from "../../way.ts";

/** Makes a profile, or changes what is asked for in one, after a question; nothing is written before all answers are there. */
export async function runInit(app: App, options: InitOptions): Promise<number> {
  const name = await nameOf(app);
  const former = await mayChange(app, name, options.force === true);
  const inProfile = (each: SettingName): boolean => profileValue(former, each) !== undefined;
  const missing = requiredSettings.filter(
    (each) => given(app, each) === undefined && !inProfile(each),
  );
  if (missing.length > 0 && !app.io.ask.isPossible) throw missingSettings(missing, []);
  let profile = await keptFlags(app, former);
  for (const [key, value] of [
    ["baseUrl", await baseUrlOf(app, former)] as const,
    ["appUuid", await appUuidOf(app, former)] as const,
  ]) {
    profile = withValue(profile, key, parseConfigValue(key, value));
  }
  const apiKey = await apiKeyOf(app, inProfile("apiKey"));
  const formerState = profileValue(former, "state");
  const asksState = given(app, "state") === undefined && isAsked(app);
  const location = asksState ? await askLocation(app, name, formerState) : undefined;
  if (location !== undefined)
    profile = withValue(profile, "state", storable(app.io.narrator, location));
  else if (asksState && isShared(formerState)) profile = withValue(profile, "state", undefined);
  const live = await isLive(app, options, former);
  if (live !== undefined) profile = withValue(profile, "live", live || undefined);

  const local = await app.state.open({
    name,
    exists: false,
    settings: location === undefined ? profile : { ...profile, state: location },
  });
  const obstacle = await obstacleTo(local);
  const after = await local.configure(async (current) => {
    const sealed =
      apiKey === undefined ? undefined : local.sealSecret({ profile: name, key: "apiKey" }, apiKey);
    const profiles = {
      ...current.profiles,
      [name]: sealed === undefined ? profile : withValue(profile, "apiKey", sealed),
    };
    const currentProfile =
      current.currentProfile ?? (Object.keys(current.profiles).length === 0 ? name : undefined);
    return await Promise.resolve({ ...current, ...defined({ currentProfile }), profiles });
  });
  const current = (after.currentProfile ?? "default") === name;
  const path = configPath(app.settings.configuration.directory);
  const how = current ? "" : `; to use it: --profile ${name}, or vault config use ${name}`;
  const document: InitDocument = { profile: name, path, current };
  await app.io.output.sayDone(document, `Saved profile ${name} (${path})${how}`);
  const settings = resolveSettings(app.settings.flags, app.io.host.env, profile);
  const sealed = profileValue(former, "apiKey") ?? "";
  await verify(
    app,
    settings,
    async () => apiKey ?? (await local.openSecret({ profile: name, key: "apiKey" }, sealed)),
  );
  const used = current ? [] : ["--profile", name];
  if (obstacle !== null) app.io.narrator.warn(obstacle.message);
  const { stateKey } = app.settings.flags;
  const [, keyFile] = /^@(.+)/s.exec(String(stateKey)) ?? [];
  const printed = keyFile && commandLine(["cat", app.io.host.resolve(keyFile)]);
  const steps = [
    ...(obstacle?.steps ?? []),
    // Else the key would have to be given to every command.
    ...(printed === undefined || profileValue(profile, "stateKeyCommand") !== undefined
      ? []
      : [command`vault config set stateKeyCommand ${printed} ${used}`]),
    command`vault doctor ${used}`,
    local.state.isShared ? command`vault status ${used}` : command`vault import ${used}`,
  ];
  app.io.narrator.note("", steps);
  return 0;
}

/** Maximum wait of somebody who has just answered the last question. */
const verifyMs = 5000;

/** Says whether the service responds, and refuses the application; the profile is saved in any case. */
async function verify(
  { io, service }: App,
  wanted: Settings,
  openKey: () => Promise<string>,
): Promise<void> {
  const settings = { ...wanted, timeout: Math.min(wanted.timeout, verifyMs) };
  const askApplication = async (): Promise<Finding | null> => {
    const apiKey = { text: await openKey(), source: "--api-key", fromFlag: false };
    return probeFinding("the application", await service.probe({ ...settings, apiKey }));
  };
  const [{ probeFinding, reachFindings }, reach] = await Promise.all([
    import("../doctor/service.ts"),
    service.reach(settings),
  ]);
  const found = reachFindings(serviceName(settings), reach, null, io.host.now());
  const application = reach.reached ? await askApplication().catch(asVaultError) : null;
  for (const { check, level, message, hint } of found) {
    if (level !== "ok") io.narrator.warn(`${message}${hint === undefined ? "" : `: ${hint}`}`);
    else if (check === "service") io.narrator.note(message);
  }
  if (application instanceof VaultError || application === null)
    io.narrator.warn(
      `the application and its key could not be checked${application === null ? "" : `: ${application.message}`}`,
    );
  else if (application.level !== "ok")
    io.narrator.warn(`${application.message}: ${application.hint ?? ""}`);
}

async function nameOf({ io, settings }: Basics): Promise<string> {
  const rule = (name: string): string | null =>
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)
      ? null
      : "must be letters, digits, dots, dashes and underscores, such as staging";
  const given = findSetting("profile", settings.flags, io.host.env, {})?.text;
  const name =
    given ??
    (io.ask.isPossible
      ? await io.ask.text({
          message: "Profile name (one for each service or team)",
          initial: settings.profileInUse.name,
          rule,
        })
      : settings.profileInUse.name);
  const wrong = rule(name);
  if (wrong !== null)
    throw new VaultError("invalid-input", `--profile: ${wrong}`, {
      next: [command`vault init --profile staging`],
    });
  return name;
}

/** The profile that is there already and may be changed, or has no service yet; an empty one where there is none. */
async function mayChange({ io, settings }: Basics, name: string, force: boolean): Promise<Profile> {
  const profiles = readConfiguration(settings.configuration.directory)?.profiles ?? {};
  const former = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (former === undefined) return {};
  if (force) return former;
  if (profileValue(former, "baseUrl") === undefined) {
    io.narrator.note(`Profile ${name} has no service yet; its other settings stay.`);
    return former;
  }
  if (!io.ask.isPossible) {
    throw new VaultError("usage", `profile ${name} already exists`, {
      hint: "use --force to change what is given, or choose another name with --profile",
      next: [
        { ...command`vault config set KEY VALUE --profile ${name}`, note: "changes one setting" },
      ],
    });
  }
  if (await io.ask.confirm(`Profile ${name} already exists. Change it?`)) return former;
  throw new VaultError("canceled", "canceled; nothing was changed", { retry: "safe" });
}

/** The former profile with the settings that are given by flags. */
async function keptFlags({ io, settings }: Basics, former: Profile): Promise<Profile> {
  let profile = former;
  for (const name of settingNames) {
    const { init, key } = definitionOf(name);
    const given = settings.flags[name];
    if (init !== "kept" || key === undefined || typeof given !== "string") continue;
    const text = formOf(key) === "json" ? await readValue(given, `--${name}`, io.sources) : given;
    const whole =
      formOf(key) === "path" && !/^[a-z]+:\/\//i.test(text) ? io.host.resolve(text) : text;
    profile = withValue(profile, key, parseConfigValue(key, storable(io.narrator, whole)));
  }
  return profile;
}

/** A value as the profile stores it: the address of a state without its password. */
function storable(narrator: Narrator, value: string): string {
  const stored = withoutPassword(value);
  if (stored !== value) narrator.warn(passwordDropped);
  return stored;
}

/** The value of a flag or a variable. A profile that is there already supplies defaults for questions, and what is not asked. */
const given = ({ io, settings }: Basics, name: SettingName): string | undefined =>
  findSetting(name, settings.flags, io.host.env, {})?.text;

async function baseUrlOf(app: App, former: Profile): Promise<string> {
  const initial = profileValue(former, "baseUrl");
  const kept = app.io.ask.isPossible ? undefined : initial;
  const baseUrl = given(app, "baseUrl") ?? kept ?? (await typedBaseUrl(app, initial));
  serviceName({ ...app.settings, baseUrl });
  return baseUrl;
}

async function appUuidOf({ io, settings }: Basics, former: Profile): Promise<string> {
  const initial = profileValue(former, "appUuid");
  const kept = io.ask.isPossible ? undefined : initial;
  const answer =
    given({ io, settings }, "appUuid") ?? kept ?? (await typedAppUuid(io.ask, initial));
  const wrong = isUuid(answer);
  if (wrong !== null)
    throw new VaultError("invalid-input", `--app-uuid: ${wrong}`, { hint: "nothing was changed" });
  return answer;
}

/** The API key that is given or typed; undefined where the one of the profile is kept. */
async function apiKeyOf(app: App, isKept: boolean): Promise<string | undefined> {
  const found = findSetting("apiKey", app.settings.flags, app.io.host.env, {});
  if (found === undefined && isKept && !app.io.ask.isPossible) return undefined;
  const message = isKept ? "API key (Enter keeps the present one)" : "API key (stored encrypted)";
  const rule = (answer: string): string | null => (isKept && answer === "" ? null : isUuid(answer));
  const key =
    found === undefined
      ? await app.io.ask.secret({ message, rule })
      : await app.state.secretSetting(found);
  if (key === "" && found === undefined) return undefined;
  app.io.redactor.add(key);
  checkGiven(identifier, key, found?.source ?? "--api-key", "nothing was changed");
  return key;
}

/** Whether anything else was asked for: a person who gave all by flags has decided. */
const isAsked = ({ io, settings }: Basics): boolean =>
  io.ask.isPossible &&
  (["baseUrl", "appUuid", "apiKey"] as const).some(
    (name) => given({ io, settings }, name) === undefined,
  );

/** Undefined where nobody has said so. */
async function isLive(
  { io, settings }: Basics,
  options: InitOptions,
  former: Profile,
): Promise<boolean | undefined> {
  if (options.live === true) return true;
  if (!isAsked({ io, settings })) return undefined;
  const question = "Is this production? (adds a banner, confirms updates)";
  return await io.ask.confirm(question, profileValue(former, "live") === "true");
}

const here = "on this machine";

/** Asks for the address of a shared state, until it has the right form; undefined for a state on this machine. */
async function askLocation(
  { io, state }: { io: Io; state: StatePart },
  profile: string,
  former: string | undefined,
): Promise<string | undefined> {
  for (;;) {
    const location = await io.ask.text({
      message: "Place of the state, such as postgres://user@host/database",
      rule: (answer) =>
        answer === here || isShared(answer)
          ? null
          : `must be: ${here}, or an address that begins with postgres://`,
      initial: isShared(former) ? former : here,
      shown: withoutPassword,
    });
    if (location === here) return undefined;
    try {
      await state.open({ name: profile, exists: false, settings: { state: location } });
      return location;
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      io.narrator.warn(error.message);
    }
  }
}

/** Why a shared state cannot be used yet, and the commands that change that. */
interface Obstacle {
  message: string;
  steps: Way[];
}

/** Looks at the state of a new profile, if it is a shared one. */
async function obstacleTo({ state }: OpenState): Promise<Obstacle | null> {
  if (!state.isShared) return null;
  const { problem } = await (await state.whole()).inspect();
  if (problem === null) return null;
  const { hint, next = [] } = problem.facts;
  const message = hint === undefined ? problem.message : `${problem.message}: ${hint}`;
  return { message, steps: next.slice(0, 1) };
}
