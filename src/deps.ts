import { resolve } from "node:path";
import { once } from "./settings/once.ts";
import { readSettings } from "./settings/read-settings.ts";
import type { ValueSources } from "./secrets/secret-value.ts";
import { exactText, stdinForOne } from "./settings/stdin.ts";
import type { GivenFlags, Settings, Sourced } from "./settings/settings.ts";
import { missingSetting, resolveSettings, serviceName } from "./settings/settings.ts";
import { settingWorld } from "./settings/sources.ts";
import type { NamedProfile } from "./settings/profile.ts";
import type { VaultError } from "./errors.ts";
import type { ExchangeContext } from "./exchange/context.ts";
import type { Service, Store } from "./exchange/ports.ts";
import type { Host } from "./host.ts";
import type { Device } from "./protocol/fields.ts";
import type { Probe } from "./service/probe.ts";
import type { StateFacts } from "./store/inspect.ts";
import { configDirectory, stateDirectory } from "./store/paths.ts";
import type { WholeStateWork } from "./store/whole-state.ts";
import { createNarrator, type Narrator } from "./terminal/narrator.ts";
import { createRedactor, type Redactor } from "./terminal/redactor.ts";
import type { LocalState } from "./state-access.ts";

/** The program's own flags and those of one command, as commander hands them over. */
export type GlobalFlags = Readonly<Record<string, unknown>>;

export interface OutputChoice {
  format: "table" | "json" | "ndjson";
  field: string | undefined;
  reveal: boolean;
}

export interface HoldOptions {
  /** The vault may be known under another base URL: it moves to this one, with all it has. */
  rebind?: boolean;
  /** Nothing is sent: where no base URL is configured, the one under which the vault is known will do. */
  local?: boolean;
}

/**
 * What commands work with. Each part is built on first use, so that a command loads only what it needs. This file is the
 * only one that names the adapters.
 */
export interface Deps {
  host: Host;
  settings: Settings;
  /** The profile that the settings come from, and the flags: for commands that are about settings. */
  profile: NamedProfile;
  flags: GivenFlags;
  output: OutputChoice;
  narrator: Narrator;
  redactor: Redactor;
  sources: ValueSources;
  /** A secret from where its setting has it, which the redactor knows from then on. */
  readSecret(spec: Sourced): Promise<string>;
  /** --rate was given on the command line: for the sandbox it is the rate to emulate. */
  rateGiven: boolean;
  /** Whether a question may be asked: a terminal on both sides that no option has read, no --no-input, no CI. */
  readonly mayAsk: boolean;
  /** When all waiting and retrying of this command ends, on `Host.elapsed`. */
  readonly deadline: number;
  version: string;
  /** The service's name in the state; raises `usage` or `invalid-input` for a base URL that cannot be used. */
  serviceName(): string;
  store(): Promise<Store>;
  /** The same with its keys; for another profile, as the settings are with that. `anySource`: whatever `stateKeySource` says. */
  localState(profile?: NamedProfile, anySource?: boolean): Promise<LocalState>;
  /** The client. Raises `usage` where the application's uuid or key is missing. */
  service(): Promise<Service>;
  /** The configured device, if there is one. */
  device(): Promise<Device | undefined>;
  /** An exchange context on a vault that this call locks; release it by its session. */
  hold(uuid: string, options?: HoldOptions): Promise<ExchangeContext>;
  /** Does the work with a lock file held. Raises `busy` at the deadline, the reason of `interrupted`, `state`. */
  withLock<T>(lockFile: string, what: string, work: () => Promise<T>): Promise<T>;
  /** Paths of this user. */
  stateDirectory(): string;
  configDirectory(): string;
  /** Where the settings come from. `profile` is the one that was asked for. */
  configuration: { file: string; profile: string | undefined; problem: VaultError | undefined };
  /** Backup and restore of the whole state. Raises `invalid-input` for a state key that cannot be read. */
  wholeState(): Promise<WholeStateWork>;
  /** What can be said of the state without changing it. Raises as `wholeState`. */
  inspectState(): Promise<StateFacts>;
  /** Whether the service can be reached, without a word about a vault. Raises as `serviceName`. */
  probe(): Promise<Probe>;
}

/** With a mode, a configuration that cannot be used is not raised but told (`configuration.problem`): see `readSettings`. */
export async function createDeps(host: Host, flags: GlobalFlags, version: string, mode?: "lenient" | "mends-configuration"): Promise<Deps> {
  const configDir = configDirectory(host);
  const chosen = (flags["profile"] as string | undefined) ?? (host.env["VAULTSVC_PROFILE"] || undefined);
  const given = flags["json"] === true ? { ...flags, output: "json" } : flags;
  const { settings, profile, problem } = await readSettings({ directory: configDir, profile: chosen, flags: given, host }, mode);
  const redactor = createRedactor();
  host.stderr.redactWith(redactor);
  const narrator = createNarrator({
    stderr: host.stderr,
    quiet: flags["quiet"] === true,
    verbose: flags["verbose"] === true,
    json: settings.output !== "table",
  });
  const stdin = stdinForOne(async (limit) => await host.stdin.readAll(limit));
  const sources: ValueSources = {
    env: host.env,
    readFile: async (path) => exactText(await host.readFile(path)),
    readStdin: stdin.read,
    warn: (message) => narrator.warn(message),
  };
  const state = once(async () => await openLocal(deps));
  // Counted from the first wait: the time that a person takes to answer questions is not waiting.
  const deadline = once(() => host.elapsed() + settings.maxWaitMs);
  const deps: Deps = {
    host,
    settings,
    profile,
    flags: given,
    output: { format: settings.output, field: flags["field"] as string | undefined, reveal: flags["reveal"] === true },
    narrator,
    redactor,
    sources,
    readSecret: async (spec) => await read(deps, spec),
    rateGiven: flags["rate"] !== undefined,
    get mayAsk() {
      const isTerminal = host.stdin.isTTY && host.stderr.isTTY;
      return isTerminal && !stdin.isTaken() && flags["input"] !== false && (host.env["CI"] ?? "") === "";
    },
    get deadline() {
      return deadline();
    },
    version,
    serviceName: () => serviceName(settings),
    stateDirectory: () => resolve(host.cwd, settings.state ?? stateDirectory(host)),
    configuration: { file: `${configDir}/config.json`, profile: chosen, problem },
    configDirectory: () => configDir,
    store: async () => (await state()).store,
    localState: async (other, anySource) => await (other === undefined && anySource !== true ? state() : openLocal(deps, other, anySource)),
    wholeState: async () => await (await state()).whole(),
    inspectState: async () => await (await deps.wholeState()).inspect(),
    probe: async () => await probeService(deps),
    service: once(async () => await createService(deps)),
    device: once(
      async () => settings.deviceSpec && (await (await import("./settings/device.ts")).readDevice(settings.deviceSpec, sources)),
    ),
    withLock: async (lockFile, what, work) => await (await import("./state-access.ts")).withLock(deps, lockFile, what, work),
    hold: async (uuid, options = {}) => await holdVault(deps, uuid, options),
  };
  return deps;
}

/** With another profile: as the settings are with that. */
async function openLocal(deps: Deps, other?: NamedProfile, anySource = false): Promise<LocalState> {
  const settings = other === undefined ? deps.settings : resolveSettings(deps.flags, deps.host.env, other.settings);
  const { openLocalState } = await import("./state-access.ts");
  return await openLocalState(Object.create(deps, { settings: { value: settings } }) as Deps, anySource);
}

/** A secret of a setting; one that a profile holds is sealed there. */
async function read(deps: Deps, spec: Sourced): Promise<string> {
  if (spec.fromProfile !== true) return await settingWorld(deps).readGiven(spec);
  const at = { profile: deps.profile.name, key: spec.source.replace("config key ", "") };
  const value = await (await deps.localState()).openSecret(at, spec.text);
  deps.redactor.add(value);
  return value;
}

async function createService(deps: Deps): Promise<Service> {
  const { settings, host } = deps;
  const service = deps.serviceName();
  if (settings.live) deps.narrator.note(`live profile ${deps.profile.name}: ${settings.baseUrl}`);
  if (settings.appUuid === undefined) throw missingSetting("appUuid", "the application's uuid");
  if (settings.apiKeySpec === undefined) throw missingSetting("apiKey", "the application's key");
  const world = settingWorld(deps);
  const apiKey = await deps.readSecret(settings.apiKeySpec);
  const [{ checkApplication }, { createBearerToken }, { readTransport }, { openService }] = await Promise.all([
    import("./settings/application.ts"),
    import("./settings/jwt.ts"),
    import("./settings/transport.ts"),
    import("./service/open-service.ts"),
  ]);
  const application = checkApplication(settings.appUuid, apiKey);
  return await openService({
    baseUrl: settings.baseUrl ?? "",
    apiPrefix: settings.apiPrefix,
    application,
    version: deps.version,
    timeoutMs: settings.timeoutMs,
    ...(await readTransport(settings, world)),
    token: await createBearerToken(settings, world),
    learnSecret: world.learnSecret,
    limit: {
      rate: settings.rate,
      clock: host,
      reserveSlot: async (now, intervalMs, longestMs) =>
        await (await deps.store()).reserveSlot(`${service} ${application.uuid.toLowerCase()}`, now, intervalMs, longestMs),
    },
    trace: settings.debug ? (event) => void host.stderr.writeJson(event) : undefined,
  });
}

async function probeService(deps: Deps): Promise<Probe> {
  deps.serviceName();
  const { baseUrl = "", apiPrefix, timeoutMs } = deps.settings;
  const [{ readTransport }, { probe }] = await Promise.all([import("./settings/transport.ts"), import("./service/probe.ts")]);
  const transport = await readTransport(deps.settings, settingWorld(deps));
  return await probe({ baseUrl, apiPrefix, timeoutMs, version: deps.version, ...transport }, deps.host.interrupted);
}

async function holdVault(deps: Deps, uuid: string, options: HoldOptions): Promise<ExchangeContext> {
  const { host, settings, narrator, redactor } = deps;
  const [store, { otherService }, { createIds }] = await Promise.all([
    deps.store(),
    import("./exchange/prepare.ts"),
    import("./exchange/ulid.ts"),
  ]);
  const known = await store.find(uuid);
  const [only, ...more] = known;
  const isLocal = options.local === true && settings.baseUrl === undefined && only !== undefined && more.length === 0;
  const here = isLocal ? only.service : deps.serviceName();
  const session = await store.lock(here, uuid, { deadline: deps.deadline, signal: host.interrupted });
  try {
    const elsewhere = known.find((record) => record.service !== here);
    if (elsewhere !== undefined && !known.some((record) => record.service === here)) {
      if (options.rebind !== true) throw otherService(uuid, here, elsewhere.service);
      await session.rebindFrom(elsewhere.service);
    }
  } catch (error) {
    await session.release();
    throw error;
  }
  return {
    session,
    service: {
      admit: async (kind, signal, deadline) => await (await deps.service()).admit(kind, signal, deadline),
      start: async (call, signal) => await (await deps.service()).start(call, signal),
      end: async (call, signal) => await (await deps.service()).end(call, signal),
      single: async (call, signal) => await (await deps.service()).single(call, signal),
    },
    probe: async () => await deps.probe(),
    clock: host,
    ids: createIds(host),
    policy: settings.policy,
    signal: host.interrupted,
    killed: host.killed,
    deadline: deps.deadline,
    tell: (event) => narrator.tell(event),
    redact: (text) => redactor.redact(text),
    learnSecret: (secret) => redactor.add(secret),
  };
}
