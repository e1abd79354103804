import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { App } from "../../app.ts";
import { command, type OptionValues } from "../../cli/command.ts";
import { port } from "../../cli/values.ts";
import { defined } from "../../defined.ts";
import type { StartDocument } from "../../documents/sandbox.ts";
import { parseDuration } from "../../duration.ts";
import { VaultError } from "../../errors.ts";
import type { Basics, SettingsPart } from "../../parts/basics.ts";
import { callSandbox } from "../../sandbox/control.ts";
import { parsePolicy } from "../../sandbox/policy.ts";
import { demoSeed, parseSeed } from "../../sandbox/seeds.ts";
import { startSandbox, type RunningSandbox, type SandboxSettings } from "../../sandbox/server.ts";
import { withProfile } from "../../settings/config-file.ts";
import { readValue } from "../../settings/given.ts";
import { commandLine, noted, command as wayTo } from "../../way.ts";
import { asGiven, describeVaults, readyFileOf } from "./control.ts";
import { folderBeside, importVaults, openPrivateSandbox } from "./folder.ts";

export const emulation = {
  seed: {
    flag: "--seed <seed>",
    help: "demo, or a JSON file with a list of vaults (default: demo)",
  },
  tokenTtl: { flag: "--token-ttl <duration>", help: "token lifetime (5m)" },
  latency: { flag: "--latency <duration>", help: "delay before each response (none)" },
  policy: {
    flag: "--policy <file>",
    help: "JSON file that changes the rules of the service (see vault sandbox start --help)",
  },
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
 * @throws `usage` where the ready file is that of a running sandbox, or the profile is not that of a sandbox
 */
export const start = command(
  {
    description:
      "Start the emulated service on 127.0.0.1; it serves until interrupted, and enforces the rate limit of --rate. With --profile it " +
      "creates a profile of that name, with its own state in which its vaults are imported.\n\n" +
      'A seed is a list of vaults: {"kind", "creditCard"} or {"kind", "content"}, with "label", "metadata", "uuid", "credentials", "maxUsage" ' +
      'and "expiryDate" (offline), "hashedPin" and "device" (online) as you like. Cards need "number", "name", "expiryMonth" and "expiryYear".\n\n' +
      'A policy is an object with any of "failedAttempts", "unackedStarts", "tokenTtlMs", "rate", "autoLockAfterMs", "idempotentEnd", ' +
      '"whitelist" (addresses and ranges) and "jwt" {"publicKey", "claims"}.',
    options: {
      port: {
        flag: "--port <n>",
        help: "port to listen on (default: any free port)",
        parse: port,
      },
      data: {
        flag: "--data <directory>",
        help: "keep the vaults in this directory across restarts",
      },
      ...emulation,
      readyFile: {
        flag: "--ready-file <file>",
        help: "file to write once it listens, with the control token (default: STATE-sandbox.json)",
      },
    },
    examples: [
      "vault sandbox start --seed demo",
      "vault sandbox start --port 4000 --data ./sandbox --token-ttl 30s --json",
      "vault sandbox start --profile play",
    ],
    mode: "fixes-configuration",
  },
  async (app, options) => {
    const { io, settings } = app;
    // From here on a signal stops the sandbox in order.
    const { interrupted } = io.host;
    const readyFile = readyFileOf(settings, options);
    if ((await callSandbox(readyFile, "GET ready")) !== null) {
      throw new VaultError("usage", `a sandbox is already running (ready file: ${readyFile})`, {
        next: [
          wayTo`vault sandbox stop`,
          noted(wayTo`vault sandbox start --ready-file FILE`, "starts another one"),
        ],
      });
    }
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
);

/** What the options of a command that starts a sandbox say about its behavior. */
export async function sandboxSettings(
  { io, settings }: Basics,
  { seed = "demo", policy, ...options }: EmulationOptions,
): Promise<SandboxSettings> {
  const duration = (text: string | undefined, flag: string): number | undefined =>
    text === undefined ? undefined : parseDuration(text, flag);
  const read = async (file: string, flag: string): Promise<string> =>
    await readValue(`@${file}`, flag, io.sources);
  return {
    now: () => io.host.now(),
    prefix: settings.apiPrefix,
    latencyMs: duration(options.latency, "--latency"),
    policy: {
      ...(policy && parsePolicy(await read(policy, "--policy"), `--policy ${policy}`)),
      ...defined({
        tokenTtlMs: duration(options.tokenTtl, "--token-ttl"),
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
  if (!exists || settings["state"] === join(folder, "state")) return folder;
  throw new VaultError("usage", `profile ${name} does not belong to a sandbox`, {
    hint: "choose another name with --profile",
  });
}

/** Makes the profile, and its state anew: a new sandbox has another address and other credentials. */
async function makeProfile(app: App, folder: string, running: RunningSandbox): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { name, settings: former } = app.settings.profileInUse;
  const { baseUrl, application, apiPrefix } = running;
  const state = join(folder, "state");
  const settings = { ...former, baseUrl, apiPrefix, appUuid: application.uuid, state };
  const opened = await app.state.openAlone({ name, exists: true, settings });
  await importVaults(app, opened, running);
  const { configuration } = opened;
  await configuration.change((current) => {
    const apiKey = configuration.seal({ profile: name, key: "apiKey" }, application.apiKey);
    return withProfile(current, name, { ...settings, apiKey });
  });
}

export const exec = command(
  {
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
  },
  async (app, options) => {
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
);
