import { generateKeyPairSync } from "node:crypto";
import { sign } from "node:crypto";

export interface JwtKeys {
  /** PEM. */
  privateKey: string;
  publicKey: string;
}

export function jwtKeys(namedCurve = "P-384"): JwtKeys {
  return generateKeyPairSync("ec", {
    namedCurve,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

/** A JWT as another program would make it. `digest` and `alg` as ES384 has them, unless a test wants a wrong one. */
export function makeJwt(
  keys: JwtKeys,
  claims: object,
  { alg = "ES384", digest = "sha384" } = {},
): string {
  const signed = [{ alg, typ: "JWT" }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = sign(digest, Buffer.from(signed), {
    key: keys.privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${signed}.${signature.toString("base64url")}`;
}

export const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()) as Record<
    string,
    unknown
  >;
