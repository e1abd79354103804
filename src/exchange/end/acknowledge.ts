import type { Retry } from "../../errors.ts";
import { VaultError } from "../../errors.ts";
import type { Answer } from "../../protocol/answers.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, interrupted, summarize } from "../context.ts";
import { HandoverFailure } from "../delivery.ts";
import type { ExchangeRecord, OpenExchange, RecoveryDocument, VaultRecord } from "../records.ts";
import { recoveryDocument } from "../recovery/exchange.ts";
import { nextAction } from "../next-action.ts";
import { inDoubtError, refusalError } from "../refusals.ts";
import type { EndOutcome } from "./send.ts";
import { sendEnd } from "./send.ts";
import { serviceDetails, wording } from "../dispositions.ts";
import type { Settled } from "../states.ts";
import { command } from "../../way.ts";
import { againOf } from "../ways.ts";

export interface AckChoice {
  /** Also acknowledge a read of a limited vault that may not have been delivered. */
  unread: boolean;
  /** The user has saved the new credentials elsewhere: nothing is owed to --save-cmd or --credentials-out any more. */
  saved: boolean;
  /** Saves the recovery document now, in place of the one with the hash `given`; returns the hash of what it has saved. */
  save?: (document: RecoveryDocument, given: string | null) => Promise<string>;
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
  const { uuid } = context.session;
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
  const after = await currentRecord(context);
  if (ended.outcome === "in-doubt") throw inDoubtError(after, context, ended.answer);
  if (ended.outcome === "expired")
    throw expiredError(uuid, { ...exchange, state: "expired" }, ended.answer, "safe");
  const last = lastAcknowledged(after);
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
    const { uuid } = context.session;
    throw new VaultError("pending", `${error.message}; nothing was acknowledged`, {
      uuid,
      exchange: summarize(open),
      next: [
        {
          ...command`vault ack ${uuid} --save-cmd CMD`,
          note: "or --saved, if the new credentials are saved elsewhere",
        },
      ],
    });
  }
}

/**
 * Acknowledges an open exchange that an earlier run left, before a start. Returns what that settled.
 * @throws what `sendEnd` throws
 */
export async function settleInterrupted(
  context: ExchangeContext,
  open: OpenExchange,
): Promise<Settled[]> {
  const { outcome } = await sendEnd(context, open, false);
  const settled = settledAs(open, outcome);
  context.emit({ type: "settled", settled });
  // The start that follows resolves the doubt, and reports it.
  return outcome === "in-doubt" ? [] : [settled];
}

export function settledAs(
  {
    id,
    operation,
    externalRef,
    startedAt,
    by,
  }: Pick<OpenExchange, "id" | "operation" | "externalRef" | "startedAt" | "by">,
  outcome: EndOutcome,
): Settled {
  const acknowledged = operation === "update" ? "applied" : "acknowledged";
  const words = { acknowledged, expired: "not-applied", "in-doubt": "in-doubt" } as const;
  const exchange = { id, operation, externalRef, startedAt, by };
  return { exchange, operation, outcome: words[outcome] };
}

/** What the success of a start with `generation` says about an exchange in doubt. */
export function settledByStart(open: OpenExchange, generation: number): Settled {
  if (generation === open.newGeneration) return settledAs(open, "acknowledged");
  // Neither of its two pairs: somebody may have acknowledged it before.
  return settledAs(open, generation === open.baseGeneration ? "expired" : "in-doubt");
}

export function expiredError(
  uuid: string,
  exchange: ExchangeRecord,
  answer: Answer,
  retry: Retry,
): VaultError {
  const what =
    exchange.operation === "update"
      ? "the update was not applied"
      : "the read was not acknowledged";
  const message = `the service no longer accepts the token (${wording(answer)}); ${what}, and the old credentials are still valid`;
  return new VaultError("service", message, {
    uuid,
    exchange: summarize(exchange),
    service: serviceDetails(answer),
    retry,
    next: [againOf(uuid, exchange)],
  });
}
