import type { KeyObject } from "node:crypto";
import { createPrivateKey, sign } from "node:crypto";
import { VaultError } from "../../errors.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Sourced } from "../definitions.ts";
import { command } from "../../way.ts";

/** Claims of a token, except those that are set when it is signed. */
type Claims = Readonly<Record<string, unknown>>;

/** Lifetime in seconds of a token that is signed here: long enough for an exchange with its retries. */
const lifetimeSeconds = 300;

const setHere = ["iat", "exp", "nbf"];

/**
 * Parses claims from JSON.
 * @throws `invalid-input`, which names the config key
 */
export function parseClaims({ text, source }: Sourced): Claims {
  const hint =
    'claims are an object, such as {"role":"reader"}; iat and exp are set when the token is signed';
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new VaultError("invalid-input", `${source}: must be an object`, { hint });
  }
  const given = setHere.find((claim) => Object.hasOwn(value, claim));
  if (given !== undefined)
    throw new VaultError("invalid-input", `${source}: ${given} cannot be set`, { hint });
  return value as Claims;
}

/**
 * Parses a private key on P-384 from PEM.
 * @throws `invalid-input`, which names `source` and never shows any of the key
 */
export function parsePrivateKey(pem: string, source: string): KeyObject {
  const making = command`openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384`;
  const refuse = (rule: string): VaultError =>
    new VaultError("invalid-input", `${source}: ${rule}`, {
      next: [{ ...making, note: "makes one" }],
    });
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(pem)) {
    throw refuse(
      "the key is encrypted; it must be in a file without a passphrase that only you can read",
    );
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw refuse("must be a private key in PEM");
  }
  if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "secp384r1") {
    throw refuse("must be a key on the curve P-384");
  }
  return key;
}

/** Signs a JWT by ES384 (docs/interface.md, JWT). `now` in milliseconds since the epoch. */
export function signJwt(key: KeyObject, claims: Claims, now: number): string {
  const iat = Math.floor(now / 1000);
  const parts = [
    { alg: "ES384", typ: "JWT" },
    { ...claims, iat, exp: iat + lifetimeSeconds },
  ];
  const signed = parts
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = sign("sha384", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}
