import { join } from "node:path";
import { once } from "../at-a-time.ts";
import { createOutput, type Output } from "../cli/output.ts";
import { createPrompts, type Prompts } from "../cli/prompts.ts";
import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import type { Waiting } from "../exchange/ports.ts";
import type { Host } from "../host.ts";
import { findProfile, type NamedProfile } from "../settings/config-file.ts";
import { outputFormats } from "../settings/definitions.ts";
import { readSecret, valueSources, type ValueSources } from "../settings/given.ts";
import { configDirectory, isShared, stateDirectory } from "../settings/location.ts";
import type { GivenFlags, Settings, SettingsMode } from "../settings/settings.ts";
import { resolveSettings, serviceName } from "../settings/settings.ts";
import { createNarrator, type Narrator } from "../terminal/narrator.ts";
import { Redactor } from "../terminal/redactor.ts";
import type { Way } from "../way.ts";

/** What a command reads, and where it speaks: the machine, its streams, and the person before it. */
export interface Io {
  host: Host;
  /** The command line, for a way that repeats it. */
  line: Way;
  /** The result, on stdout. */
  output: Output;
  /** Prints a text for a person, never contents of a vault: through the pager if it is longer than the screen. */
  show: (text: string) => Promise<void>;
  /** What happens meanwhile, on stderr. */
  narrator: Narrator;
  /** The secrets that no output but a revealed result may show. */
  redactor: Redactor;
  ask: Prompts;
  /** Where the values of options come from: files, variables, standard input. */
  sources: ValueSources;
  /** A secret from where an option has it, which the redactor knows from then on. */
  secretOption: (spec: string, flag: string, how?: "exactly") => Promise<string>;
  /** When all waiting and retrying of this command ends; the time starts at the first wait. */
  waiting: Waiting;
}

/** The effective settings, where they come from, and the places that follow from them. A question fills in what is missing. */
export interface SettingsPart extends Settings {
  /** The profile that they come from, and the flags: for commands that are about settings. */
  profileInUse: NamedProfile;
  flags: GivenFlags;
  /** Where they are kept. `profile` is the one that was asked for, `problem` why they are the defaults. */
  configuration: {
    directory: string;
    /** Folder of the key files. */
    keys: string;
    profile: string | undefined;
    problem: VaultError | undefined;
  };
  /** Of the state on this machine; a shared one keeps there what concerns this machine alone. */
  stateDirectory: () => string;
  /** Ready file of this user's sandbox, whatever profile is in use: beside the state that the flag, the variable or the default names. */
  sandboxFile: () => string;
  /** The service's name in the state. Throws `usage` or `invalid-input` for a base URL that cannot be used. */
  serviceName: () => string;
}

/** The parts of whatever touches neither state nor service. */
export interface Basics {
  io: Io;
  settings: SettingsPart;
}

/**
 * Reads the settings. If they cannot be used, `lenient` and `unneeded` report the problem, with the
 * defaults and the output that was asked for; with `unneeded`, nothing but flags can be wrong.
 * `fixes-configuration` reports the problem of an invalid profile, with the settings without it,
 * and treats a missing profile as empty.
 * @throws what `configDirectory`, `findProfile` and `resolveSettings` throw; with `lenient` for the
 * directory alone
 */
export function createSettings(
  host: Host,
  given: Readonly<Record<string, unknown>>,
  mode?: SettingsMode,
): SettingsPart {
  const { env, uid } = host;
  const chosen = chosenProfile(host, given);
  const flags: GivenFlags = given["json"] === true ? { ...given, output: "json" } : given;
  const fixes = mode === "fixes-configuration";
  let directory = "";
  let profile: NamedProfile = { name: chosen ?? "default", exists: false, settings: {} };
  let settings: Settings;
  let problem: VaultError | undefined;
  try {
    directory = configDirectory(host);
    profile = findProfile(directory, chosen, fixes, uid);
    settings = resolveSettings(flags, env, profile.settings);
  } catch (error) {
    // A configuration that cannot be read cannot be changed either.
    const isForgiven = fixes ? profile.exists : mode === "unneeded" || (mode && directory !== "");
    if (!isForgiven || !(error instanceof VaultError)) throw error;
    problem = error;
    const { VAULTSVC_OUTPUT } = env;
    const isKnown = outputFormats.some((format) => format === VAULTSVC_OUTPUT);
    settings = fixes
      ? resolveSettings(flags, env, {})
      : resolveSettings(defined({ output: flags.output }), isKnown ? { VAULTSVC_OUTPUT } : {}, {});
  }
  const part: SettingsPart = {
    ...settings,
    profileInUse: profile,
    flags,
    configuration: { directory, keys: join(directory, "keys"), profile: chosen, problem },
    stateDirectory: () => directoryOf(host, part.state),
    // Set by `sandbox env`, whose state is another one.
    sandboxFile: () =>
      env["VAULTSVC_SANDBOX"] ||
      `${directoryOf(host, resolveSettings(flags, env, {}).state)}-sandbox.json`,
    serviceName: () => serviceName(part),
  };
  return part;
}

/** The profile that a line, or else the environment, names. */
export const chosenProfile = (
  { env }: Host,
  given: Readonly<Record<string, unknown>>,
): string | undefined =>
  (given["profile"] as string | undefined) ?? (env["VAULTSVC_PROFILE"] || undefined);

/** The directory of a state on this machine; the default one beside a shared state. */
export const directoryOf = (host: Host, location: string | undefined): string =>
  location === undefined || isShared(location) ? stateDirectory(host) : host.resolve(location);

/** Makes the part. The redactor stands between the program and stderr from then on. */
export function createIo(
  host: Host,
  flags: GivenFlags & Readonly<Record<string, unknown>>,
  settings: Settings,
  words: readonly string[] = [],
): Io {
  const redactor = new Redactor();
  host.stderr.redactWith(redactor);
  const narrator = createNarrator({
    stderr: host.stderr,
    quiet: flags["quiet"] === true,
    verbose: flags["verbose"] === true,
    json: settings.output !== "table",
    reader: () => ({ self: host.actor, now: host.now() }),
  });
  const { sources, isStdinTaken } = valueSources(host, narrator.warn);
  const isAttended = flags["input"] !== false && (host.env["CI"] ?? "") === "";
  const mayAsk = (): boolean =>
    host.stdin.isTTY && host.stderr.isTTY && !isStdinTaken() && isAttended;
  const show = async (text: string): Promise<void> => {
    if (!host.stdout.isTTY) return await host.stdout.write(text);
    const { showText } = await import("../terminal/foreground.ts");
    const { environmentWithoutSecrets } = await import("../settings/child-command.ts");
    await showText(host, text, {
      isAllowed: isAttended && flags["pager"] !== false,
      setting: settings.pagerCommand,
      env: environmentWithoutSecrets(host.env, redactor),
    });
  };
  const choice = {
    format: settings.output,
    field: flags["field"] as string | undefined,
    reveal: flags["reveal"] === true,
  };
  // The time that a person takes to answer questions is not waiting.
  const deadline = once(() => host.elapsed() + settings.maxWait);
  return {
    host,
    line: { argv: ["vault", ...words] },
    output: createOutput(host, choice, narrator.warn, show),
    show,
    narrator,
    redactor,
    ask: createPrompts(host, mayAsk),
    sources,
    secretOption: async (spec, flag, how) =>
      await readSecret({ sources, redactor }, { text: spec, source: flag, from: "flag" }, how),
    waiting: {
      get deadline() {
        return deadline();
      },
      signal: host.interrupted,
    },
  };
}
