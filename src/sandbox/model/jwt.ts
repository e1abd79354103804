import type { KeyObject } from "node:crypto";
import { createPublicKey, verify } from "node:crypto";

/** Section 5.4: settings in the management console of an application that requires a JWT on offline vault endpoints. */
export interface JwtPolicy {
  /** PEM, P-384. */
  publicKey: string;
  /** Required value of each claim, or a list of allowed values. */
  claims?: Record<string, string | string[]>;
}

/** Returns why a policy is invalid, or undefined. */
export function jwtPolicyFault(given: unknown): string | undefined {
  const { publicKey, claims = {} } = (
    typeof given === "object" && given !== null ? given : {}
  ) as Partial<JwtPolicy>;
  const key = typeof publicKey === "string" ? publicKeyOf(publicKey) : undefined;
  if (key?.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "secp384r1") {
    return 'jwt.publicKey must be a P-384 public key in PEM, "-----BEGIN PUBLIC KEY-----…"';
  }
  const isText = (value: unknown): boolean => typeof value === "string";
  const fine =
    typeof claims === "object" &&
    !Array.isArray(claims) &&
    Object.values(claims).every(
      (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
    );
  return fine
    ? undefined
    : 'jwt.claims must be an object of values or lists of them, like {"role":["reader","writer"]}';
}

function publicKeyOf(pem: string): KeyObject | undefined {
  // createPublicKey also accepts a private key, which does not belong in a policy.
  if (!pem.includes("BEGIN PUBLIC KEY")) return undefined;
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

/** Returns why an `Authorization` header is refused, or undefined. `now` is in milliseconds. The reason never quotes the header. */
export function refuseJwt(
  policy: JwtPolicy,
  authorization: string | undefined,
  now: number,
): string | undefined {
  if (authorization === undefined) return "the JWT is missing";
  const [, header, payload, signature] =
    /^Bearer +([\w-]+)\.([\w-]+)\.([\w-]+)$/i.exec(authorization) ?? [];
  const head = decode(header);
  const claims = decode(payload);
  if (head === undefined || claims === undefined || signature === undefined)
    return "the JWT is malformed";
  if (head["alg"] !== "ES384") return "the JWT is not signed with ES384";
  const signed = Buffer.from(`${header}.${payload}`);
  const key = { key: policy.publicKey, dsaEncoding: "ieee-p1363" } as const;
  if (!verify("sha384", signed, key, Buffer.from(signature, "base64url")))
    return "the signature of the JWT is wrong";
  const { exp, nbf } = claims;
  if (typeof exp !== "number") return "the JWT has no exp";
  if (exp * 1000 <= now) return "the JWT has expired";
  if (nbf !== undefined && (typeof nbf !== "number" || nbf * 1000 > now))
    return "the JWT is not valid yet";
  const missing = Object.entries(policy.claims ?? {}).find(
    ([claim, wanted]) => ![wanted].flat().includes(claims[claim] as string),
  );
  return missing === undefined
    ? undefined
    : `the JWT's claim ${missing[0]} is missing or not one that is allowed`;
}

function decode(part: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
