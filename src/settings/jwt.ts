import { createPrivateKey, sign } from "node:crypto";
import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { isObject, parseGivenJson } from "../protocol/json.ts";
import { unseenIn } from "../protocol/validate.ts";
import { command, noted } from "../way.ts";
import { readSecret, readValue, type SettingIo, type Sourced } from "./given.ts";
import type { Settings } from "./settings.ts";

/** The bearer token of an application, in memory only. */
export interface BearerToken {
  /**
   * Obtains a token unless there is one with time left.
   * @throws `invalid-input`, which names the setting
   */
  ready(signal: AbortSignal): Promise<void>;
  /** Undefined before the first `ready`. */
  current(): string | undefined;
}

/** A token is renewed when it has less than this left, in milliseconds, since a call may have to wait for its answer. */
const marginMs = 60_000;
/** Lifetime in milliseconds of a command's token that does not say when it expires. */
const assumedLifetimeMs = 300_000;
/** Lifetime in seconds of a token that is signed here: long enough for an exchange with its retries. */
const lifetimeSeconds = 300;

/**
 * Creates the token that the settings ask for: given (flag, environment), printed by a command, or signed here. `ready` runs the command or reads the key, so that calls without a token cannot fail because of it.
 * A token is renewed in time; concurrent calls share one renewal.
 * @throws `invalid-input`, which names the setting that is wrong
 */
export async function createBearerToken(settings: Settings, io: SettingIo): Promise<BearerToken> {
  const { jwt, jwtCommand, timeout } = settings;
  if (jwt !== undefined) {
    const token = checked(await readSecret(io, jwt), jwt.source, io);
    return { ready: async () => Promise.resolve(), current: () => token };
  }
  let obtained: { token: string; renewAt: number } | undefined;
  let underWay: Promise<void> | undefined;
  const obtain = async (signal: AbortSignal): Promise<string> => {
    if (jwtCommand === undefined) return await signedToken(settings, io);
    const { runPrintingCommand } = await import("./child-command.ts");
    const prints = "the token on standard output; or use --jwt";
    const printed = await runPrintingCommand(jwtCommand, prints, timeout, io, signal);
    return checked(printed, jwtCommand.source, io);
  };
  const renew = async (signal: AbortSignal): Promise<void> => {
    const askedAt = io.host.now();
    const token = await obtain(signal);
    const lifetimeMs = (expiryOf(token) ?? askedAt + assumedLifetimeMs) - askedAt;
    obtained = { token, renewAt: askedAt + lifetimeMs - Math.min(marginMs, lifetimeMs / 2) };
  };
  return {
    async ready(signal) {
      if (obtained !== undefined && io.host.now() < obtained.renewAt) return;
      underWay ??= renew(signal).finally(() => (underWay = undefined));
      await underWay;
    },
    current: () => obtained?.token,
  };
}

const invalid = (message: string, facts: VaultError["facts"]): VaultError =>
  new VaultError("invalid-input", message, facts);

/** `exp` of a token in milliseconds since the epoch, if it has one. */
function expiryOf(token: string): number | undefined {
  const claims = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
  const { exp } = (attempt(() => JSON.parse(claims) as unknown) ?? {}) as { exp?: unknown };
  return typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : undefined;
}

/** Signs a JWT by ES384 (docs/interface.md, JWT). */
async function signedToken(
  { jwtPrivateKeyFile: file, jwtClaims: claims }: Settings,
  io: SettingIo,
): Promise<string> {
  if (file === undefined || claims === undefined)
    throw invalid("config keys jwt.privateKeyFile and jwt.claims: a token is signed with both", {});
  const iat = Math.floor(io.host.now() / 1000);
  const signed = [
    { alg: "ES384", typ: "JWT" },
    { ...parseClaims(claims), iat, exp: iat + lifetimeSeconds },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const pem = await readValue(`@${file.text}`, file.source, io.sources);
  // It throws for what is no key, and for an encrypted one.
  const key = attempt(() => createPrivateKey(pem));
  if (key?.asymmetricKeyDetails?.namedCurve !== "secp384r1") {
    const make = command`openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384`;
    const rule = "must be a P-384 private key in PEM, without a passphrase";
    throw invalid(`${file.source}: ${file.text}: ${rule}`, { next: [noted(make, "makes one")] });
  }
  const signature = sign("sha384", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return checked(`${signed}.${signature.toString("base64url")}`, file.source, io);
}

/**
 * Parses the claims of a token from JSON.
 * @throws `invalid-input`, which names the config key
 */
export function parseClaims({ text, source }: Pick<Sourced, "text" | "source">): object {
  const hint =
    'claims are an object, such as {"role":"reader"}; iat and exp are set when the token is signed';
  const claims = parseGivenJson(text, source, hint);
  if (!isObject(claims)) throw invalid(`${source}: must be an object`, { hint });
  const own = ["iat", "exp", "nbf"].find((claim) => claim in claims);
  if (own !== undefined) throw invalid(`${source}: ${own} cannot be set`, { hint });
  return claims;
}

/**
 * Registers the token, its header value (which a service may repeat in base64) and its signature as secrets. The part before the
 * signature proves nothing.
 * @throws `invalid-input` unless the token has only the characters of a bearer token (RFC 6750), which cannot end the header
 */
function checked(token: string, source: string, { redactor }: SettingIo): string {
  for (const secret of [token, `Bearer ${token}`, token.split(".")[2]])
    if (secret !== undefined) redactor.add(secret);
  if (/^[A-Za-z0-9._~+/=-]+$/.test(token)) return token;
  throw invalid(
    `${source}: must be only a token: letters, digits and . _ ~ + / = -${unseenIn(token)}`,
    { hint: "for example eyJhbGciOiJFUzM4NCJ9.eyJyb2xlIjoi….MIG…, on one line and without Bearer" },
  );
}
