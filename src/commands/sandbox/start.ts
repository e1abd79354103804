import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../app.ts";
import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import { command, type OptionValues } from "../../cli/command.ts";
import { checkNotOurs } from "../../cli/own-files.ts";
import { isLabel, port } from "../../cli/values.ts";
import { parseDuration } from "../../duration.ts";
import { defined } from "../../defined.ts";
import type { StartDocument } from "../../documents/sandbox.ts";
import { VaultError } from "../../errors.ts";
import { bareCredentials } from "../../exchange/records.ts";
import type { Basics, SettingsPart } from "../../parts/basics.ts";
import type { OpenState } from "../../parts/state.ts";
import { callSandbox, type RunningDocument } from "../../sandbox/control.ts";
import { parsePolicy } from "../../sandbox/policy.ts";
import { demoSeed, parseSeed } from "../../sandbox/seeds.ts";
import { startSandbox, type RunningSandbox, type SandboxSettings } from "../../sandbox/server.ts";
import { profileName, withProfile, type NamedProfile } from "../../settings/config-file.ts";
import { readValue } from "../../settings/given.ts";
import { serviceName } from "../../settings/settings.ts";
import { commandLine, noted, shellQuoted, command as wayTo } from "../../way.ts";
import { asGiven, call, control, describeVaults, readyFileOf } from "./control.ts";

export const emulation = {
  "--seed <seed>": "demo, or a JSON file with a list of vaults (default: demo)",
  "--token-ttl <duration>": { help: "token lifetime (5m)", parse: parseDuration },
  "--latency <duration>": { help: "delay before each response (none)", parse: parseDuration },
  "--policy <file>":
    "JSON file that changes the rules of the service (see vault sandbox start --help)",
} as const;

type EmulationOptions = OptionValues<typeof emulation>;

export const program = {
  command: {
    term: "<command...>",
    help: "program and arguments, after --",
    values: { from: "programs" },
  },
} as const;

/**
 * Serves until the first SIGINT or SIGTERM, or `vault sandbox stop`.
 * @throws `usage` if the ready file is that of a running sandbox, or the profile is not that of a sandbox
 */
export const start = command({
  description:
    "Start the emulated service on 127.0.0.1; it serves until interrupted, and enforces the rate limit of --rate. With --profile it " +
    "creates a profile of that name, with its own state in which its vaults are imported.\n\n" +
    'A seed is a list of vaults: {"kind", "creditCard"} or {"kind", "content"}, with "label", "metadata", "uuid", "credentials", "maxUsage" ' +
    'and "expiryDate" (offline), "hashedPin" and "device" (online) as you like. Cards need "number", "name", "expiryMonth" and "expiryYear".\n\n' +
    'A policy is an object with any of "failedAttempts", "unackedStarts", "tokenTtlMs", "rate", "autoLockAfterMs", "idempotentEnd", ' +
    '"whitelist" (addresses and ranges) and "jwt" {"publicKey", "claims"}.',
  options: {
    "--port <n>": { help: "port to listen on (default: any free port)", parse: port },
    "--data <directory>": "keep the vaults in this directory across restarts",
    ...emulation,
    "--ready-file <file>":
      "file to write once it listens, with the control token (default: STATE-sandbox.json)",
  },
  examples: [
    "vault sandbox start --seed demo",
    "vault sandbox start --port 4000 --data ./sandbox --token-ttl 30s --json",
    "vault sandbox start --profile play",
  ],
  mode: "fixes-configuration",
  async run(app, options) {
    const { io, settings } = app;
    // From here on a signal stops the sandbox in order.
    const { interrupted } = io.host;
    const readyFile = readyFileOf(settings, options);
    if ((await callSandbox(readyFile, "GET ready")) !== null) {
      throw new VaultError("usage", `a sandbox is already running (ready file: ${readyFile})`, {
        next: [
          wayTo`vault sandbox stop ${asGiven(options)}`,
          noted(wayTo`vault sandbox start --ready-file FILE`, "starts another one"),
        ],
      });
    }
    checkNotOurs(app, "--ready-file", readyFile);
    const profileFolder = ownProfile(settings, readyFile);
    const wanted = await sandboxSettings(app, options);
    const { port, data: dataFolder } = options;
    const sandbox = await startSandbox({ ...wanted, port, readyFile, dataFolder });
    const { baseUrl, application, vaults } = sandbox;
    const document: StartDocument = { baseUrl, application, vaults };
    try {
      if (profileFolder !== undefined) await makeProfile(app, profileFolder, sandbox);
      const given = asGiven(options);
      const lines = [
        `The sandbox listens at ${baseUrl}`,
        "",
        ...describeVaults(vaults),
        "",
        `The application, the credentials and the control token are in ${readyFile}`,
        profileFolder === undefined
          ? `To use it: eval "$(${commandLine(["vault", "sandbox", "env", ...given])})"`
          : `To use it: vault status --profile ${settings.profileInUse.name}`,
        `To stop it: Ctrl-C, or ${commandLine(["vault", "sandbox", "stop", ...given])}`,
        "",
      ];
      await io.output.print(document, () => lines.join("\n"));
      if (!interrupted.aborted) await Promise.race([once(interrupted, "abort"), sandbox.stopped]);
    } finally {
      await sandbox.close();
    }
  },
});

/** What the options of a command that starts a sandbox say about its behavior. */
export async function sandboxSettings(
  { io, settings }: Basics,
  { seed = "demo", policy, latency, tokenTtl: tokenTtlMs }: EmulationOptions,
): Promise<SandboxSettings> {
  const read = async (file: string, flag: string): Promise<string> =>
    await readValue(`@${file}`, flag, io.sources);
  return {
    now: () => io.host.now(),
    prefix: settings.apiPrefix,
    latencyMs: latency,
    policy: {
      ...(policy && parsePolicy(await read(policy, "--policy"), `--policy ${policy}`)),
      ...defined({
        tokenTtlMs,
        rate: settings.flags.rate === undefined ? undefined : settings.rate,
      }),
    },
    seed: seed === "demo" ? demoSeed : parseSeed(await read(seed, "--seed"), `--seed ${seed}`),
  };
}

/** The folder of the profile that --profile asks for. One that is there must be that of an earlier sandbox. */
function ownProfile(
  { flags, profileInUse: { name, exists, settings } }: SettingsPart,
  readyFile: string,
): string | undefined {
  if (flags.profile === undefined) return undefined;
  const folder = join(folderBeside(readyFile), `profile-${name}`);
  if (exists ? settings["state"] === join(folder, "state") : profileName.test(name)) return folder;
  throw new VaultError("usage", `profile ${name} does not belong to a sandbox`, {
    hint: "choose another name with --profile",
  });
}

/** Makes the profile, and its state anew: a new sandbox has another address and other credentials. */
async function makeProfile(app: App, folder: string, running: RunningSandbox): Promise<void> {
  const state = join(folder, "state");
  // The folder may be the user's own, and so may all else in it.
  rmSync(state, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { name, settings: former } = app.settings.profileInUse;
  const { baseUrl, application, apiPrefix } = running;
  const settings = { ...former, baseUrl, apiPrefix, appUuid: application.uuid, state };
  const { configuration } = await importVaults(app, running, { name, exists: true, settings });
  await configuration.change((current) => {
    const apiKey = configuration.seal({ profile: name, key: "apiKey" }, application.apiKey);
    return withProfile(current, name, { ...settings, apiKey });
  });
}

export const exec = command({
  description:
    "Start a sandbox for one program, with its own state and configuration, in which the demo vaults are imported; run the program " +
    "with VAULTSVC_* and VAULT (for the examples of the help) set; then stop the sandbox and exit with the program's exit code. Your own state is not touched.",
  arguments: program,
  options: emulation,
  examples: [
    "vault sandbox exec -- sh",
    "vault sandbox exec -- vault status",
    "vault sandbox exec --token-ttl 5s -- ./integration-test.sh",
  ],
  mode: "lenient",
  async run(app, options) {
    const { host, narrator } = app.io;
    const sandbox = await openPrivateSandbox(app, await sandboxSettings(app, options));
    const labels = sandbox.running.vaults.map(({ label }) => label);
    const [program] = options.command;
    for (const line of [
      "This is a private sandbox: an emulated service, a state and a configuration.",
      `Vaults: ${labels.join(", ")}`,
      "Try: vault status; vault get $VAULT",
      "A tour of five minutes: vault help tour",
      `When ${program} ends, the sandbox is gone.`,
    ])
      narrator.note(line);
    try {
      return (await host.runForeground({ command: options.command, env: sandbox.env })).exitCode;
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (syscall?.startsWith("spawn") !== true) throw error;
      const why = code === "ENOENT" ? "no such program" : code;
      throw new VaultError("usage", `${program} cannot be started: ${why}`, { exitCode: 127 });
    } finally {
      await sandbox.close();
    }
  },
});

export const env = command({
  description:
    "Print export lines for the running sandbox: its address and application, and state and configuration directories in which its " +
    "vaults are imported.",
  options: control,
  examples: ['eval "$(vault sandbox env)"', "vault sandbox env --json"],
  async run(app, options) {
    const { io, settings } = app;
    const ready = await call<RunningDocument>(app, options, "GET ready");
    const readyFile = io.host.resolve(readyFileOf(settings, options));
    const all = folderBeside(readyFile);
    const digest = createHash("sha256").update(ready.controlToken).digest("hex");
    // Each run of the sandbox has its own, which replaces the one of another run.
    const name = `env-${digest.slice(0, 12)}`;
    mkdirSync(join(all, name), { recursive: true, mode: 0o700 });
    for (const other of readdirSync(all))
      // The folder may be the user's own, and so may all else in it.
      if (/^env-[\da-f]{12}$/.test(other) && other !== name)
        rmSync(join(all, other), { recursive: true, force: true });
    const variables = await prepareFolder(app, ready, join(all, name));
    const env = { ...variables, VAULTSVC_SANDBOX: readyFile };
    const lines = Object.entries(env).map(
      ([name, value]) => `export ${name}=${shellQuoted(value)}\n`,
    );
    await io.output.print({ env }, () => lines.join(""));
  },
});

/** The folder of what is made for a sandbox: that of `box.json` is `box`, that of `box` is `box.d`. */
const folderBeside = (readyFile: string): string =>
  readyFile.endsWith(".json") ? readyFile.slice(0, -".json".length) : `${readyFile}.d`;

type Ready = Omit<RunningDocument, "controlToken">;

/** Opens the state of a profile, and imports the vaults of a sandbox, with their devices, as far as it does not know them. */
async function importVaults(
  app: App,
  { vaults, ...ready }: Ready,
  profile: NamedProfile,
  configDirectory?: string,
): Promise<OpenState> {
  const opened = await app.state.openAlone(profile, configDirectory);
  const service = serviceName({ ...ready, insecureHttp: false });
  const known = (await opened.state.known(service)).map(({ uuid }) => uuid);
  // Several vaults of a seed may have one label, or none, and then the kind stands for it. In a state, the first one has it.
  const labels = vaults.map(({ label }) => label);
  await eachOf(vaults.entries(), vaultsAtATime, async ([at, vault]) => {
    if (known.includes(vault.uuid.toLowerCase())) return;
    const session = await opened.state.lock(service, vault.uuid, app.io.waiting);
    try {
      await session.recordPair({
        credentials: bareCredentials(vault.credentials),
        kind: vault.kind,
        device: vault.device,
        label: labels.indexOf(vault.label) === at && isLabel(vault.label) ? vault.label : undefined,
      });
    } finally {
      await session.release();
    }
  });
  return opened;
}

/** Makes a state with the vaults of a sandbox and a configuration in a folder. Returns the variables with which the program uses them. */
async function prepareFolder(app: App, ready: Ready, folder: string) {
  const state = join(folder, "state");
  const config = join(folder, "config");
  await importVaults(app, ready, { name: "default", exists: false, settings: { state } }, config);
  return {
    VAULTSVC_BASE_URL: ready.baseUrl,
    VAULTSVC_API_PREFIX: ready.apiPrefix,
    VAULTSVC_APP_UUID: ready.application.uuid,
    VAULTSVC_API_KEY: ready.application.apiKey,
    VAULTSVC_STATE: state,
    VAULTSVC_CONFIG_DIR: config,
  };
}

/**
 * Starts a sandbox in this process for one program, in a temporary folder with a state in which its vaults are imported, a configuration
 * and commands `vault` and `vaultsvc` that are this very program on this very runtime, whatever is installed. `env` is the caller's
 * environment with that folder's settings in place of its own; `close` stops the sandbox and removes the folder.
 * @throws what `startSandbox` throws
 */
export async function openPrivateSandbox(app: App, settings: SandboxSettings) {
  const { host } = app.io;
  const folder = mkdtempSync(join(tmpdir(), "vault-sandbox-"));
  let running: RunningSandbox | undefined;
  const close = async (): Promise<void> => {
    await running?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    // Where `vault sandbox fault` and the like look for it, run with this state.
    running = await startSandbox({ ...settings, readyFile: join(folder, "state-sandbox.json") });
    // The state stays: the program may go on without the service.
    void running.stopped.then(async () => await running?.close());
    const variables = await prepareFolder(app, running, folder);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    for (const name of ["vault", "vaultsvc"]) {
      const script = `#!/bin/sh\nexec ${host.program.map(shellQuoted).join(" ")} "$@"\n`;
      writeFileSync(join(bin, name), script, { mode: 0o700 });
    }
    // The vault that the examples of the help are about: an offline credit card, or else the first one.
    const { vaults } = running;
    const example = vaults.find(({ kind }) => kind === "credit-card/offline") ?? vaults[0];
    // Without the settings of this program and of PostgreSQL: a private sandbox must not reach a real state.
    const kept = Object.entries(host.env).filter(([name]) => !/^(VAULTSVC_|PG)/.test(name));
    const env = {
      ...defined(Object.fromEntries(kept)),
      ...variables,
      ...(example && { VAULT: example.uuid }),
      PATH: [bin, host.env["PATH"]].filter(Boolean).join(":"),
    };
    return { folder, running, env, close };
  } catch (error) {
    await close();
    throw error;
  }
}
