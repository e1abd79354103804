import * as z from "zod/mini";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import type { PairChoice } from "../../exchange/choose-pair.ts";
import type { GivenCredentials } from "../../exchange/recovery.ts";
import { pairsOf } from "../../exchange/recovery-of.ts";
import { parseCredentials } from "../../exchange/recovery.ts";
import { readExactly, readSecret } from "../../secrets/secret-value.ts";
import { validate } from "../../protocol/validate.ts";
import { base64, externalRef, flag, kind, text, wholeNumber } from "../../cli/options.ts";

/** Options that every exchange has. */
export const exchangeOptions = {
  kind: z.optional(kind),
  credentials: z.optional(text),
  encryptedData: z.optional(text),
  payload: z.optional(text),
  hashedPin: z.optional(text),
  externalRef: z.optional(externalRef),
  /** commander's form of --no-ack. */
  ack: z._default(z.boolean(), true),
  discardPending: flag,
  credentialsOut: z.optional(text),
  saveCmd: z.optional(text),
  dryRun: flag,
  force: flag,
  yes: flag,
  generation: z.optional(wholeNumber),
};

const schema = z.object(exchangeOptions);
export type ExchangeOptions = z.infer<typeof schema>;

export interface GivenPair {
  choice: PairChoice;
  /** What `choice.given` comes from, or a recovery document in its place. */
  document: GivenCredentials | undefined;
  /** The document, byte for byte as --credentials had it. */
  exact?: string | undefined;
}

/** Reads credentials, hashedPin and device from where the command line says. Raises `usage` and `invalid-input`. */
export async function readPairChoice(deps: Deps, options: ExchangeOptions): Promise<GivenPair> {
  checkPairOptions(options);
  const { document, exact } = await readGiven(deps, options);
  const credentials = document?.type === "pair" ? document.credentials : undefined;
  const hashedPin = await readHashedPin(deps, options);
  const given = credentials === undefined ? undefined : { ...credentials, ...(hashedPin === undefined ? {} : { hashedPin }) };
  return {
    choice: {
      kind: options.kind ?? (document?.type === "pair" ? document.kind : undefined),
      given,
      hashedPin: hashedPin ?? given?.hashedPin,
      device: await deps.device(),
      generation: options.generation,
      force: options.force === true,
    },
    document,
    exact,
  };
}

/** Refuses options that do not belong to each other. Reads nothing. Raises `usage`. */
export function checkPairOptions({ credentials, encryptedData, payload, generation }: ExchangeOptions): void {
  const asParts = encryptedData !== undefined || payload !== undefined;
  const usage = (message: string, hint: string): VaultError => new VaultError("usage", message, { hint });
  if (credentials !== undefined && asParts) {
    throw usage("--credentials and --encrypted-data/--payload exclude each other", "give the pair in one form");
  }
  if (generation !== undefined && (credentials !== undefined || asParts)) {
    throw usage("--generation chooses a stored pair: give it without credentials", "leave one of them out");
  }
  if (asParts && (encryptedData === undefined || payload === undefined)) {
    const missing = encryptedData === undefined ? "--encrypted-data" : "--payload";
    throw usage(`${missing} is missing: a pair has both parts`, "--encrypted-data @FILE --payload @FILE");
  }
}

async function readGiven(
  deps: Deps,
  { credentials, encryptedData, payload }: ExchangeOptions,
): Promise<Pick<GivenPair, "document" | "exact">> {
  if (encryptedData !== undefined && payload !== undefined) {
    const pair = {
      encryptedData: await secret(deps, encryptedData, "--encrypted-data"),
      payload: await secret(deps, payload, "--payload"),
    };
    return { document: { type: "pair", credentials: pair } };
  }
  if (credentials === undefined) return { document: undefined };
  const exact = await readSecret(credentials, "--credentials", deps.sources, readExactly);
  deps.redactor.add(exact.trim());
  return { document: readCredentials(deps, exact, "--credentials"), exact };
}

async function readHashedPin(deps: Deps, options: ExchangeOptions): Promise<string | undefined> {
  if (options.hashedPin === undefined) return undefined;
  const value = await secret(deps, options.hashedPin, "--hashed-pin");
  const checked = validate(base64, value);
  if (checked.ok) return value;
  throw new VaultError("invalid-input", `--hashed-pin: ${checked.violations[0]?.rule}`, { hint: "nothing was sent" });
}

async function secret(deps: Deps, spec: string, flagName: string): Promise<string> {
  const value = await readSecret(spec, flagName, deps.sources);
  deps.redactor.add(value);
  return value;
}

/** As `parseCredentials`, and the redaction is told of all that is secret in them. */
export function readCredentials(deps: Deps, text: string, flag: string): GivenCredentials {
  const parsed = parseCredentials(text, flag);
  learnAll(deps, parsed);
  return parsed;
}

/** Tells the redaction about all secrets of a document. */
export function learnAll(deps: Deps, given: GivenCredentials): void {
  for (const pair of pairsOf(given)) learn(deps, pair);
  if (given.type === "recovery") deps.redactor.add(given.document.token);
}

/** Tells the redaction about a pair. */
export function learn(deps: Deps, pair: { encryptedData: string; payload: string; hashedPin?: string | undefined }): void {
  for (const value of [pair.encryptedData, pair.payload, pair.hashedPin]) if (value !== undefined) deps.redactor.add(value);
}
