import { createHash } from "node:crypto";
import type { Pair } from "./answers.ts";

/**
 * Identifies a pair without revealing it: SHA-256 over lower-case uuid, encryptedData and payload, each in UTF-8 after its length
 * in bytes (32 bits, big-endian). 64 hexadecimal digits, the same on every machine.
 */
export function fingerprint(uuid: string, pair: Pair): string {
  const hash = createHash("sha256");
  for (const text of [uuid.toLowerCase(), pair.encryptedData, pair.payload]) {
    const bytes = Buffer.from(text, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}
