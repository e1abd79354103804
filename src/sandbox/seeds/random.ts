import crypto from "node:crypto";

/** Where uuids, credentials and tokens come from. */
export interface Random {
  bytes(size: number): Buffer;
}

export const systemRandom: Random = { bytes: (size) => crypto.randomBytes(size) };

/**
 * Values that are the same for the same seed and number of draws. Not secret: for reproducible tests only.
 * The counter is the caller's, so that it can be kept: a restart must not hand out the same values again.
 */
export function seededRandom(seed: string, counter: { drawn: number }): Random {
  const block = (): Buffer => {
    counter.drawn += 1;
    return crypto.createHash("sha512").update(`${seed}\n${counter.drawn}`).digest();
  };
  return {
    bytes: (size) => Buffer.concat(Array.from({ length: Math.ceil(size / 64) }, block)).subarray(0, size),
  };
}

/** A version 4 uuid; also the format of an application key. */
export function newUuid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export const newPair = (random: Random) => ({
  encryptedData: random.bytes(96).toString("base64"),
  payload: random.bytes(48).toString("base64"),
});

export const newToken = (random: Random): string => random.bytes(32).toString("base64url");

/** Compares two secrets in a time that does not depend on where they differ. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => crypto.createHash("sha256").update(text).digest();
  return crypto.timingSafeEqual(digest(a), digest(b));
}
