import { createPublicKey, verify } from "node:crypto";
import * as z from "zod/mini";
import { object } from "../../protocol/answers.ts";

function isPublicKey(pem: string): boolean {
  // createPublicKey also accepts a private key, which does not belong in a policy.
  if (!pem.includes("BEGIN PUBLIC KEY")) return false;
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey(pem);
    return asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === "secp384r1";
  } catch {
    return false;
  }
}

const keyRule = 'must be a P-384 public key in PEM, "-----BEGIN PUBLIC KEY-----…"';
const claimRule = 'must be a text or a list of them, like ["reader","writer"]';
const texts = z.array(z.string()).check(z.minLength(1, { error: claimRule }));

/** Settings in the management console of an application that requires a JWT (docs/interface.md, JWT). */
export const jwtPolicy = z.object(
  {
    /** PEM, P-384. */
    publicKey: z.string({ error: keyRule }).check(z.refine(isPublicKey, { error: keyRule })),
    /** Required value of each claim, or a list of allowed values. */
    claims: z.optional(
      z.record(z.string(), z.union([z.string(), texts], { error: claimRule }), {
        error: 'must be an object, like {"role":["reader","writer"]}',
      }),
    ),
  },
  { error: "must be an object with a publicKey" },
);
type JwtPolicy = z.infer<typeof jwtPolicy>;

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
    return object(JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8")));
  } catch {
    return undefined;
  }
}
