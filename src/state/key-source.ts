import { VaultError } from "../errors.ts";
import type { SealingKey } from "./sealing.ts";
import { deriveKey } from "./sealing.ts";

/** Where the key comes from that seals secrets at rest. */
export type KeySource =
  /** Made on first use. */
  | { type: "file"; path: string }
  /** --state-key, VAULTSVC_STATE_KEY. */
  | { type: "given"; key: string };

/** Raises `invalid-input` for anything but 32 bytes as base64 or hexadecimal digits; never shows the value. */
export function parseGivenKey(text: string): SealingKey {
  const key = text.trim();
  if (/^[0-9a-fA-F]{64}$/.test(key)) return deriveKey(Buffer.from(key, "hex"));
  if (/^[A-Za-z0-9+/]{43}=$/.test(key)) return deriveKey(Buffer.from(key, "base64"));
  throw new VaultError("invalid-input", "--state-key (VAULTSVC_STATE_KEY): must be 32 bytes, as base64 or as 64 hexadecimal digits", {
    hint: "make one with: openssl rand -base64 32",
  });
}
