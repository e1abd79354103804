import { VaultError } from "../../errors.ts";
import { command } from "../../way.ts";
import { isOnline } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { isUnread } from "../context.ts";
import type { AdoptionOutcome, OpenExchange, VaultRecord } from "../records.ts";
import type { RecoveryDocument } from "./document.ts";

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
  const {
    id,
    operation,
    externalRef,
    startedAt,
    tokenExpiry,
    newGeneration: generation,
  } = exchange;
  return {
    format: 2,
    uuid: session.uuid,
    label: record.label,
    kind: exchange.kind,
    exchange: {
      id,
      operation,
      externalRef: externalRef === "" ? null : externalRef,
      startedAt,
      tokenExpiry,
      generation,
    },
    status: "pending",
    old: await session.credentials(exchange.baseGeneration),
    new: await session.credentials(exchange.newGeneration),
    token: await session.token(id),
    ...(device === null || device === undefined || !isOnline(exchange.kind) ? {} : { device }),
    ...(isUnread(exchange) ? { unread: true } : {}),
  };
}

/**
 * Adopts the exchange of a recovery document, whatever is open here. Both its pairs become candidates, and what this state has
 * proven keeps its standing.
 * @throws `invalid-input` for another vault's document, and `no-credentials` for one that is older than what was proven here
 */
export async function adoptRecovery(
  { session }: Pick<ExchangeContext, "session">,
  document: RecoveryDocument,
): Promise<AdoptionOutcome> {
  const { uuid, exchange, kind, old, new: offered, token, device, unread } = document;
  checkOwner(session.uuid, uuid);
  const { id: exchangeId, operation, tokenExpiry } = exchange;
  const adopted = { exchangeId, operation, tokenExpiry, kind, old, new: offered, token };
  return await session.adopt({ ...adopted, device, unread });
}

/**
 * Checks that given credentials are of this vault, if they name one.
 * @throws `invalid-input` for another vault's document
 */
export function checkOwner(uuid: string, named: string | undefined): void {
  if (named === undefined || named.toLowerCase() === uuid.toLowerCase()) return;
  const own = command`vault get ${named} --credentials @FILE`;
  throw new VaultError("invalid-input", `--credentials: this document belongs to vault ${named}`, {
    uuid,
    next: [{ ...own, note: "uses it with that vault" }],
  });
}
