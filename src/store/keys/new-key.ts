import { randomBytes } from "node:crypto";
import { VaultError } from "../../errors.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import type { KeyAccess } from "../../secrets/key-source.ts";
import { keyMaterial, parseGivenKey } from "../../secrets/key-source.ts";
import { newSalt, deriveFromPassphrase } from "../../secrets/passphrase.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { deriveKey } from "../../secrets/sealing.ts";

/** The kind of key to create, or one that exists elsewhere; the user is asked for a passphrase that is not given. */
export type NewKey =
  | { source: "file"; key?: string }
  | { source: "keyring" }
  | { source: "passphrase"; passphrase?: string }
  | { source: "given"; key: string };

/**
 * Creates a key and its entry for the key file; stores a key of the keyring there.
 * @throws `usage` without a passphrase, `invalid-input` if the given key is not a key
 */
export async function createKey(
  wanted: NewKey,
  access: KeyAccess | undefined,
): Promise<{ key: SealingKey; entry: KeyEntry }> {
  if (wanted.source === "given") {
    const key = parseGivenKey(wanted.key, "--new-state-key");
    return { key, entry: { source: "given", id: key.id } };
  }
  if (wanted.source === "passphrase") {
    const passphrase = wanted.passphrase ?? (await access?.passphrase(null));
    if (passphrase === undefined)
      throw new VaultError("usage", "a passphrase is missing", {
        hint: "set VAULTSVC_STATE_PASSPHRASE",
      });
    const salt = newSalt();
    const key = await deriveFromPassphrase(passphrase, salt);
    return { key, entry: { source: "passphrase", id: key.id, ...salt } };
  }
  const material =
    wanted.source === "file" && wanted.key !== undefined
      ? keyMaterial(wanted.key)
      : randomBytes(32);
  const key = deriveKey(material);
  if (wanted.source === "file") return { key, entry: { source: "file", id: key.id, material } };
  await (await access?.keyring())?.set(key.id, material.toString("base64"));
  return { key, entry: { source: "keyring", id: key.id } };
}
