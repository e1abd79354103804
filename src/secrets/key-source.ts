import { VaultError } from "../errors.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";

const keySources = ["file", "passphrase", "keyring"] as const;

/** Where the key comes from that seals secrets at rest. */
export type KeySource =
  /**
   * By the key file, which is made on first use. Its lines tell where their keys come from; `demand` says what the
   * configuration wants it to be, which decides for a new one, and is an error if it is another.
   */
  | { type: "file"; path: string; demand?: (typeof keySources)[number]; access?: KeyAccess }
  /** --state-key, VAULTSVC_STATE_KEY. `path` is the key file, for what a rekey has left under another key. */
  | { type: "given"; key: string; path?: string; access?: KeyAccess };

/** What keys need that are not in a file. */
export interface KeyAccess {
  /**
   * The passphrase of the key of this id; null: of a new key, to be asked for twice.
   * @throws `usage` where nobody can be asked
   */
  passphrase(id: string | null): Promise<string>;
  /** @throws `state` where the operating system has none that answers */
  keyring(): Promise<OsKeyring>;
  /** The id of the key of a value that the configuration holds, sealed by way of this key file; null if there is none. */
  sealedInConfiguration(): Promise<string | null>;
}

/** The keyring of the operating system: 32 bytes in base64 under the id of their key. Its methods throw `state`. */
export interface OsKeyring {
  get(id: string): Promise<string | null>;
  set(id: string, material: string): Promise<void>;
  remove(id: string): Promise<void>;
}

/** @throws `invalid-input` for anything but 32 bytes as base64 or hexadecimal digits; never shows the value */
export function parseGivenKey(text: string, flag = "--state-key (VAULTSVC_STATE_KEY)"): SealingKey {
  const key = text.trim();
  if (/^[0-9a-fA-F]{64}$/.test(key)) return deriveKey(Buffer.from(key, "hex"));
  if (/^[A-Za-z0-9+/]{43}=$/.test(key)) return deriveKey(Buffer.from(key, "base64"));
  throw new VaultError("invalid-input", `${flag}: must be 32 bytes, as base64 or as 64 hexadecimal digits`, {
    hint: "make one with: openssl rand -base64 32",
  });
}
