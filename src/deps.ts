import { isAbsolute, resolve } from "node:path";
import { readSettings } from "./config/read-settings.ts";
import type { ValueSources } from "./config/secret-value.ts";
import { readValue } from "./config/secret-value.ts";
import { stdinForOne } from "./config/stdin.ts";
import type { Settings } from "./config/settings.ts";
import { missingSetting, serviceName } from "./config/settings.ts";
import { settingWorld } from "./config/world.ts";
import { VaultError } from "./errors.ts";
import type { ExchangeContext } from "./exchange/context.ts";
import type { Service, Store } from "./exchange/ports.ts";
import type { Host } from "./host.ts";
import type { Device } from "./interface/fields.ts";
import type { Narrator } from "./terminal/narrator.ts";
import type { Probe } from "./service/probe.ts";
import type { StateFacts } from "./state/inspect.ts";
import { configDirectory, stateDirectory } from "./state/paths.ts";
import type { StoreOptions } from "./state/sqlite-store.ts";
import type { WholeStateWork } from "./state/whole-state.ts";
import { createNarrator } from "./terminal/narrator.ts";
import type { Redactor } from "./terminal/redactor.ts";
import { createRedactor } from "./terminal/redactor.ts";

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
  output: OutputChoice;
  narrator: Narrator;
  redactor: Redactor;
  sources: ValueSources;
  /** --rate was given on the command line: for the sandbox it is the rate to emulate. */
  rateGiven: boolean;
  /** Whether a question may be asked: a terminal on both sides that no option has read, no --no-input, no CI. */
  readonly mayAsk: boolean;
  /** When all waiting and retrying of this command ends, in milliseconds since the epoch. */
  deadline: number;
  version: string;
  /** The service's name in the state; raises `usage` or `invalid-input` for a base URL that cannot be used. */
  serviceName(): string;
  store(): Promise<Store>;
  /** The client. Raises `usage` where the application's uuid or key is missing. */
  service(): Promise<Service>;
  /** The configured device, if there is one. */
  device(): Promise<Device | undefined>;
  /** An exchange context on a vault that this call locks; release it by its session. */
  hold(uuid: string, options?: HoldOptions): Promise<ExchangeContext>;
  /** Paths of this user. */
  stateDirectory(): string;
  /** Where the settings come from. `profile` is the one that was asked for. */
  configuration: { file: string; profile: string | undefined; problem: VaultError | undefined };
  /** Backup and restore of the whole state. Raises `invalid-input` for a state key that cannot be read. */
  wholeState(): Promise<WholeStateWork>;
  /** What can be said of the state without changing it. Raises as `wholeState`. */
  inspectState(): Promise<StateFacts>;
  /** Whether the service can be reached, without a word about a vault. Raises as `serviceName`. */
  probe(): Promise<Probe>;
}

/**
 * With `lenient`, a configuration that cannot be used is not raised but told (`configuration.problem`); there are the
 * defaults then, with the given output.
 */
export async function createDeps(host: Host, flags: GlobalFlags, version: string, lenient = false): Promise<Deps> {
  const place = { platform: host.platform, env: host.env, home: host.home };
  const configDir = configDirectory(place);
  const chosen = (flags["profile"] as string | undefined) ?? host.env["VAULTSVC_PROFILE"];
  const given = flags["json"] === true ? { ...flags, output: "json" } : flags;
  const { settings, problem } = await readSettings({ directory: configDir, profile: chosen, flags: given, env: host.env }, lenient);
  const redactor = createRedactor();
  host.stderr.redactWith((text) => redactor.redact(text));
  const narrator = createNarrator({
    stderr: host.stderr,
    quiet: flags["quiet"] === true,
    verbose: flags["verbose"] === true,
    json: settings.output !== "table",
  });
  const stdin = stdinForOne(async (limit) => await host.stdin.readAll(limit));
  const sources: ValueSources = {
    env: host.env,
    readFile: async (path) => Buffer.from(await host.readFile(path)).toString("utf8"),
    readStdin: stdin.read,
    warn: (message) => narrator.warn(message),
  };
  const deps: Deps = {
    host,
    settings,
    output: { format: settings.output, field: flags["field"] as string | undefined, reveal: flags["reveal"] === true },
    narrator,
    redactor,
    sources,
    rateGiven: flags["rate"] !== undefined,
    get mayAsk() {
      const isTerminal = host.stdin.isTTY && host.stderr.isTTY;
      return isTerminal && !stdin.isTaken() && flags["input"] !== false && (host.env["CI"] ?? "") === "";
    },
    deadline: host.now() + settings.maxWaitMs,
    version,
    serviceName: () => serviceName(settings),
    stateDirectory: () => absolute(settings.state ?? stateDirectory(place), host.cwd),
    configuration: { file: `${configDir}/config.json`, profile: chosen, problem },
    store: once(async () => (await import("./state/sqlite-store.ts")).openStore(await stateOptions())),
    wholeState: once(async () => (await import("./state/whole-state.ts")).openWholeState(await stateOptions())),
    inspectState: async () => (await deps.wholeState()).inspect(),
    probe: async () => await probeService(deps),
    service: once(async () => await createService(deps)),
    device: once(async () => await readDevice(deps)),
    hold: async (uuid, options = {}) => await holdVault(deps, uuid, options),
  };
  const stateOptions = once(async () => await storeOptions(deps, settings.stateKeyFile ?? `${configDir}/state.key`));
  return deps;
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

const absolute = (path: string, cwd: string): string => (isAbsolute(path) ? path : resolve(cwd, path));

async function storeOptions(deps: Deps, keyFile: string): Promise<StoreOptions> {
  const { settings, host, narrator } = deps;
  if (settings.state !== undefined && /^[a-z]+:\/\//i.test(settings.state)) {
    throw new VaultError("usage", "--state: must be a directory: no other kind of state is supported", {
      hint: "--state /var/lib/vaultsvc",
    });
  }
  const given = settings.stateKeySpec;
  const key = given === undefined ? undefined : await settingWorld(deps).readGiven(given);
  return {
    directory: deps.stateDirectory(),
    keySource: key === undefined ? { type: "file", path: absolute(keyFile, host.cwd) } : { type: "given", key },
    clock: host,
    platform: host.platform,
    warn: (message) => narrator.warn(message),
  };
}

async function createService(deps: Deps): Promise<Service> {
  const { settings, host, redactor } = deps;
  const service = deps.serviceName();
  if (settings.appUuid === undefined) throw missingSetting("appUuid", "the application's uuid");
  if (settings.apiKeySpec === undefined) throw missingSetting("apiKey", "the application's key");
  const world = settingWorld(deps);
  const apiKey = await world.readGiven(settings.apiKeySpec);
  const [{ checkApplication }, { createBearerToken }, { readTransport }, { openService }] = await Promise.all([
    import("./config/application.ts"),
    import("./config/jwt.ts"),
    import("./config/transport.ts"),
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
    limit: {
      rate: settings.rate,
      clock: host,
      reserveSlot: async (now, intervalMs, longestMs) =>
        await (await deps.store()).reserveSlot(`${service} ${application.uuid.toLowerCase()}`, now, intervalMs, longestMs),
    },
    trace: settings.debug ? (event) => void host.stderr.write(`${JSON.stringify(redactor.redactValue(event))}\n`) : undefined,
  });
}

async function probeService(deps: Deps): Promise<Probe> {
  deps.serviceName();
  const { baseUrl = "", apiPrefix, timeoutMs } = deps.settings;
  const [{ readTransport }, { probe }] = await Promise.all([import("./config/transport.ts"), import("./service/probe.ts")]);
  const transport = await readTransport(deps.settings, settingWorld(deps));
  return await probe({ baseUrl, apiPrefix, timeoutMs, version: deps.version, ...transport }, deps.host.interrupted);
}

async function readDevice(deps: Deps): Promise<Device | undefined> {
  const spec = deps.settings.deviceSpec;
  if (spec === undefined) return undefined;
  const [{ parseDevice }, text] = await Promise.all([import("./config/device.ts"), readValue(spec.text, spec.source, deps.sources)]);
  return parseDevice(text, spec.source);
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
      admit: async (signal, deadline) => await (await deps.service()).admit(signal, deadline),
      start: async (call, signal) => await (await deps.service()).start(call, signal),
      end: async (call, signal) => await (await deps.service()).end(call, signal),
      single: async (call, signal) => await (await deps.service()).single(call, signal),
    },
    clock: host,
    ids: createIds(host),
    policy: settings.policy,
    rules: [],
    signal: host.interrupted,
    deadline: deps.deadline,
    tell: (event) => narrator.tell(event),
    redact: (text) => redactor.redact(text),
    learnSecret: (secret) => redactor.add(secret),
  };
}
