import type { Io, SettingsPart } from "../parts/basics.ts";
import type { StatePart } from "../parts/state.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { otherService, type Start } from "../exchange/start/start.ts";
import type { ServicePart } from "../parts/service.ts";
import type { GivenCredentials } from "../exchange/credentials.ts";
import { pairsOf } from "../exchange/recovery.ts";
import { meant } from "../settings/given.ts";
import { checkGiven } from "../protocol/validate.ts";
import type { ExchangeOptions } from "./flags.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { base64 } from "../protocol/fields.ts";
import type { Redactor } from "../terminal/redactor.ts";

/** What is asked for with all vaults of a command alike, if a line of their list does not say it itself. */
export type ForAll = Omit<Start, "label" | "uuid">;

/** Reads what the command line asks for with each of its vaults. @throws `usage` and `invalid-input` for the device */
export const readForAll = async (
  service: ServicePart,
  operation: Operation,
  options: ExchangeOptions & { exec?: string | undefined; program?: object | undefined },
): Promise<ForAll> => ({
  operation,
  kind: options.kind,
  device: await service.device(),
  externalRef: options.externalRef,
  generation: options.generation,
  force: options.force === true,
  noAck: options.ack === false,
  discardPending: options.discardPending === true,
  takesTime: (options.saveCmd ?? options.exec ?? options.program) !== undefined,
});

/**
 * Reads what a person asks for with one vault from the command line, and credentials, hashedPin and device from the sources that it names.
 * @throws `usage` and `invalid-input`
 */
export async function readStart(
  { io, service }: { io: Io; service: ServicePart },
  uuid: string,
  operation: Operation,
  options: Parameters<typeof readForAll>[2],
): Promise<Start> {
  const given = await readGiven(io, options);
  const pair = given?.type === "pair" ? given : undefined;
  const hashedPin = (await readHashedPin(io, options)) ?? pair?.credentials.hashedPin;
  const asked = await readForAll(service, operation, options);
  const { kind = pair?.kind, device = pair?.device } = asked;
  return { ...asked, uuid, label: null, kind, given, hashedPin, device };
}

/**
 * Reads the credentials of the command line, and registers their secrets with the redaction; undefined if there are none.
 * @throws `usage` and `invalid-input`
 */
export async function readGiven(
  io: Io,
  options: Pick<ExchangeOptions, "credentials" | "encryptedData" | "payload">,
): Promise<GivenCredentials | undefined> {
  const { credentials, encryptedData, payload } = options;
  if (encryptedData !== undefined && payload !== undefined) {
    const pair = {
      encryptedData: await io.secretOption(encryptedData, "--encrypted-data"),
      payload: await io.secretOption(payload, "--payload"),
    };
    return { type: "pair", credentials: pair };
  }
  if (credentials === undefined) return undefined;
  const exact = await io.secretOption(credentials, "--credentials", "exactly");
  const text = meant(exact, "--credentials");
  io.redactor.add(text);
  return { ...(await readCredentials(io.redactor, text, "--credentials")), exact };
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
export async function readCredentials({ add }: Pick<Redactor, "add">, text: string, flag: string) {
  const { parseCredentials } = await import("../exchange/credentials.ts");
  const parsed = parseCredentials(text, flag);
  learnAll(add, parsed);
  return parsed;
}

/** Registers all secrets of a document with the redaction. */
export function learnAll(add: Redactor["add"], given: GivenCredentials): void {
  for (const { encryptedData, payload, hashedPin } of pairsOf(given))
    for (const value of [encryptedData, payload, hashedPin]) if (value !== undefined) add(value);
  if (given.type === "recovery") add(given.document.token);
}

/**
 * What the state knows of a vault at this service, without holding it, which makes the state; null if nothing.
 * @throws `no-credentials` if it is known under other base URLs only, unless credentials for this one are `given`
 */
export async function lookUp(
  { settings, state }: { settings: SettingsPart; state: StatePart },
  uuid: string,
  given = false,
): Promise<VaultRecord | null> {
  const known = await (await state.store()).find(uuid);
  const service = settings.serviceName();
  const [elsewhere] = known;
  const here = known.find((record) => record.service === service);
  if (here !== undefined || elsewhere === undefined || given) return here ?? null;
  throw otherService(uuid, service, elsewhere.service);
}
