import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { parseDuration } from "../../settings/duration.ts";
import type { App } from "../../app.ts";
import type { Policy } from "../../sandbox/model/policy.ts";
import { readPolicy } from "../../sandbox/model/policy.ts";
import { readSeed } from "../../sandbox/seeds/seeds.ts";
import type { RunningSandbox } from "../../sandbox/server/start-sandbox.ts";
import { startSandbox } from "../../sandbox/server/start-sandbox.ts";
import type { StartOptions } from "./descriptor.ts";
import { defined } from "../../defined.ts";

type Needs = Pick<App, "flags" | "host" | "output" | "settings" | "stateDirectory">;

/** Where the ready file is, unless the command line says otherwise: one sandbox a user is the ordinary case. */
export const defaultReadyFile = (app: Pick<App, "stateDirectory">): string => `${app.stateDirectory()}-sandbox.json`;

/** On a new machine there is none yet. What goes wrong with it is told where the file is written. */
function makeFolderOf(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch {
    // The file cannot be written either.
  }
}

/** Serves until the first SIGINT or SIGTERM. */
export async function runStart(app: Needs, options: StartOptions): Promise<number> {
  // From here on a signal stops the sandbox in order.
  const { interrupted } = app.host;
  const readyFile = options.readyFile ?? defaultReadyFile(app);
  if (options.readyFile === undefined) makeFolderOf(readyFile);
  const sandbox = await startSandbox(
    defined({
      now: () => app.host.now(),
      port: options.port ?? 0,
      prefix: app.settings.apiPrefix,
      latencyMs: options.latency === undefined ? 0 : parseDuration(options.latency, "--latency"),
      policy: policyOf(app, options),
      seed: readSeed(options.seed ?? "demo"),
      dataFolder: options.data,
      readyFile,
    }),
  );
  try {
    await app.output.print(sandbox.ready, () => describe(sandbox, readyFile));
    await stopped(interrupted);
    return 0;
  } finally {
    await sandbox.close();
  }
}

function policyOf(app: Pick<App, "flags" | "settings">, options: StartOptions): Partial<Policy> {
  return {
    ...(options.policy === undefined ? {} : readPolicy(options.policy)),
    ...defined({
      tokenTtlMs: options.tokenTtl === undefined ? undefined : parseDuration(options.tokenTtl, "--token-ttl"),
      rate: app.flags.rate === undefined ? undefined : app.settings.rate,
    }),
  };
}

function describe(sandbox: RunningSandbox, readyFile: string): string {
  const vaults = sandbox.vaults.map(({ uuid, kind, label }) => `  ${uuid}  ${kind.padEnd(19)}  ${label ?? ""}`);
  return [
    `The sandbox listens at ${sandbox.baseUrl}`,
    "",
    ...vaults,
    "",
    `Application, credentials and the control token are in ${readyFile}`,
    "Ctrl-C stops it.",
    "",
  ].join("\n");
}

async function stopped(interrupted: AbortSignal): Promise<void> {
  if (interrupted.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  interrupted.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
