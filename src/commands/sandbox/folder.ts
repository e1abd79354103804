import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host } from "../../host.ts";
import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import type { ReadyDocument, RunningDocument } from "../../sandbox/control/ready.ts";
import type { RunningSandbox, SandboxSettings } from "../../sandbox/server/start-sandbox.ts";
import { startSandbox } from "../../sandbox/server/start-sandbox.ts";
import { shellQuoted } from "../../way.ts";

/** Environment of a program that uses a sandbox. */
type Environment = Record<string, string>;

/** Variables of the program, with a state and a configuration of their own in `folder`. */
export function settingsFor(ready: ReadyDocument, folder: string, apiPrefix?: string): Environment {
  return defined({
    VAULTSVC_BASE_URL: ready.baseUrl,
    VAULTSVC_API_PREFIX: apiPrefix,
    VAULTSVC_APP_UUID: ready.application.uuid,
    VAULTSVC_API_KEY: ready.application.apiKey,
    VAULTSVC_STATE: join(folder, "state"),
    VAULTSVC_CONFIG_DIR: join(folder, "config"),
  });
}

/** The caller's environment without the settings of this program and of PostgreSQL: a private sandbox must not reach a real state. */
export function withoutSettings(env: Readonly<Record<string, string | undefined>>): Environment {
  const kept = Object.entries(env).filter(
    ([name, value]) => value !== undefined && !/^(VAULTSVC_|PG)/.test(name),
  );
  return Object.fromEntries(kept) as Environment;
}

/**
 * Runs this program in a process of its own, as a user would.
 * @throws `internal` with what it says if it fails, `interrupted` where a Ctrl-C on the terminal has reached it, too
 */
export async function runProgram(
  host: Host,
  args: readonly string[],
  env: Environment,
  input: string,
): Promise<void> {
  const [runtime = "", ...entry] = host.program;
  const child = spawn(runtime, [...entry, ...args], { env, stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  if (code === 130 || host.interrupted.aborted)
    throw new VaultError("interrupted", "interrupted: the sandbox was not prepared", {
      retry: "safe",
    });
  if (code !== 0)
    throw new VaultError(
      "internal",
      `the sandbox could not be prepared: vault ${args[0]} failed: ${errors.trim()}`,
    );
}

/** Imports every vault of a sandbox, with its device, into the state that `env` names. */
export async function importVaults(
  host: Host,
  { vaults }: ReadyDocument,
  env: Environment,
): Promise<void> {
  // Several vaults of a seed may have one label, or none, and then the kind stands for it. In a state, the first one has it.
  const isFirst = (label: string, index: number): boolean =>
    vaults.findIndex((other) => other.label === label) === index;
  const known = vaults.map((vault, index) => ({
    ...vault,
    label: isFirst(vault.label, index) ? vault.label : null,
  }));
  const lines = known.map((vault) => `${JSON.stringify(vault)}\n`).join("");
  await runProgram(
    host,
    ["import", "--file", "-", "--json"],
    { ...withoutSettings(host.env), ...env },
    lines,
  );
}

/**
 * Returns a folder with a state in which the vaults of a running sandbox are imported: one per run of it, beside its ready file, made
 * at the first call and removed when another run has taken its place.
 */
export async function preparedFolder(
  host: Host,
  ready: RunningDocument,
  readyFile: string,
): Promise<string> {
  const all = readyFile.replace(/\.json$/, "");
  const name = `env-${createHash("sha256").update(ready.controlToken).digest("hex").slice(0, 12)}`;
  const folder = join(all, name);
  const done = join(folder, "imported");
  if (existsSync(done)) return folder;
  mkdirSync(all, { recursive: true, mode: 0o700 });
  for (const old of readdirSync(all))
    if (old.startsWith("env-")) rmSync(join(all, old), { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  await importVaults(host, ready, settingsFor(ready, folder, ready.apiPrefix));
  writeFileSync(done, "");
  return folder;
}

/** A sandbox of this process, in a temporary folder with a state, a configuration and a command `vault` that is this program. */
export interface PrivateSandbox {
  folder: string;
  running: RunningSandbox;
  /** The caller's environment, with that folder's settings in place of its own. */
  env: Environment;
  /** Stops the sandbox and removes the folder. */
  close(): Promise<void>;
}

/**
 * Starts a sandbox for one program; the vaults are imported already.
 * @throws what `startSandbox` throws
 */
export async function openPrivateSandbox(
  host: Host,
  settings: SandboxSettings,
): Promise<PrivateSandbox> {
  const folder = mkdtempSync(join(tmpdir(), "vault-sandbox-"));
  let running: RunningSandbox | undefined;
  const stop = async (): Promise<void> => await running?.close();
  const close = async (): Promise<void> => {
    await stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    // Where `vault sandbox fault` and the like look for it, run with this state.
    running = await startSandbox({ ...settings, readyFile: join(folder, "state-sandbox.json") });
    // The state stays: the program may go on without the service.
    void running.stopped.then(stop);
    const ours = settingsFor(running, folder, settings.prefix);
    await importVaults(host, running, ours);
    const rest = withoutSettings(host.env);
    const PATH = [commandsIn(folder, host.program), rest["PATH"]].filter(Boolean).join(":");
    return {
      folder,
      running,
      env: { ...rest, ...ours, ...exampleVault(running), PATH },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The vault that the examples of the help are about: an offline credit card, or else the first one. */
const exampleVault = ({ vaults }: ReadyDocument): Environment =>
  defined({
    VAULT: (vaults.find(({ kind }) => kind === "credit-card/offline") ?? vaults[0])?.uuid,
  });

/** A folder with the commands `vault` and `vaultsvc`: this very program on this very runtime, whatever is installed. */
function commandsIn(folder: string, program: readonly string[]): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const words = program.map(shellQuoted).join(" ");
  for (const name of ["vault", "vaultsvc"])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o700 });
  return bin;
}
