import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { PairChoice } from "../../exchange/start/choose-pair.ts";
import type { GivenCredentials } from "../../exchange/recovery/document.ts";
import { deviceOf, pairsOf } from "../../exchange/recovery/of-exchange.ts";
import { parseCredentials } from "../../exchange/recovery/document.ts";
import { readExactly, readSecret } from "../../secrets/secret-value.ts";
import { validate } from "../../protocol/validate.ts";
import type { ExchangeOptions } from "./flags.ts";
import { base64 } from "../../protocol/fields.ts";
import { defined } from "../../defined.ts";
import type { Redactor } from "../../terminal/redactor.ts";

export interface GivenPair {
  choice: PairChoice;
  /** What `choice.given` comes from, or a recovery document in its place. */
  document: GivenCredentials | undefined;
  /** The document, byte for byte as --credentials had it. */
  exact?: string | undefined;
}

/**
 * Reads credentials, hashedPin and device from the sources that the command line names.
 * @throws `usage` and `invalid-input`
 */
export async function readPairChoice(
  app: Pick<App, "device" | "redactor" | "secretOption" | "sources">,
  options: ExchangeOptions,
): Promise<GivenPair> {
  checkPairOptions(options);
  const { document, exact } = await readGiven(app, options);
  const credentials = document?.type === "pair" ? document.credentials : undefined;
  const hashedPin = await readHashedPin(app, options);
  const given = credentials && { ...credentials, ...defined({ hashedPin }) };
  return {
    choice: {
      kind: options.kind ?? (document?.type === "pair" ? document.kind : undefined),
      given,
      hashedPin: hashedPin ?? given?.hashedPin,
      device: (await app.device()) ?? deviceOf(document),
      generation: options.generation,
      force: options.force === true,
    },
    document,
    exact,
  };
}

/**
 * Refuses options that exclude each other. Reads nothing.
 * @throws `usage`
 */
export function checkPairOptions({
  credentials,
  credentialsOut,
  encryptedData,
  payload,
  generation,
}: ExchangeOptions): void {
  const asParts = encryptedData !== undefined || payload !== undefined;
  const usage = (message: string, hint: string): VaultError =>
    new VaultError("usage", message, { hint });
  if (credentials !== undefined && asParts) {
    throw usage(
      "--credentials and --encrypted-data/--payload exclude each other",
      "give the credentials in one form",
    );
  }
  // The file of a container may be both, and then has several candidates.
  if (
    generation !== undefined &&
    (asParts || (credentials !== undefined && credentialsOut === undefined))
  ) {
    throw usage(
      "--generation chooses stored credentials and excludes given ones",
      "leave one of them out",
    );
  }
  if (asParts && (encryptedData === undefined || payload === undefined)) {
    const missing = encryptedData === undefined ? "--encrypted-data" : "--payload";
    throw usage(
      `${missing} is missing: credentials have two parts`,
      "use --encrypted-data @FILE --payload @FILE",
    );
  }
}

async function readGiven(
  app: Pick<App, "redactor" | "secretOption" | "sources">,
  { credentials, encryptedData, payload }: ExchangeOptions,
): Promise<Pick<GivenPair, "document" | "exact">> {
  if (encryptedData !== undefined && payload !== undefined) {
    const pair = {
      encryptedData: await app.secretOption(encryptedData, "--encrypted-data"),
      payload: await app.secretOption(payload, "--payload"),
    };
    return { document: { type: "pair", credentials: pair } };
  }
  if (credentials === undefined) return { document: undefined };
  const exact = await readSecret(credentials, "--credentials", app.sources, readExactly);
  app.redactor.add(exact.trim());
  return { document: readCredentials(app, exact, "--credentials"), exact };
}

/**
 * The hashedPin of an online vault.
 * @throws `invalid-input`
 */
export async function readHashedPin(
  app: Pick<App, "secretOption">,
  options: Pick<ExchangeOptions, "hashedPin">,
): Promise<string | undefined> {
  if (options.hashedPin === undefined) return undefined;
  const value = await app.secretOption(options.hashedPin, "--hashed-pin");
  const checked = validate(base64, value);
  if (checked.ok) return value;
  throw new VaultError("invalid-input", `--hashed-pin: ${checked.violations[0]?.rule}`, {
    hint: "nothing was sent",
  });
}

/** Parses credentials, and registers their secrets with the redaction. */
export function readCredentials(
  app: Pick<App, "redactor">,
  text: string,
  flag: string,
): GivenCredentials {
  const parsed = parseCredentials(text, flag);
  learnAll(app, parsed);
  return parsed;
}

/** What registers secrets. */
interface Learning {
  redactor: Pick<Redactor, "add">;
}

/** Registers all secrets of a document with the redaction. */
export function learnAll(app: Learning, given: GivenCredentials): void {
  for (const pair of pairsOf(given)) learn(app, pair);
  if (given.type === "recovery") app.redactor.add(given.document.token);
}

/** Registers a pair with the redaction. */
export function learn(
  app: Learning,
  pair: { encryptedData: string; payload: string; hashedPin?: string | undefined },
): void {
  for (const value of [pair.encryptedData, pair.payload, pair.hashedPin])
    if (value !== undefined) app.redactor.add(value);
}
