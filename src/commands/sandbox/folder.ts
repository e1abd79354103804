import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../app.ts";
import { eachOf, vaultsAtATime } from "../../at-a-time.ts";
import { isLabel } from "../../cli/values.ts";
import { defined } from "../../defined.ts";
import { bareCredentials } from "../../exchange/recovery.ts";
import type { OpenState } from "../../parts/state.ts";
import type { RunningDocument } from "../../sandbox/control.ts";
import { startSandbox, type RunningSandbox, type SandboxSettings } from "../../sandbox/server.ts";
import { serviceName } from "../../settings/settings.ts";
import { shellQuoted } from "../../way.ts";

type Ready = Omit<RunningDocument, "controlToken">;

/** Variables of the program, with a state and a configuration of their own in `folder`. */
export const settingsFor = (ready: Ready, folder: string) => ({
  VAULTSVC_BASE_URL: ready.baseUrl,
  VAULTSVC_API_PREFIX: ready.apiPrefix,
  VAULTSVC_APP_UUID: ready.application.uuid,
  VAULTSVC_API_KEY: ready.application.apiKey,
  VAULTSVC_STATE: join(folder, "state"),
  VAULTSVC_CONFIG_DIR: join(folder, "config"),
});

/** Imports the vaults of a sandbox, with their devices, as far as the state does not know them. */
export async function importVaults(
  { io }: App,
  { state }: OpenState,
  { vaults, ...ready }: Ready,
): Promise<void> {
  const service = serviceName({ ...ready, insecureHttp: false });
  const known = (await state.known(service)).map(({ uuid }) => uuid);
  // Several vaults of a seed may have one label, or none, and then the kind stands for it. In a state, the first one has it.
  const labels = vaults.map(({ label }) => label);
  const add = async ([at, vault]: readonly [number, Ready["vaults"][number]]): Promise<void> => {
    if (known.includes(vault.uuid.toLowerCase())) return;
    const session = await state.lock(service, vault.uuid, io.waiting);
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
  };
  await eachOf(vaults.entries(), vaultsAtATime, add);
}

async function prepareFolder(app: App, ready: Ready, folder: string): Promise<void> {
  const settings = { state: join(folder, "state") };
  const profile = { name: "default", exists: false, settings };
  const opened = await app.state.openAlone(profile, join(folder, "config"));
  await importVaults(app, opened, ready);
}

/** The folder of what is made for a sandbox: that of `box.json` is `box`, that of `box` is `box.d`. */
export const folderBeside = (readyFile: string): string =>
  readyFile.endsWith(".json") ? readyFile.slice(0, -".json".length) : `${readyFile}.d`;

/**
 * Returns a folder with a state in which the vaults of a running sandbox are imported: one per run of it, beside its ready file, which
 * takes the place of that of another run.
 */
export async function preparedFolder(
  app: App,
  ready: RunningDocument,
  readyFile: string,
): Promise<string> {
  const all = folderBeside(readyFile);
  const digest = createHash("sha256").update(ready.controlToken).digest("hex");
  const name = `env-${digest.slice(0, 12)}`;
  mkdirSync(join(all, name), { recursive: true, mode: 0o700 });
  for (const other of readdirSync(all))
    if (other.startsWith("env-") && other !== name)
      rmSync(join(all, other), { recursive: true, force: true });
  await prepareFolder(app, ready, join(all, name));
  return join(all, name);
}

/**
 * Starts a sandbox in this process for one program, in a temporary folder with a state in which its vaults are imported, a configuration
 * and a command `vault` that is this program. `env` is the caller's environment with that folder's settings in place of its own; `close`
 * stops the sandbox and removes the folder.
 * @throws what `startSandbox` throws
 */
export async function openPrivateSandbox(app: App, settings: SandboxSettings) {
  const { env, program } = app.io.host;
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
    await prepareFolder(app, running, folder);
    // The vault that the examples of the help are about: an offline credit card, or else the first one.
    const { vaults } = running;
    const example = vaults.find(({ kind }) => kind === "credit-card/offline") ?? vaults[0];
    // Without the settings of this program and of PostgreSQL: a private sandbox must not reach a real state.
    const isKept = (name: string): boolean => !/^(VAULTSVC_|PG)/.test(name);
    const rest = Object.fromEntries(Object.entries(defined(env)).filter(([name]) => isKept(name)));
    const own = {
      ...settingsFor(running, folder),
      ...(example && { VAULT: example.uuid }),
      PATH: [commandsIn(folder, program), rest["PATH"]].filter(Boolean).join(":"),
    };
    return { folder, running, env: { ...rest, ...own }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A folder with the commands `vault` and `vaultsvc`: this very program on this very runtime, whatever is installed. */
function commandsIn(folder: string, program: readonly string[]): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const words = program.map(shellQuoted).join(" ");
  for (const name of ["vault", "vaultsvc"])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o700 });
  return bin;
}
