import { createPublicKey, verify } from "node:crypto";
import { BlockList, isIPv4 } from "node:net";
import * as z from "zod/mini";
import { attempt } from "../attempt.ts";
import { object } from "../protocol/answers.ts";
import { parseGivenJson, parseJson } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { defaults } from "../protocol/limits.ts";
import { objectOf } from "../protocol/fields.ts";

function isPublicKey(pem: string): boolean {
  // createPublicKey also accepts a private key, which does not belong in a policy.
  if (!pem.includes("BEGIN PUBLIC KEY")) return false;
  const key = attempt(() => createPublicKey(pem));
  return key?.asymmetricKeyDetails?.namedCurve === "secp384r1";
}

const keyRule = 'must be a P-384 public key in PEM, "-----BEGIN PUBLIC KEY-----…"';
const claimRule = 'must be a text or a list of them, like ["reader","writer"]';
const texts = z.array(z.string()).check(z.minLength(1, { error: claimRule }));

/** Console settings of an application that requires a JWT (docs/interface.md, JWT). */
const jwtPolicy = z.object({
  publicKey: z.string({ error: keyRule }).check(z.refine(isPublicKey, { error: keyRule })),
  claims: z.optional(z.record(z.string(), z.union([z.string(), texts], { error: claimRule }))),
});

const whole = (least: number, standard: number) => {
  const error = `must be a whole number of at least ${least}, like ${standard}`;
  return z._default(z.int({ error }).check(z.gte(least, { error })), standard);
};

/** @throws for an entry that is neither an IPv4 address nor a CIDR range, such as `10.1.0.0/16` */
function rangesOf(entries: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const entry of entries) {
    const [, network = "", bits = "32"] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(entry) ?? [];
    ranges.addSubnet(network, Number(bits), "ipv4");
  }
  return ranges;
}

const whitelistRule = 'must be a list of IPv4 addresses or ranges, like ["10.1.0.0/16"]';

/** Limits of the service, and choices its interface leaves open (docs/interface.md, Unknown). */
const policy = objectOf(
  {
    failedAttempts: whole(1, defaults.failedAttempts),
    /** Consecutive unacknowledged starts that lock a vault; the one that locks is refused. */
    unackedStarts: whole(1, defaults.unackedStarts),
    tokenTtlMs: whole(1, defaults.tokenLifetimeMs),
    /** Requests per application in any window of one second; 0 is no limit. */
    rate: whole(0, defaults.rate),
    /** Time from an accepted start to the autoLockDate. */
    autoLockAfterMs: whole(1, defaults.autoLockAfterMs),
    /** Whether a repeated end call succeeds after the first one did; otherwise it is an error. */
    idempotentEnd: z._default(z.boolean(), false),
    /** JWT that offline vault endpoints require; null for none. */
    jwt: z._default(z.nullable(jwtPolicy), null),
    /** IPv4 addresses and CIDR ranges that may call; an empty list allows all. */
    whitelist: z._default(
      z
        .array(z.string())
        .check(
          z.refine((list) => attempt(() => rangesOf(list)) !== undefined, { error: whitelistRule }),
        ),
      [],
    ),
  },
  'must be an object, such as {"failedAttempts":3,"tokenTtlMs":300000}',
);
export type Policy = z.infer<typeof policy>;

/** @throws `invalid-input` naming the setting */
export const completePolicy = (given: unknown, where = "policy"): Policy =>
  checkGiven(policy, given, where, undefined, "place");

/** @throws `invalid-input` naming the setting */
export const parsePolicy = (text: string, source: string): Policy =>
  completePolicy(parseGivenJson(text, source, 'for example {"failedAttempts":3}'), source);

/** Whether an address is in one of the ranges. An empty list allows every address. */
export function isWhitelisted(remoteAddress: string, entries: readonly string[]): boolean {
  const address = remoteAddress.replace(/^::ffff:/i, "");
  return entries.length === 0 || (isIPv4(address) && rangesOf(entries).check(address, "ipv4"));
}

/** Returns why an `Authorization` header is refused, never quoting it. `now` is in milliseconds. */
export function refuseJwt(
  policy: NonNullable<Policy["jwt"]>,
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

const decode = (part = ""): Record<string, unknown> | undefined =>
  object(attempt(() => parseJson(Buffer.from(part, "base64url").toString("utf8"))));

/** Returns 0 for a request that is admitted, else the whole seconds to wait, at least 1. */
export type Admission = (now: number) => number;

/** Admits at most `rate` requests in any window of one second, all for 0. Refused requests do not count. */
export function rateWindow(rate: number): Admission {
  let admitted: number[] = [];
  return (now) => {
    admitted = admitted.filter((time) => time > now - 1000 && time <= now);
    const [oldest = now] = admitted;
    if (rate > 0 && admitted.length >= rate)
      return Math.max(1, Math.ceil((oldest + 1000 - now) / 1000));
    admitted.push(now);
    return 0;
  };
}
