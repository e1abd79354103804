import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { VaultError } from "../errors.ts";
import { createFile, removeLeftovers, replaceWith } from "../files/durable-file.ts";
import { ensurePrivateDirectory, statIfThere } from "../files/private-directory.ts";
import type { ScryptCost } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";
import { onState } from "../files/state-error.ts";

/** A line of the key file: a key, or where it comes from. */
export type KeyEntry =
  | { source: "file"; id: string; material: Buffer }
  | { source: "passphrase"; id: string; cost: ScryptCost; salt: Buffer }
  /** In the keyring of the operating system, under its id. */
  | { source: "keyring"; id: string }
  /** Given with --state-key, and not stored. */
  | { source: "given"; id: string };

/** First word of a line, by source. */
const words = {
  file: "vaultsvc-key-1",
  passphrase: "vaultsvc-passphrase-1",
  keyring: "vaultsvc-keyring-1",
  given: "vaultsvc-given-1",
} as const satisfies Record<KeyEntry["source"], string>;

/**
 * The keys of a key file, the newest last, or null if there is no such file. It holds more than one while a rekey is under way,
 * or for states that a rekey skipped. Warns if others can read it.
 * @throws `state` if it cannot be read, is not a key file, or others can write it
 */
export function readKeyFile(path: string, warn: (message: string) => void): KeyEntry[] | null {
  return onState(path, () => {
    const stats = statIfThere(path);
    if (stats === null) return null;
    if (!stats.isFile()) throw notAKeyFile(path, "it is not a file");
    if ((stats.mode & 0o022) !== 0)
      throw notAKeyFile(path, "other users can write to it, and may have put their own key there");
    const entries = readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => parseLine(path, line));
    if ((stats.mode & 0o077) !== 0)
      warn(`other users can read the key file ${path}; to fix it: chmod 600 ${path}`);
    return entries;
  });
}

/**
 * Creates a key file, durably, and returns its entries, which may be those of a process that was faster. Call it only if nothing
 * is sealed yet.
 * @throws `state`
 */
export function createKeyFile(
  path: string,
  entry: KeyEntry,
  warn: (message: string) => void,
): KeyEntry[] {
  ensurePrivateDirectory(dirname(path));
  onState(path, () =>
    createFile(path, (_, descriptor) => writeFileSync(descriptor, linesOf([entry]))),
  );
  const entries = readKeyFile(path, warn);
  if (entries === null) throw notAKeyFile(path, "it was removed immediately");
  return entries;
}

/** Replaces a whole key file, durably. Call it only with all vaults and the configuration locked. */
export function replaceKeyFile(path: string, entries: readonly KeyEntry[]): void {
  ensurePrivateDirectory(dirname(path));
  onState(path, () => {
    removeLeftovers(path);
    replaceWith(path, (_, descriptor) => writeFileSync(descriptor, linesOf(entries)));
  });
}

const linesOf = (entries: readonly KeyEntry[]): string =>
  entries.map((entry) => `${format(entry)}\n`).join("");

function format(entry: KeyEntry): string {
  const start = `${words[entry.source]} ${entry.id}`;
  if (entry.source === "file") return `${start} ${entry.material.toString("base64")}`;
  if (entry.source !== "passphrase") return start;
  const { log2N, r, p } = entry.cost;
  return `${start} scrypt:${log2N}:${r}:${p} ${entry.salt.toString("base64")}`;
}

/** A line of the key file. Throws `state`. */
export function parseLine(path: string, line: string): KeyEntry {
  const [word, id = "", ...rest] = line.split(" ");
  const source = (Object.keys(words) as KeyEntry["source"][]).find((each) => words[each] === word);
  if (source === undefined) throw notAKeyFile(path, `its first word is not ${words.file}`);
  if (source === "file") return parseMaterial(path, id, rest);
  if (!/^[0-9a-f]{16}$/.test(id)) throw notAKeyFile(path, "it has no key id");
  if (source === "passphrase") return parsePassphrase(path, id, rest);
  if (rest.length > 0) throw notAKeyFile(path, "a line is too long");
  return { source, id };
}

function parseMaterial(path: string, id: string, [encoded = "", ...more]: string[]): KeyEntry {
  if (more.length > 0) throw notAKeyFile(path, "a line is too long");
  if (!/^[A-Za-z0-9+/]{43}=$/.test(encoded))
    throw notAKeyFile(path, "it has no 32 bytes in base64");
  const material = Buffer.from(encoded, "base64");
  if (id !== deriveKey(material).id) throw notAKeyFile(path, "its key does not match its key id");
  return { source: "file", id, material };
}

function parsePassphrase(
  path: string,
  id: string,
  [costs = "", encoded = "", ...more]: string[],
): KeyEntry {
  const [, log2N, r, p] = /^scrypt:(\d\d):(\d{1,2}):(\d)$/.exec(costs) ?? [];
  const salt = Buffer.from(encoded, "base64");
  const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  // A manipulated file must not exhaust the memory.
  const affordable =
    cost.log2N >= 14 &&
    cost.log2N <= 20 &&
    cost.r >= 1 &&
    cost.r <= 16 &&
    cost.p >= 1 &&
    cost.p <= 4;
  if (!affordable || salt.length < 16 || more.length > 0)
    throw notAKeyFile(path, "its passphrase line is garbled");
  return { source: "passphrase", id, cost, salt };
}

function notAKeyFile(path: string, why: string): VaultError {
  return new VaultError("state", `the key file ${path} cannot be used: ${why}`, {
    hint: "restore the key file from its backup; it was not changed",
  });
}
