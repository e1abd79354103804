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
import type { ReadyDocument } from "../control/ready.ts";
import { writeReadyFile } from "../control/ready.ts";
import { listen } from "./server.ts";
import type { VaultInput } from "../model/state.ts";
import { defined } from "../../defined.ts";

export interface SandboxSettings {
  now(): number;
  /** 0 or nothing: a free one. */
  port?: number;
  /** In front of `/vault/…`; default `/vaultsvc/v1-2`. */
  prefix?: string;
  /** Before each answer of a vault endpoint. */
  latencyMs?: number;
  policy?: Partial<Policy>;
  /** The vaults of a new sandbox (`readSeed`); a data folder that is in use already keeps its own. */
  seed?: readonly VaultInput[];
  /** `--data`: keeps everything but faults, policy and the log of requests. */
  dataFolder?: string;
  readyFile?: string;
  faults?: readonly FaultRule[];
  /** Random ones without it, or those of the data folder. */
  application?: Application;
  /** The same uuids, credentials and tokens on every run. The control token is always random. */
  randomSeed?: string;
}

/** The service in this process, without a socket. */
export interface OpenSandbox {
  sandbox: Sandbox;
  faults: Faults;
  handle: Handler;
  controlToken: string;
  /** Lets the data folder go. */
  close(): void;
}

export interface RunningSandbox extends Omit<OpenSandbox, "close">, ReadyDocument {
  /** `baseUrl`, `application` and `vaults` as they were at the start. */
  ready: ReadyDocument;
  /** Ends every connection at once and lets the data folder go. */
  close(): Promise<void>;
}

/** @throws `invalid-input` for a bad seed or policy, `busy` or `state` for a data folder that cannot be used */
export function openSandbox(settings: SandboxSettings, afterReset = (): void => {}): OpenSandbox {
  const folder = settings.dataFolder === undefined ? undefined : openDataFolder(settings.dataFolder);
  try {
    return assemble(settings, folder, afterReset);
  } catch (error) {
    folder?.close();
    throw error;
  }
}

function assemble(settings: SandboxSettings, folder: DataFolder | undefined, afterReset: () => void): OpenSandbox {
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
  const handle = createHandler({ sandbox, faults, prefix, latencyMs: settings.latencyMs ?? 0, controlToken, afterReset });
  return { sandbox, faults, handle, controlToken, close: () => folder?.close() };
}

/**
 * Starts the sandbox on 127.0.0.1 and resolves once it listens and the ready file is written.
 * @throws what `openSandbox` throws, `usage` for a port that cannot be had, `state` for a ready file that cannot be written;
 * nothing runs then
 */
export async function startSandbox(settings: SandboxSettings): Promise<RunningSandbox> {
  // There is no reset before it listens.
  let writeReady = (): void => {};
  const open = openSandbox(settings, () => writeReady());
  try {
    const server = await listen(open.handle, open.sandbox.random, settings.port ?? 0);
    const document = (): ReadyDocument => ({
      baseUrl: `http://127.0.0.1:${server.port}`,
      application: open.sandbox.application,
      vaults: open.sandbox.vaults(),
    });
    const ready = document();
    writeReady = () => {
      if (settings.readyFile !== undefined) writeReadyFile(settings.readyFile, { ...document(), controlToken: open.controlToken });
    };
    const close = async () => {
      await server.close();
      open.close();
    };
    try {
      writeReady();
    } catch (error) {
      await close();
      throw error;
    }
    return { ...open, ...ready, ready, close };
  } catch (error) {
    open.close();
    throw error;
  }
}
