import { VaultError } from "../../errors.ts";
import type { Answer } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { throwIfInterrupted } from "../context.ts";
import { acceptedBy } from "../dispositions.ts";
import type { NextAction } from "../next-action.ts";
import { nextAction } from "../next-action.ts";
import type { DeleteCall } from "../ports.ts";
import type { VaultRecord } from "../records.ts";
import type { Counted } from "../start/attempt.ts";
import { attempt, noTries } from "../start/attempt.ts";
import { refusedNow } from "../start/credentials.ts";
import { toStartWith } from "../start/decide.ts";
import type { Start } from "../start/start.ts";
import { noCredentials } from "../start/start.ts";

/** What a person asks for; `discardPending`: delete it although an exchange is open or in doubt. */
type DeleteRequest = Pick<Start, "device" | "discardPending" | "externalRef" | "force">;

export interface Deleted {
  kind: Kind;
  externalRef: string;
  generation: number;
}

/**
 * Deletes a locked vault (extended). The service asks for its credentials and counts wrong ones as failed attempts: it is a start with
 * another call, until it is known that nothing arrived. A call that may have arrived is never repeated. After a SUCCESS the vault's
 * credentials are removed.
 * @throws `no-credentials`, `pending`, `in-doubt`, and what a start throws
 */
export async function deleteVault(
  context: ExchangeContext,
  request: DeleteRequest,
): Promise<Deleted> {
  const { session } = context;
  const { uuid } = session;
  const tries = noTries();
  for (;;) {
    const vault = await session.read();
    if (vault === null || vault.generations.length === 0) throw noCredentials(uuid);
    // A refusal may have put an exchange in doubt, which began with the refused credentials: its new ones come next.
    const discardPending = request.discardPending || tries.refusal !== undefined;
    const wish = { ...request, discardPending, operation: "delete" } as const;
    const { kind } = vault;
    const refused = await refusedNow(context, vault, kind, request);
    const next = (now: VaultRecord): NextAction =>
      nextAction(now, wish, context, { tried: tries.tried, refused });
    const action = next(vault);
    if (action.do === "end") throw new VaultError("internal", "a delete acknowledges nothing");
    const chosen = toStartWith(context, vault, wish, action, tries.refusal);
    throwIfInterrupted(context);
    const counted: Counted<DeleteCall, Answer> = {
      wish,
      kind,
      sentWith: request,
      externalRef: request.externalRef,
      call: ({ credentials, device }, externalRef) => ({
        step: "delete",
        uuid,
        kind,
        externalRef,
        credentials,
        device,
      }),
      read: (_, reply) => acceptedBy(reply),
      next,
    };
    const accepted = await attempt(context, vault, chosen, counted, tries);
    if (accepted === null) continue;
    await session.recordDeleted(accepted.exchangeId);
    return { kind, externalRef: accepted.externalRef, generation: chosen.generation };
  }
}
