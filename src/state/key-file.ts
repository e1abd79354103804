import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { VaultError } from "../errors.ts";
import { createWhole } from "./new-file.ts";
import { ensurePrivateDirectory, statIfThere } from "./private-directory.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";
import { onState } from "./state-error.ts";

/** One line: format, key id, 32 bytes in base64. */
const format = "vaultsvc-key-1";

/**
 * The key of a key file, or null if there is no such file. A file that others can read is used, with a warning. Raises
 * `state` if it cannot be read or is not a key file.
 */
export function readKeyFile(path: string, warn: (message: string) => void): SealingKey | null {
  return onState(path, () => {
    const stats = statIfThere(path);
    if (stats === null) return null;
    const key = parse(path, readFileSync(path, "utf8"));
    if ((stats.mode & 0o077) !== 0) warn(`other users can read the key file ${path}: chmod 600 ${path}`);
    return key;
  });
}

/**
 * Makes a key file, durably, and returns its key: that of another process, where it was faster. To be called only
 * where nothing is sealed yet.
 */
export function createKeyFile(path: string, warn: (message: string) => void): SealingKey {
  ensurePrivateDirectory(dirname(path));
  onState(path, () =>
    createWhole(path, (temporary) => {
      const material = randomBytes(32);
      const file = openSync(temporary, "w", 0o600);
      try {
        writeSync(file, `${format} ${deriveKey(material).id} ${material.toString("base64")}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    }),
  );
  const key = readKeyFile(path, warn);
  if (key === null) throw notAKeyFile(path, "it was removed at once");
  return key;
}

function parse(path: string, text: string): SealingKey {
  const [found, id, encoded = "", ...more] = text.trimEnd().split(" ");
  if (found !== format || more.length > 0) throw notAKeyFile(path, `its first word is not ${format}`);
  if (!/^[A-Za-z0-9+/]{43}=$/.test(encoded)) throw notAKeyFile(path, "it does not hold 32 bytes in base64");
  const key = deriveKey(Buffer.from(encoded, "base64"));
  if (id !== key.id) throw notAKeyFile(path, "its key and the id of its key do not fit");
  return key;
}

function notAKeyFile(path: string, why: string): VaultError {
  return new VaultError("state", `the key file ${path} cannot be used: ${why}`, {
    hint: "put the right key file there from its backup; it was not changed",
  });
}
