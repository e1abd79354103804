import { VaultError } from "../../errors.ts";
import { isOnline } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import type { ExchangeContext } from "../context.ts";
import { isUnread } from "../context.ts";
import type { Credentials, OpenExchange, VaultRecord } from "../records.ts";
import type { GivenCredentials, RecoveryDocument } from "./document.ts";
import { defined } from "../../defined.ts";

/** Reads the recovery document of an exchange after ② from the state. */
export async function recoveryDocument(
  context: Pick<ExchangeContext, "session">,
  record: VaultRecord,
  exchange: OpenExchange,
): Promise<RecoveryDocument> {
  const { session } = context;
  if (exchange.newGeneration === null)
    throw new VaultError("internal", `exchange ${exchange.id} has no new pair`);
  const device = record.generations.find((g) => g.generation === exchange.baseGeneration)?.device;
  return {
    uuid: session.uuid,
    label: record.label,
    kind: exchange.kind,
    exchangeId: exchange.id,
    operation: exchange.operation,
    externalRef: exchange.externalRef === "" ? null : exchange.externalRef,
    startedAt: exchange.startedAt,
    old: await session.credentials(exchange.baseGeneration),
    new: await session.credentials(exchange.newGeneration),
    token: await session.token(exchange.id),
    tokenExpiry: exchange.tokenExpiry,
    generation: exchange.newGeneration,
    ...(device === null || device === undefined || !isOnline(exchange.kind) ? {} : { device }),
    ...(isUnread(exchange) ? { unread: true as const } : {}),
  };
}

/** The credentials in what --credentials gave. */
export function pairsOf(given: GivenCredentials | undefined): Credentials[] {
  if (given === undefined) return [];
  return given.type === "pair" ? [given.credentials] : [given.document.old, given.document.new];
}

/** The uuid of the vault that the document names; a bare pair names none. */
export function vaultOf(given: GivenCredentials | undefined): string | undefined {
  return given?.type === "recovery" ? given.document.uuid : given?.uuid;
}

/** The label that the document has for its vault. */
export function labelOf(given: GivenCredentials | undefined): string | null {
  return (given?.type === "recovery" ? given.document.label : given?.label) ?? null;
}

/** The device that stands beside given credentials. That of a recovery document goes with its exchange. */
export function deviceOf(given: GivenCredentials | undefined): Device | undefined {
  return given?.type === "pair" ? given.device : undefined;
}

/** A pair with its hashedPin, and nothing else. */
export function bareCredentials({ encryptedData, payload, hashedPin }: Credentials): Credentials {
  return defined({ encryptedData, payload, hashedPin });
}
