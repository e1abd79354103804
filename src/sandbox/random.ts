import crypto from "node:crypto";

/** Source of uuids, credentials and tokens. */
export interface Random {
  bytes(size: number): Buffer;
}

export const systemRandom: Random = { bytes: (size) => crypto.randomBytes(size) };

/** Returns a version 4 uuid, which is also the format of an application key. */
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

/** Compares two secrets in constant time. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => crypto.createHash("sha256").update(text).digest();
  return crypto.timingSafeEqual(digest(a), digest(b));
}
