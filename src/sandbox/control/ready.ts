import fs from "node:fs";
import { VaultError } from "../../errors.ts";
import type { Application } from "../../protocol/requests.ts";
import { removeLeftovers, replaceFile } from "../../files/durable-file.ts";
import type { KnownVault } from "../model/vaults.ts";
import { command } from "../../way.ts";

/** Document that `vault sandbox start` prints once it listens. */
export interface ReadyDocument {
  baseUrl: string;
  application: Application;
  vaults: KnownVault[];
}

/** Contents of the ready file, which only its owner may read: it has the token for the control routes. */
export interface ReadyFile extends ReadyDocument {
  controlToken: string;
}

/** A running sandbox as the control routes describe it: `vaults` have the credentials that are valid now. */
export interface RunningDocument extends ReadyFile {
  apiPrefix: string;
}

/**
 * Writes the ready file atomically, with mode 0600.
 * @throws `state` if it cannot be written
 */
export function writeReadyFile(file: string, ready: ReadyFile): void {
  try {
    removeLeftovers(file);
    replaceFile(file, `${JSON.stringify(ready, null, 2)}\n`);
  } catch (cause) {
    throw new VaultError(
      "state",
      `--ready-file ${file}: cannot be written (${(cause as NodeJS.ErrnoException).code})`,
      { cause },
    );
  }
}

/** Removes the ready file of a sandbox that stops, unless another one has written its own since. */
export function removeReadyFile(file: string, controlToken: string): void {
  try {
    if (readReadyFile(file).controlToken === controlToken) fs.rmSync(file);
  } catch {
    // It is gone, or was never ours.
  }
}

/**
 * Reads what is needed to reach a running sandbox.
 * @throws `usage` if the file is missing or not a ready file
 */
export function readReadyFile(file: string): Pick<ReadyFile, "baseUrl" | "controlToken"> {
  const next = [command`vault sandbox start --ready-file ${file}`];
  let given: Partial<ReadyFile> | null;
  try {
    given = JSON.parse(fs.readFileSync(file, "utf8")) as Partial<ReadyFile> | null;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "no such file" : `cannot be read (${code ?? "not JSON"})`;
    throw new VaultError("usage", `--ready-file ${file}: ${why}`, { next, cause });
  }
  const { baseUrl, controlToken } = given ?? {};
  // The token is sent to this machine only.
  if (
    typeof baseUrl !== "string" ||
    !/^http:\/\/127\.0\.0\.1:\d+$/.test(baseUrl) ||
    typeof controlToken !== "string"
  ) {
    throw new VaultError("usage", `--ready-file ${file}: is not the ready file of a sandbox`, {
      next,
    });
  }
  return { baseUrl, controlToken };
}
