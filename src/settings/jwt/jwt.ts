import { VaultError } from "../../errors.ts";
import { unseenIn } from "../../protocol/validate.ts";
import { once } from "../once.ts";
import type { Settings } from "../settings.ts";
import type { SettingIo } from "../given.ts";
import { readGiven, readValue } from "../given.ts";

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

type Obtain = (signal: AbortSignal) => Promise<string>;

/** A token is renewed when it has less than this left, in milliseconds, since a call may have to wait for its answer. */
const marginMs = 60_000;
/** Lifetime in milliseconds of a command's token that does not say when it expires. */
const assumedLifetimeMs = 300_000;

/**
 * Creates the token that the settings ask for: given (flag, environment), printed by a command, or signed here; undefined if none
 * is set. The first `ready` runs the command or reads the key, so that calls without a token cannot fail because of it.
 * @throws `invalid-input`, which names the setting that is wrong
 */
export async function createBearerToken(
  settings: Settings,
  io: SettingIo,
): Promise<BearerToken | undefined> {
  const { jwt, jwtCommand, jwtPrivateKeyFile } = settings;
  if (jwt !== undefined) {
    const token = checked(await readGiven(io, jwt), jwt.source, io);
    return { ready: async () => Promise.resolve(), current: () => token };
  }
  if (jwtCommand !== undefined) {
    if (jwtPrivateKeyFile !== undefined) {
      throw new VaultError(
        "invalid-input",
        "config key jwt.command: cannot be used with jwt.privateKeyFile",
        {
          hint: "leave one of them out",
        },
      );
    }
    const { runPrintingCommand } = await import("../printing-command.ts");
    const prints = "the token on standard output; or use --jwt";
    // Also learns a token with other text around it, which is refused.
    const learnSecrets = (output: string): void =>
      output.match(/[A-Za-z0-9._~+/=-]{16,}/g)?.forEach((token) => learnToken(token, io));
    return renewed(async (signal) => {
      const given = { given: jwtCommand, prints, timeoutMs: settings.timeout, learnSecrets };
      return checked(await runPrintingCommand(given, io, signal), jwtCommand.source, io);
    }, io);
  }
  if (!signsHere(settings)) return undefined;
  const sign = once(async () => await signer(settings, io));
  return renewed(async (signal) => await (await sign())(signal), io);
}

/**
 * Checks key and claims of a token that is signed here. Runs no command.
 * @throws `invalid-input`, as the first `ready` would
 */
export async function checkSigner(settings: Settings, io: SettingIo): Promise<void> {
  if (signsHere(settings)) await signer(settings, io);
}

const signsHere = ({ jwt, jwtCommand, jwtPrivateKeyFile, jwtClaims }: Settings): boolean =>
  jwt === undefined &&
  jwtCommand === undefined &&
  (jwtPrivateKeyFile !== undefined || jwtClaims !== undefined);

async function signer(
  { jwtPrivateKeyFile: file, jwtClaims: claimsSpec }: Settings,
  io: SettingIo,
): Promise<Obtain> {
  if (file === undefined)
    throw missing("jwt.privateKeyFile", "the key file that signs them is missing");
  if (claimsSpec === undefined) throw missing("jwt.claims", "the claims of the token are missing");
  const { parseClaims, parsePrivateKey, signJwt } = await import("./sign.ts");
  const claims = parseClaims(claimsSpec);
  const pem = await readValue(`@${file.text}`, file.source, io.sources);
  const key = parsePrivateKey(pem, `${file.source}: ${file.text}`);
  return async () => Promise.resolve(checked(signJwt(key, claims, io.host.now()), file.source, io));
}

const missing = (key: string, what: string): VaultError =>
  new VaultError("invalid-input", `config key ${key}: ${what}`, {
    hint: "set both jwt.privateKeyFile and jwt.claims",
  });

/** A token that is renewed in time. Concurrent calls share one renewal. */
function renewed(obtain: Obtain, { host }: SettingIo): BearerToken {
  let obtained: { token: string; renewAt: number } | undefined;
  let underWay: Promise<void> | undefined;
  const renew = async (signal: AbortSignal): Promise<void> => {
    const askedAt = host.now();
    const token = await obtain(signal);
    const lifetimeMs = (expiryOf(token) ?? askedAt + assumedLifetimeMs) - askedAt;
    obtained = { token, renewAt: askedAt + lifetimeMs - Math.min(marginMs, lifetimeMs / 2) };
  };
  return {
    async ready(signal) {
      if (obtained !== undefined && host.now() < obtained.renewAt) return;
      underWay ??= renew(signal).finally(() => (underWay = undefined));
      await underWay;
    },
    current: () => obtained?.token,
  };
}

/** @throws `invalid-input` unless the token has only the characters of a bearer token (RFC 6750), which cannot end the header */
function checked(token: string, source: string, io: SettingIo): string {
  learnToken(token, io);
  if (/^[A-Za-z0-9._~+/=-]+$/.test(token)) return token;
  throw new VaultError(
    "invalid-input",
    `${source}: must be only a token: letters, digits and . _ ~ + / = -${unseenIn(token)}`,
    {
      hint: "for example eyJhbGciOiJFUzM4NCJ9.eyJyb2xlIjoi….MIG…, on one line and without Bearer",
    },
  );
}

/**
 * Registers the token, its header value (which a service may repeat in base64) and its signature as secrets. The part before the
 * signature proves nothing.
 */
function learnToken(token: string, { redactor }: SettingIo): void {
  for (const secret of [token, `Bearer ${token}`, token.split(".")[2]])
    if (secret !== undefined) redactor.add(secret);
}

/** `exp` of a token in milliseconds since the epoch, if it has one. */
function expiryOf(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"),
    );
    const exp = (claims as { exp?: unknown } | null)?.exp;
    return typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
