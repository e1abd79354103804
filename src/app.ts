import { createOutput, type Output } from "./cli/output.ts";
import { createPrompts, type Prompts } from "./cli/prompts.ts";
import type { Known } from "./completion/candidates.ts";
import { createKnown } from "./completion/known.ts";
import type { VaultError } from "./errors.ts";
import type { ExchangeContext } from "./exchange/context.ts";
import type { LockOptions, Own } from "./exchange/lock-vault.ts";
import type { Service, Waiting } from "./exchange/ports.ts";
import type { Host } from "./host.ts";
import type { Device } from "./protocol/fields.ts";
import type { ValueSources } from "./secrets/secret-value.ts";
import type { ServiceFor } from "./service/open-service.ts";
import type { Probe } from "./service/probe.ts";
import { directoryOf, openHistory, openState, type OpenState } from "./open-state.ts";
import { once } from "./settings/once.ts";
import type { NamedProfile } from "./settings/profile.ts";
import { isShared, passwordSeen } from "./settings/location.ts";
import type { Sourced } from "./settings/definitions.ts";
import type { GivenFlags, Settings } from "./settings/settings.ts";
import { readSettings, resolveSettings, serviceName } from "./settings/settings.ts";
import { settingWorld } from "./settings/sources.ts";
import { valueSources } from "./settings/stdin.ts";
import type { StateHistory } from "./store/journal/history.ts";
import type { State } from "./store/state.ts";
import { configDirectory, defaultKeyFile } from "./store/paths.ts";
import { createNarrator, type Narrator } from "./terminal/narrator.ts";
import { createRedactor, type Redactor } from "./terminal/redactor.ts";

/** The parts of the program, of which each function names those that it uses. Adapters are loaded and made on first use. */
export interface App {
  host: Host;
  settings: Settings;
  /** The profile that the settings come from, and the flags: for commands that are about settings. */
  profile: NamedProfile;
  flags: GivenFlags;
  /** Where settings come from. `profile` is the one that was asked for, `problem` why they are the defaults. */
  configuration: {
    directory: string;
    keyFile: string;
    profile: string | undefined;
    problem: VaultError | undefined;
  };
  output: Output;
  narrator: Narrator;
  redactor: Redactor;
  ask: Prompts;
  sources: ValueSources;
  /** A secret from where its setting has it, which the redactor knows from then on. */
  secretSetting: (setting: Sourced) => Promise<string>;
  /** A secret from where an option has it, likewise. */
  secretOption: (spec: string, flag: string) => Promise<string>;
  /** When all waiting and retrying of this command ends; the time starts at the first wait. */
  waiting: Waiting;
  /** Of the state on this machine; a shared one keeps there what concerns this machine alone. */
  stateDirectory: () => string;
  /** Ready file of this user's sandbox, whatever profile is in use: beside the state that the flag, the variable or the default names. */
  sandboxFile: () => string;
  /** The service's name in the state. Throws `usage` or `invalid-input` for a base URL that cannot be used. */
  serviceName: () => string;
  store: () => Promise<State>;
  /** The state with its keys; for another profile, as the settings are with that. `anySource`: whatever `stateKeySource` says. */
  state: (profile?: NamedProfile, anySource?: boolean) => Promise<OpenState>;
  /** See `openHistory`. */
  history: () => Promise<StateHistory | null>;
  /** The client. Throws `usage` where the application's uuid or key is missing. */
  service: () => Promise<Service>;
  /** A client for one of several exchanges at a time, as `service`. `learnSecret` is told each secret of its calls and answers. */
  exchangeService: (learnSecret: (secret: string) => void) => Promise<Service>;
  /** Whether the service of these settings (default: of this command) can be reached; names no vault. Throws as `serviceName`. */
  probe: (settings?: Settings) => Promise<Probe>;
  device: () => Promise<Device | undefined>;
  /** See `lockVault`. */
  lock: (uuid: string, options?: LockOptions, own?: Own) => Promise<ExchangeContext>;
  /** See `withLockFile`. */
  withLock: <T>(lockFile: string, what: string, work: () => Promise<T>) => Promise<T>;
}

/** What completion may know of this machine. It needs no `App`: settings can be wrong, and take time to read. */
export const knownHere = (host: Host): Pick<Known, "profiles" | "vaults"> =>
  createKnown<Host>(host, {
    configDirectory,
    readVaults: async (user, location) => {
      const directory = directoryOf(user, location);
      return isShared(location)
        ? (await import("./store/postgres/known-vaults.ts")).readKnownShared(
            directory,
            location,
            user.env,
          )
        : (await import("./store/sqlite/known-vaults.ts")).readKnownVaults(directory);
    },
  });

/** Makes the parts. With a mode, a configuration that cannot be used is reported, not thrown: see `readSettings`. */
export async function createApp(
  host: Host,
  flags: Readonly<Record<string, unknown>>,
  version: string,
  mode?: "lenient" | "fixes-configuration",
): Promise<App> {
  const directory = configDirectory(host);
  const chosen =
    (flags["profile"] as string | undefined) ?? (host.env["VAULTSVC_PROFILE"] || undefined);
  const given = flags["json"] === true ? { ...flags, output: "json" } : flags;
  const { settings, profile, problem } = await readSettings(
    { directory, profile: chosen, flags: given, host },
    mode,
  );
  const redactor = createRedactor();
  host.stderr.redactWith(redactor);
  const verbosity = {
    quiet: flags["quiet"] === true,
    verbose: flags["verbose"] === true,
    json: settings.output !== "table",
  };
  const narrator = createNarrator({ stderr: host.stderr, ...verbosity });
  const seen =
    typeof given["state"] === "string" ? passwordSeen(given["state"], "--state") : undefined;
  if (seen !== undefined) narrator.warn(seen);
  const mayAsk = (): boolean =>
    host.stdin.isTTY && host.stderr.isTTY && !isStdinTaken() && flags["input"] !== false;
  const { sources, isStdinTaken } = valueSources(host, narrator.warn);
  const outputChoice = {
    format: settings.output,
    field: flags["field"] as string | undefined,
    reveal: flags["reveal"] === true,
  };
  const world = settingWorld({ host, sources, redactor });
  const state = once(async () => await openState(app, settings));
  const clients = once(async () => await openClients(app, version));
  // The time that a person takes to answer questions is not waiting.
  const deadline = once(() => host.elapsed() + settings.maxWait);
  const app: App = {
    host,
    settings,
    profile,
    flags: given,
    configuration: { directory, keyFile: defaultKeyFile(host), profile: chosen, problem },
    output: createOutput(host, outputChoice, narrator.warn),
    narrator,
    redactor,
    ask: createPrompts(host, () => mayAsk() && (host.env["CI"] ?? "") === ""),
    sources,
    secretSetting: async (setting) => {
      if (setting.fromProfile !== true) return await world.readGiven(setting);
      const at = { profile: profile.name, key: setting.source.replace("config key ", "") };
      const value = await (await state()).openSecret(at, setting.text);
      redactor.add(value);
      return value;
    },
    secretOption: async (spec, flag) =>
      await world.readGiven({ text: spec, source: flag, fromFlag: true }),
    waiting: {
      get deadline() {
        return deadline();
      },
      signal: host.interrupted,
    },
    stateDirectory: () => directoryOf(host, settings.state),
    // Set by `sandbox env`, whose state is another one.
    sandboxFile: () =>
      host.env["VAULTSVC_SANDBOX"] ||
      `${directoryOf(host, resolveSettings(given, host.env, {}).state)}-sandbox.json`,
    serviceName: () => serviceName(settings),
    store: async () => (await state()).state,
    state: async (other, anySource) => {
      if (other === undefined && anySource !== true) return await state();
      return await openState(
        app,
        other === undefined ? settings : resolveSettings(given, host.env, other.settings),
        anySource,
      );
    },
    history: async () => await openHistory(host, settings, state),
    service: once(async () =>
      (await clients())({ learnSecret: redactor.add, waitFor: narrator.waitFor }),
    ),
    exchangeService: async (learnSecret) => (await clients())({ learnSecret }),
    probe: async (wanted = settings) => {
      serviceName(wanted);
      const { baseUrl = "", apiPrefix, timeout: timeoutMs } = wanted;
      const [{ readTransport }, { probe }] = await Promise.all([
        import("./settings/transport/transport.ts"),
        import("./service/probe.ts"),
      ]);
      return await probe(
        { baseUrl, apiPrefix, timeoutMs, version, ...(await readTransport(wanted, world)) },
        host.interrupted,
      );
    },
    device: once(
      async () =>
        settings.device &&
        (await (await import("./settings/device.ts")).readDevice(settings.device, sources)),
    ),
    lock: async (uuid, options, own) => await lock(app, uuid, options, own),
    withLock: async (lockFile, what, work) =>
      await (
        await import("./files/lock-file.ts")
      ).withLockFile(lockFile, what, host, app.waiting, work),
  };
  return app;
}

async function openClients(app: App, version: string): Promise<ServiceFor> {
  const { host, settings, narrator, profile } = app;
  const name = app.serviceName();
  if (settings.live) narrator.note(`Production profile ${profile.name}: ${settings.baseUrl}`);
  const [{ readClientSettings }, { openService }] = await Promise.all([
    import("./settings/transport/client-options.ts"),
    import("./service/open-service.ts"),
  ]);
  const client = await readClientSettings(settings, settingWorld(app), app.secretSetting);
  const queue = `${name} ${client.application.uuid.toLowerCase()}`;
  return await openService({
    ...client,
    version,
    limit: {
      rate: settings.rate,
      clock: host,
      latencyMs: async () => await (await app.store()).latencyMs(),
      reserveSlot: async (now, intervalMs, longestMs) =>
        await (await app.store()).reserveSlot(queue, now, intervalMs, longestMs),
    },
    trace: settings.debug ? (event) => void host.stderr.writeJson(event) : undefined,
  });
}

async function lock(
  app: App,
  uuid: string,
  options?: LockOptions,
  own: Own = {},
): Promise<ExchangeContext> {
  const { host, settings, narrator } = app;
  const [store, { lockVault }] = await Promise.all([
    app.store(),
    import("./exchange/lock-vault.ts"),
  ]);
  let who = "another process that is";
  const locked = lockVault(
    {
      store,
      service: app.service,
      serviceName: app.serviceName,
      isConfigured: settings.baseUrl !== undefined,
      clock: host,
      policy: settings.policy,
      killed: host.killed,
      emit: narrator.tell,
      redact: app.redactor.redact,
      learnSecret: app.redactor.add,
      ...own,
      waiting: { ...(own.waiting ?? app.waiting), tell: (holder) => (who = holder) },
    },
    uuid,
    options,
  );
  // One of many is not waited for by a person.
  return own.waiting === undefined
    ? await narrator.waitFor(() => `${who} using vault ${uuid}`, locked)
    : await locked;
}
