import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Basics, SettingsPart } from "../../parts/settings.ts";
import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import type { ReadyDocument } from "../../sandbox/control/ready.ts";
import type { Policy } from "../../sandbox/model/policy.ts";
import { parsePolicy } from "../../sandbox/model/policy.ts";
import { demoSeed, parseSeed } from "../../sandbox/seeds/seeds.ts";
import type { SandboxSettings } from "../../sandbox/server/start-sandbox.ts";
import { startSandbox } from "../../sandbox/server/start-sandbox.ts";
import { readValue } from "../../settings/given.ts";
import { parseDuration } from "../../duration.ts";
import type { StartDocument } from "../../documents/sandbox.ts";
import type { EmulationOptions, ExecOptions, StartOptions } from "../sandbox.ts";
import {
  importVaults,
  openPrivateSandbox,
  runProgram,
  settingsFor,
  withoutSettings,
} from "./folder.ts";
import { asGiven, describeVaults, findRunning, readyFileOf } from "./running.ts";
import { command, commandLine } from "../../way.ts";

/** On a new machine there is none yet. What goes wrong with it is reported where the file is written. */
function makeFolderOf(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch {
    // The file cannot be written either.
  }
}

/**
 * Serves until the first SIGINT or SIGTERM, or `vault sandbox stop`.
 * @throws `usage` where the ready file is that of a running sandbox, or the profile is not that of a sandbox
 */
export async function runStart({ io, settings }: Basics, options: StartOptions): Promise<number> {
  // From here on a signal stops the sandbox in order.
  const { interrupted } = io.host;
  const readyFile = readyFileOf(settings, options);
  if ((await findRunning(readyFile)) !== null) {
    throw new VaultError("usage", `a sandbox is already running (ready file: ${readyFile})`, {
      next: [
        command`vault sandbox stop`,
        { ...command`vault sandbox start --ready-file FILE`, note: "starts another one" },
      ],
    });
  }
  const profile = ownProfile(settings, readyFile);
  if (options.readyFile === undefined) makeFolderOf(readyFile);
  const wanted = {
    ...(await sandboxSettings({ io, settings }, options)),
    port: options.port ?? 0,
    readyFile,
    ...defined({ dataFolder: options.data }),
  };
  const sandbox = await startSandbox(wanted);
  try {
    if (profile !== undefined) await makeProfile({ io, settings }, profile, sandbox);
    const { baseUrl, application, vaults } = sandbox;
    const document: StartDocument = { baseUrl, application, vaults };
    await io.output.print(document, () =>
      describe(sandbox, readyFile, asGiven(options), profile?.name),
    );
    await Promise.race([stopped(interrupted), sandbox.stopped]);
    return 0;
  } finally {
    await sandbox.close();
  }
}

/** What the options of a command that starts a sandbox say about its behavior. */
export async function sandboxSettings(
  { io, settings }: Basics,
  options: EmulationOptions,
): Promise<SandboxSettings> {
  const { seed = "demo" } = options;
  return {
    now: () => io.host.now(),
    prefix: settings.apiPrefix,
    latencyMs: options.latency === undefined ? 0 : parseDuration(options.latency, "--latency"),
    policy: await policyOf({ io, settings }, options),
    seed:
      seed === "demo"
        ? demoSeed
        : parseSeed(await readValue(`@${seed}`, "--seed", io.sources), `--seed ${seed}`),
  };
}

async function policyOf(
  { io, settings }: Basics,
  { policy, ...options }: EmulationOptions,
): Promise<Partial<Policy>> {
  return {
    ...(policy === undefined
      ? {}
      : parsePolicy(await readValue(`@${policy}`, "--policy", io.sources), `--policy ${policy}`)),
    ...defined({
      tokenTtlMs:
        options.tokenTtl === undefined ? undefined : parseDuration(options.tokenTtl, "--token-ttl"),
      rate: settings.flags.rate === undefined ? undefined : settings.rate,
    }),
  };
}

interface OwnProfile {
  name: string;
  /** Of the profile's state, which belongs to the sandbox. */
  folder: string;
}

/** The profile that --profile asks for. One that is there must be that of an earlier sandbox. */
function ownProfile(settings: SettingsPart, readyFile: string): OwnProfile | undefined {
  const name = settings.flags.profile;
  if (typeof name !== "string") return undefined;
  const folder = join(readyFile.replace(/\.json$/, ""), `profile-${name}`);
  const { exists, settings: wanted } = settings.profileInUse;
  if (exists && wanted["state"] !== join(folder, "state")) {
    throw new VaultError("usage", `profile ${name} does not belong to a sandbox`, {
      hint: "choose another name with --profile",
    });
  }
  return { name, folder };
}

/** Makes the profile anew, as a user would: a new sandbox has another address and other credentials. */
async function makeProfile(
  { io, settings }: Basics,
  { name, folder }: OwnProfile,
  ready: ReadyDocument,
): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { VAULTSVC_CONFIG_DIR: _own, ...wanted } = settingsFor(ready, folder, settings.apiPrefix);
  const { VAULTSVC_CONFIG_DIR: config } = io.host.env;
  const place = defined({ VAULTSVC_CONFIG_DIR: config }) as Record<string, string>;
  const { VAULTSVC_STATE: state = "", VAULTSVC_API_PREFIX: prefix = "" } = wanted;
  const env = { ...withoutSettings(io.host.env), ...wanted, ...place };
  await runProgram(
    io.host,
    ["init", "--profile", name, "--state", state, "--api-prefix", prefix, "--force", "--no-input"],
    env,
    "",
  );
  await importVaults(io.host, ready, { ...place, VAULTSVC_PROFILE: name });
}

function describe(
  { baseUrl, vaults }: ReadyDocument,
  readyFile: string,
  given: readonly string[],
  profile: string | undefined,
): string {
  return [
    `The sandbox listens at ${baseUrl}`,
    "",
    ...describeVaults(vaults),
    "",
    `The application, the credentials and the control token are in ${readyFile}`,
    profile === undefined
      ? `To use it: eval "$(${commandLine(["vault", "sandbox", "env", ...given])})"`
      : `To use it: vault status --profile ${profile}`,
    `To stop it: Ctrl-C, or ${commandLine(["vault", "sandbox", "stop", ...given])}`,
    "",
  ].join("\n");
}

async function stopped(interrupted: AbortSignal): Promise<void> {
  if (interrupted.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  interrupted.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}

/** Runs a program against a sandbox of its own, and ends as that program ended. */
export async function runExec({ io, settings }: Basics, options: ExecOptions): Promise<number> {
  const sandbox = await openPrivateSandbox(
    io.host,
    await sandboxSettings({ io, settings }, options),
  );
  const labels = sandbox.running.vaults.map(({ uuid, label }) => label ?? uuid);
  for (const line of [
    "This is a private sandbox: an emulated service, a state and a configuration.",
    `Vaults: ${labels.join(", ")}`,
    "Try: vault status; vault get $VAULT",
    "A tour of five minutes: vault help tour",
    `When ${options.command[0]} ends, the sandbox is gone.`,
  ])
    io.narrator.note(line);
  try {
    return (await io.host.runForeground({ command: options.command, env: sandbox.env })).exitCode;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall?.startsWith("spawn") !== true) throw error;
    const why = code === "ENOENT" ? "no such program" : code;
    await io.host.stderr.write(`vault: ${options.command[0]} cannot be started: ${why}\n`);
    return 127;
  } finally {
    await sandbox.close();
  }
}
