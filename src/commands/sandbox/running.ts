import { existsSync } from "node:fs";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { ControlClient } from "../../sandbox/control/client.ts";
import { connectControl } from "../../sandbox/control/client.ts";
import type { RunningDocument } from "../../sandbox/control/ready.ts";

interface Running {
  client: ControlClient;
  readyFile: string;
  ready: RunningDocument;
}

type Chosen = { readyFile?: string | undefined };

/** Where the ready file is, unless the command line says otherwise: one sandbox a user is the ordinary case. */
export const readyFileOf = (app: Pick<App, "sandboxFile">, options: Chosen): string =>
  options.readyFile ?? app.sandboxFile();

/** The sandbox of a ready file, or null where none runs (any more). */
export async function findRunning(readyFile: string): Promise<Running | null> {
  if (!existsSync(readyFile)) return null;
  const client = connectControl(readyFile);
  try {
    return { client, readyFile, ready: await client.ready() };
  } catch (error) {
    // Nothing listens there, what has the port now is another sandbox, or the file is not a ready file.
    if (error instanceof VaultError && ["network", "unauthorized", "usage"].includes(error.code))
      return null;
    throw error;
  }
}

/** @throws `network` where none runs */
export async function theRunning(app: Pick<App, "sandboxFile">, options: Chosen): Promise<Running> {
  const running = await findRunning(readyFileOf(app, options));
  if (running !== null) return running;
  throw new VaultError("network", "no sandbox is running", {
    hint: "vault sandbox start",
    retry: "safe",
  });
}

/** A line per vault. */
export const describeVaults = (vaults: RunningDocument["vaults"]): string[] =>
  vaults.map(({ uuid, kind, label }) => `  ${uuid}  ${kind.padEnd(19)}  ${label}`);
