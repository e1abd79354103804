import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../files/durable-file.ts";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import type { KnownVault } from "../sqlite/known-vaults.ts";
import { parseAddress, withoutRole } from "./address.ts";

/** The folder in the state directory of this machine, with a file for each address; `shown` is the address as in messages. */
const pathOf = (directory: string, shown: string): string => {
  const name = createHash("sha256").update(withoutRole(shown)).digest("hex");
  return join(directory, "shared", `${name}.json`);
};

/** Keeps the vaults that a shared state lists, for completion on this machine: where that fails, it completes what it knew before. */
export function noteVaults(directory: string, shown: string, vaults: readonly KnownVault[]): void {
  const path = pathOf(directory, shown);
  const text = JSON.stringify(vaults);
  try {
    if (existsSync(path) && readFileSync(path, "utf8") === text) return;
    ensurePrivateDirectory(join(directory, "shared"));
    replaceFile(path, text);
  } catch {
    // No command needs it.
  }
}

/**
 * The vaults of a shared state that this machine has seen, for completion: no connection is made. Changes nothing.
 * @throws `usage` for an address that cannot be used; what the file system or `JSON.parse` throws
 */
export function readKnownShared(
  directory: string,
  location: string,
  env: Readonly<Record<string, string | undefined>>,
): KnownVault[] {
  const { shown } = parseAddress(location, env);
  const path = pathOf(directory, shown);
  // What others can write is not believed.
  if (!existsSync(path) || (statSync(join(directory, "shared")).mode & 0o022) !== 0) return [];
  const known = JSON.parse(readFileSync(path, "utf8")) as KnownVault[];
  return known.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
}

/** Labels come first. */
const orderOf = ({ label, uuid }: KnownVault): string =>
  label === null ? `2 ${uuid}` : `1 ${label}`;
