import { VaultError } from "../errors.ts";
import type { ExchangeContext } from "./context.ts";
import { currentRecord, interrupted, summarize } from "./context.ts";
import { HandoverFailure } from "./delivery.ts";
import type { OpenExchange, VaultRecord } from "./records.ts";
import type { RecoveryDocument } from "./recovery.ts";
import { recoveryDocument } from "./recovery.ts";
import { nextAction } from "./next-action.ts";
import { refusalError } from "./refusals.ts";
import { sendEnd, throwUnlessAcknowledged } from "./end.ts";
import { waysOn } from "./ways.ts";

export interface AckChoice {
  /** Also acknowledge a read of a limited vault that may not have been delivered. */
  unread: boolean;
  /** The user has saved the new credentials elsewhere: nothing is owed to --save-cmd or --credentials-out any more. */
  saved: boolean;
  /** Saves the recovery document now, in place of the one with the hash `given`; returns the hash of what it has saved. */
  save?: ((document: RecoveryDocument, given: string | null) => Promise<string>) | undefined;
}

/**
 * Finishes the open exchange of a locked vault. Returns the acknowledged exchange: with none open, the last one if it was
 * acknowledged before; else null.
 * @throws `pending` if a person must decide, `in-doubt`, `service` if the token expired (the old pair is current), and what
 * `sendEnd` throws
 */
export async function acknowledgeOpen(
  context: ExchangeContext,
  choice: AckChoice,
): Promise<OpenExchange | null> {
  const vault = await currentRecord(context);
  const { unread, save, saved } = choice;
  const wish = { ...anAck, unread, saved: saved || save !== undefined };
  const action = nextAction(vault, wish, context);
  if (action.do === "refuse") throw refusalError(vault, action, wish, context);
  if (action.do !== "end") return lastAcknowledged(vault);
  const { exchange } = action;
  if (save !== undefined && exchange.state !== "ending")
    await saveNow(context, exchange, save, await recoveryDocument(context, vault, exchange));
  const ended = await sendEnd(context, exchange, exchange.delivered, true);
  await throwUnlessAcknowledged(context, exchange, ended, "safe");
  const last = lastAcknowledged(await currentRecord(context));
  return last?.id === exchange.id ? last : { ...exchange, state: "acknowledged" };
}

const anAck = { operation: "ack", discardPending: false, force: false } as const;

/** The last exchange, if it was acknowledged. Deletes never are, which makes the assertion safe. */
function lastAcknowledged({ last }: VaultRecord): OpenExchange | null {
  return last?.state === "acknowledged" ? (last as OpenExchange) : null;
}

async function saveNow(
  context: ExchangeContext,
  open: OpenExchange,
  save: NonNullable<AckChoice["save"]>,
  document: RecoveryDocument,
): Promise<void> {
  await context.session.markElsewhere([open.baseGeneration, open.newGeneration ?? 0]);
  try {
    await context.session.noteSaved(open.id, await save(document, open.given));
  } catch (error) {
    if (!(error instanceof HandoverFailure)) throw error;
    if (context.signal.aborted) throw interrupted(context, open);
    throw new VaultError("pending", `${error.message}; nothing was acknowledged`, {
      uuid: context.session.uuid,
      exchange: summarize(open),
      next: waysOn(await currentRecord(context), context),
    });
  }
}
