import type { Io } from "../parts/io.ts";
import type { ServicePart } from "../parts/service.ts";
import { VaultError } from "../errors.ts";
import type { GivenCredentials } from "../exchange/recovery/document.ts";
import { deviceOf, pairsOf, parseCredentials } from "../exchange/recovery/document.ts";
import { meant, readExactly, readSecret } from "../settings/given.ts";
import { checkGiven } from "../protocol/validate.ts";
import type { ExchangeOptions } from "./flags.ts";
import type { Unchecked } from "../exchange/start/start.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { base64 } from "../protocol/fields.ts";
import type { Redactor } from "../terminal/redactor.ts";

/**
 * Reads what a person asks for with one vault from the command line, and credentials, hashedPin and device from the sources that it names.
 * @throws `usage` and `invalid-input`
 */
export async function readStart(
  { io, service }: { io: Io; service: ServicePart },
  uuid: string,
  operation: Operation,
  options: ExchangeOptions,
): Promise<Unchecked> {
  const given = await readGiven(io, options);
  const pair = given?.type === "pair" ? given : undefined;
  const hashedPin = await readHashedPin(io, options);
  return {
    uuid,
    label: null,
    operation,
    kind: options.kind ?? pair?.kind,
    given,
    hashedPin: hashedPin ?? pair?.credentials.hashedPin,
    device: (await service.device()) ?? deviceOf(given),
    generation: options.generation,
    ...commonOf(options),
    takesTime: options.saveCmd !== undefined,
  };
}

/** What is the same for all vaults of a command. */
export const commonOf = (options: ExchangeOptions) => ({
  force: options.force === true,
  externalRef: options.externalRef,
  noAck: options.ack === false,
  discardPending: options.discardPending === true,
});

/**
 * Refuses one part of the credentials without the other. Reads nothing.
 * @throws `usage`
 */
export function checkPairOptions({ encryptedData, payload }: ExchangeOptions): void {
  if ((encryptedData === undefined) === (payload === undefined)) return;
  const missing = encryptedData === undefined ? "--encrypted-data" : "--payload";
  throw new VaultError("usage", `${missing} is missing: credentials have two parts`, {
    hint: "use --encrypted-data @FILE --payload @FILE",
  });
}

async function readGiven(
  io: Io,
  { credentials, encryptedData, payload }: ExchangeOptions,
): Promise<GivenCredentials | undefined> {
  if (encryptedData !== undefined && payload !== undefined) {
    const pair = {
      encryptedData: await io.secretOption(encryptedData, "--encrypted-data"),
      payload: await io.secretOption(payload, "--payload"),
    };
    return { type: "pair", credentials: pair };
  }
  if (credentials === undefined) return undefined;
  const exact = await readSecret(credentials, "--credentials", io.sources, readExactly);
  const text = meant(exact, "--credentials");
  io.redactor.add(text);
  return { ...readCredentials(io.redactor, text, "--credentials"), exact };
}

/**
 * The hashedPin of an online vault.
 * @throws `invalid-input`
 */
export async function readHashedPin(
  io: Io,
  options: Pick<ExchangeOptions, "hashedPin">,
): Promise<string | undefined> {
  if (options.hashedPin === undefined) return undefined;
  const value = await io.secretOption(options.hashedPin, "--hashed-pin");
  return checkGiven(base64, value, "--hashed-pin", "nothing was sent");
}

/** Parses credentials, and registers their secrets with the redaction. */
export function readCredentials(redactor: Redactor, text: string, flag: string): GivenCredentials {
  const parsed = parseCredentials(text, flag);
  learnAll(redactor.add, parsed);
  return parsed;
}

/** Registers all secrets of a document with the redaction. */
export function learnAll(add: Redactor["add"], given: GivenCredentials): void {
  for (const pair of pairsOf(given)) learn(add, pair);
  if (given.type === "recovery") add(given.document.token);
}

/** Registers a pair with the redaction. */
export function learn(
  add: Redactor["add"],
  pair: { encryptedData: string; payload: string; hashedPin?: string | undefined },
): void {
  for (const value of [pair.encryptedData, pair.payload, pair.hashedPin])
    if (value !== undefined) add(value);
}
