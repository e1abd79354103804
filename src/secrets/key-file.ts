import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { VaultError } from "../errors.ts";
import { createFile } from "../files/durable-file.ts";
import {
  checkOwner,
  checkWriters,
  ensurePrivateDirectory,
  fileIfThere,
} from "../files/private-directory.ts";
import { onState, unusable } from "../files/state-error.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";

/** The file of the key with this id, in the folder of the key files. */
export const keyFileOf = (folder: string, id: string): string => join(folder, `${id}.key`);

/** Whose key files they are: another user's are refused, and what others can read draws a warning. */
export interface KeyOwner {
  uid?: number | undefined;
  warn: (message: string) => void;
}

/**
 * The key in a file; null if there is none.
 * @throws `state` if it cannot be read, is no key, or others can write it
 */
export function readKeyFile(path: string, owner: KeyOwner): SealingKey | null {
  const text = readKeyText(path, owner);
  if (text === null) return null;
  const material = parseKey(text);
  if (material === null) throw notAKeyFile(path, "it does not contain 32 bytes in base64");
  return deriveKey(material);
}

/** As `readKeyFile`, the text of the file. */
export function readKeyText(path: string, { uid, warn }: KeyOwner): string | null {
  checkOwner(path, uid, "the key file");
  const stats = fileIfThere(path, "the key file");
  if (stats === null) return null;
  checkWriters(path, stats, "the key file");
  return onState(path, () => {
    const text = readFileSync(path, "utf8");
    if ((stats.mode & 0o077) !== 0)
      warn(`other users can read the key file ${path}; to fix it: chmod 600 ${path}`);
    return text;
  });
}

/** The 32 bytes of a key; null if it is none. A file of version 0.2.0 has the id in front, and its newest key in the last line. */
export function parseKey(text: string): Buffer | null {
  const line = text.trim().split("\n").at(-1) ?? "";
  const key = line.replace(/^vaultsvc-key-1 [0-9a-f]{16} /, "").trim();
  if (/^[0-9a-fA-F]{64}$/.test(key)) return Buffer.from(key, "hex");
  if (/^[A-Za-z0-9+/]{43}=$/.test(key)) return Buffer.from(key, "base64");
  return null;
}

/** Makes a key and its file, which is durable before this returns. Call it only if nothing is sealed, or to seal all of it again. */
export function makeKeyFile(folder: string): SealingKey {
  const material = randomBytes(32);
  const key = deriveKey(material);
  writeKeyFile(keyFileOf(folder, key.id), material);
  return key;
}

/** Writes a key file, durably, unless it is there. */
export function writeKeyFile(path: string, material: Buffer): void {
  ensurePrivateDirectory(dirname(path));
  onState(path, () =>
    createFile(path, (draft) => writeFileSync(draft, `${material.toString("base64")}\n`)),
  );
}

export function notAKeyFile(path: string, why: string): VaultError {
  const hint = "restore the key file from its backup; it was not changed";
  return unusable(path, why, { hint }, "the key file");
}
