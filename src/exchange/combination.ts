import { createHash } from "node:crypto";
import type { Kind } from "../protocol/endpoints.ts";
import type { Device } from "../protocol/fields.ts";
import type { Credentials } from "./records.ts";

/** SHA-256, as 64 hexadecimal digits, over the length-prefixed parts: no two lists of parts give the same input. */
export function digest(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = Buffer.from(part, "utf8");
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest("hex");
}

/** Names what a start is accepted or refused for: pair, hashedPin, device and kind, of one vault. */
export function combinationOf(uuid: string, kind: Kind, credentials: Credentials, device?: Device): string {
  const { encryptedData, payload, hashedPin } = credentials;
  const machine = device === undefined ? [] : [device.browserType, device.browserVersion, device.osType, ...device.fonts];
  return digest([uuid.toLowerCase(), kind, encryptedData, payload, hashedPin ?? "", ...machine]);
}
