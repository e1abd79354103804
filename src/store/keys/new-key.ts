import { randomBytes } from "node:crypto";
import { VaultError } from "../../errors.ts";
import type { KeyEntry } from "../../secrets/key-file.ts";
import type { KeyAccess } from "../../secrets/key-source.ts";
import { parseGivenKey } from "../../secrets/key-source.ts";
import { newSalt, stretch } from "../../secrets/passphrase.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import { deriveKey } from "../../secrets/sealing.ts";

/** What a new key is to be; a passphrase that is not given is asked for. */
export type NewKey =
  { source: "file" } | { source: "keyring" } | { source: "passphrase"; passphrase?: string } | { source: "given"; key: string };

/** Makes a key, and the line that the key file is to hold of it; one of the keyring is there when this resolves. */
export async function makeKey(wanted: NewKey, access: KeyAccess | undefined): Promise<{ key: SealingKey; entry: KeyEntry }> {
  if (wanted.source === "given") {
    const key = parseGivenKey(wanted.key, "--new-state-key");
    return { key, entry: { source: "given", id: key.id } };
  }
  if (wanted.source === "passphrase") {
    const passphrase = wanted.passphrase ?? (await access?.passphrase(null));
    if (passphrase === undefined) throw new VaultError("usage", "a passphrase is missing", { hint: "VAULTSVC_STATE_PASSPHRASE" });
    const salt = newSalt();
    const key = await stretch(passphrase, salt);
    return { key, entry: { source: "passphrase", id: key.id, ...salt } };
  }
  const material = randomBytes(32);
  const key = deriveKey(material);
  if (wanted.source === "file") return { key, entry: { source: "file", id: key.id, material } };
  await (await access?.keyring())?.set(key.id, material.toString("base64"));
  return { key, entry: { source: "keyring", id: key.id } };
}
