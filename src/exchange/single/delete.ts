import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { acceptedBy } from "../dispositions.ts";
import { untilAccepted } from "../run.ts";
import type { Start } from "../start/start.ts";

/** What a person asks for; `discardPending`: delete it although an exchange is open or in doubt. */
type DeleteRequest = Pick<Start, "device" | "discardPending" | "externalRef" | "force">;

/**
 * Deletes a locked vault (extended). The service asks for its credentials and counts wrong ones as failed attempts: it is a start with
 * another call, until it is known that nothing arrived. A call that may have arrived is never repeated. After a SUCCESS the vault's
 * credentials are removed.
 * @throws `no-credentials`, `pending`, `in-doubt`, and what a start throws
 */
export async function deleteVault(
  context: ExchangeContext,
  request: DeleteRequest,
): Promise<{ kind: Kind; externalRef: string; generation: number }> {
  const { session } = context;
  const { uuid } = session;
  const start = { ...request, uuid, label: null, operation: "delete", noAck: false } as const;
  const accepted = await untilAccepted(context, start, (_, reply) => acceptedBy(reply));
  const { kind, externalRef, pair, exchangeId } = accepted;
  await session.recordDeleted(exchangeId);
  return { kind, externalRef, generation: pair.generation };
}
