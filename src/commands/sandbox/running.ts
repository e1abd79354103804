import { existsSync } from "node:fs";
import type { SettingsPart } from "../../parts/settings.ts";
import { VaultError } from "../../errors.ts";
import type { ControlClient } from "../../sandbox/control/client.ts";
import { connectControl } from "../../sandbox/control/client.ts";
import type { RunningDocument } from "../../sandbox/control/ready.ts";
import { command } from "../../way.ts";

interface Running {
  client: ControlClient;
  readyFile: string;
  ready: RunningDocument;
}

type Chosen = { readyFile?: string | undefined };

/** Where the ready file is, unless the command line says otherwise: one sandbox a user is the ordinary case. */
export const readyFileOf = (settings: SettingsPart, options: Chosen): string =>
  options.readyFile ?? settings.sandboxFile();

/** What a command about the same sandbox needs. */
export const asGiven = ({ readyFile }: Chosen): string[] =>
  readyFile === undefined ? [] : ["--ready-file", readyFile];

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
export async function theRunning(settings: SettingsPart, options: Chosen): Promise<Running> {
  const readyFile = readyFileOf(settings, options);
  const running = await findRunning(readyFile);
  if (running !== null) return running;
  throw new VaultError("network", `no sandbox is running (ready file: ${readyFile})`, {
    next: [command`vault sandbox start ${asGiven(options)}`],
    retry: "safe",
  });
}

/** A line per vault. */
export const describeVaults = (vaults: RunningDocument["vaults"]): string[] =>
  vaults.map(({ uuid, kind, label }) => `  ${uuid}  ${kind.padEnd(19)}  ${label}`);
