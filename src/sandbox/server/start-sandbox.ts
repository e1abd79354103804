import { defaults } from "../../protocol/limits.ts";
import type { Application } from "../../protocol/requests.ts";
import type { FaultRule } from "../faults/faults.ts";
import { Faults } from "../faults/faults.ts";
import type { Handler } from "./handler.ts";
import { createHandler } from "./handler.ts";
import { Sandbox } from "../model/model.ts";
import type { DataFolder } from "./persist.ts";
import { openDataFolder } from "./persist.ts";
import type { Policy } from "../model/policy.ts";
import { newToken, systemRandom } from "../seeds/random.ts";
import type { Serving } from "../control/control.ts";
import type { ReadyDocument, RunningDocument } from "../control/ready.ts";
import { removeReadyFile, writeReadyFile } from "../control/ready.ts";
import { listen } from "./server.ts";
import type { VaultInput } from "../seeds/seeds.ts";
import { defined } from "../../defined.ts";

export interface SandboxSettings {
  now(): number;
  /** Default 0: any free port. */
  port?: number;
  /** Path before `/vault/…`; default `/vaultsvc/v1-2`. */
  prefix?: string;
  /** Delay before each response of a vault endpoint, in milliseconds. */
  latencyMs?: number;
  policy?: Partial<Policy>;
  /** The vaults of a new sandbox (`parseSeed`); an existing data folder keeps its own. */
  seed?: readonly VaultInput[];
  /** `--data`: keeps everything except faults, policy and the request log. */
  dataFolder?: string;
  readyFile?: string;
  faults?: readonly FaultRule[];
  /** Called when a fault has taken effect on a call, before anything of the answer is sent. */
  onFault?: () => void;
  /** Default: that of the data folder, else a random one. */
  application?: Application;
  /** Makes uuids, credentials and tokens the same on every run, except the control token. */
  randomSeed?: string;
}

/** A sandbox in this process, without a socket. */
export interface OpenSandbox {
  sandbox: Sandbox;
  faults: Faults;
  handle: Handler;
  controlToken: string;
  /** Releases the data folder. */
  close(): void;
}

/** A sandbox with a socket; `vaults` are those at the start. */
export interface RunningSandbox extends Omit<OpenSandbox, "close">, ReadyDocument {
  /** Resolves when somebody has asked for its end (`vault sandbox stop`). */
  stopped: Promise<void>;
  /** Closes every connection at once, releases the data folder and removes the ready file. */
  close(): Promise<void>;
}

/**
 * Opens a sandbox without a socket.
 * @throws `invalid-input` for an invalid seed or policy, `busy` or `state` for a data folder that cannot be used
 */
export function openSandbox(settings: SandboxSettings, serving?: Serving): OpenSandbox {
  const folder =
    settings.dataFolder === undefined ? undefined : openDataFolder(settings.dataFolder);
  try {
    return assemble(settings, folder, serving);
  } catch (error) {
    folder?.close();
    throw error;
  }
}

function assemble(
  settings: SandboxSettings,
  folder: DataFolder | undefined,
  serving: Serving | undefined,
): OpenSandbox {
  const { policy, seed, application, randomSeed } = settings;
  const sandbox = new Sandbox({
    now: () => settings.now(),
    ...defined({ policy, seed, application, randomSeed, state: folder?.state }),
    ...(folder === undefined ? {} : { save: (state) => folder.save(state) }),
  });
  const faults = new Faults();
  faults.add(settings.faults ?? []);
  const controlToken = newToken(systemRandom);
  const prefix = (settings.prefix ?? defaults.apiPrefix).replace(/\/+$/, "");
  const { latencyMs = 0, onFault } = settings;
  const handle = createHandler({
    sandbox,
    faults,
    prefix,
    latencyMs,
    controlToken,
    ...defined({ serving, onFault }),
  });
  return { sandbox, faults, handle, controlToken, close: () => folder?.close() };
}

/**
 * Starts a sandbox on 127.0.0.1. Resolves once it listens and the ready file is written; if it throws, nothing is left running.
 * @throws what `openSandbox` throws, `usage` for a port that cannot be used, `state` for a ready file that cannot be written
 */
export async function startSandbox(settings: SandboxSettings): Promise<RunningSandbox> {
  const { readyFile, prefix: apiPrefix = defaults.apiPrefix } = settings;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  // Assigned below: no request comes before it listens.
  let port = 0;
  const document = (): ReadyDocument => ({
    baseUrl: `http://127.0.0.1:${port}`,
    application: open.sandbox.application,
    vaults: open.sandbox.vaults(),
  });
  const ready = (): RunningDocument => ({
    ...document(),
    apiPrefix,
    controlToken: open.controlToken,
  });
  const renewReadyFile = (): void => {
    if (readyFile !== undefined)
      writeReadyFile(readyFile, { ...document(), controlToken: open.controlToken });
  };
  const open = openSandbox(settings, { ready, renewReadyFile, stop });
  try {
    const server = await listen(open.handle, open.sandbox.random, settings.port ?? 0);
    port = server.port;
    const close = async () => {
      if (readyFile !== undefined) removeReadyFile(readyFile, open.controlToken);
      await server.close();
      open.close();
    };
    try {
      renewReadyFile();
    } catch (error) {
      await close();
      throw error;
    }
    return { ...open, ...document(), stopped, close };
  } catch (error) {
    open.close();
    throw error;
  }
}
