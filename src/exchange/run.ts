import { VaultError } from "../errors.ts";
import { object, type StartSuccess } from "../protocol/answers.ts";
import { isCreditCard } from "../protocol/endpoints.ts";
import { withFlags } from "../way.ts";
import { acknowledge, notAcknowledged, throwIfInterrupted } from "./end.ts";
import { currentRecord } from "./context.ts";
import type { ExchangeContext, VaultSession } from "./ports.ts";
import { bareCredentials, isUnread, openExchange, summarize } from "./records.ts";
import type { Intent, OpenExchange } from "./records.ts";
import type { Delivery, Handover } from "./recovery.ts";
import { HandoverFailure, adoptable, recoveryDocument } from "./recovery.ts";
import { untilAccepted, type Accepted } from "./start/send.ts";
import type { Start } from "./start/start.ts";

/**
 * Runs one whole exchange (docs/design.md, The exchange) with a locked vault, one durable step for each answer of `nextAction`: settle,
 * ① start ② deliver ③ end ④. Returns what was delivered, with the exchange as it is then: `acknowledged`, or `held` with --no-ack.
 * @throws every kind of error with the exit codes 2 to 15, and 130. Whatever it throws, the state holds a pair that the service
 * accepts and knows which one, or knows that it is one of two
 */
export async function runExchange(
  context: ExchangeContext,
  start: Start,
  handover: Handover,
): Promise<Delivery> {
  const { given } = start;
  if (given?.type === "recovery") await context.session.adopt(adoptable(given.document));
  const accepted = await untilAccepted(context, start);
  const delivery = await recordNewPair(context, start, handover, accepted);
  return await deliverAndEnd(context, start, handover, delivery);
}

/** ② Makes the new pair durable; the contents stay in memory. */
async function recordNewPair(
  context: ExchangeContext,
  start: Start,
  handover: Handover,
  { before, start: sent, ...accepted }: Accepted,
): Promise<Delivery> {
  const {
    exchangeId,
    credentials: { hashedPin },
    device,
    combination,
  } = sent;
  // Only a delete has none.
  const success = accepted.success as StartSuccess;
  const { vault, warnings, ...received } = success;
  const settled = await context.session.recordStarted(exchangeId, {
    ...received,
    hashedPin,
    device,
    limited: success.usesRemaining !== null || before.limited,
    combination,
    elsewhere: handover.leavesState || handover.passesCredentials === true,
    given: handover.replaces,
    discardPending: start.discardPending,
  });
  for (const message of warnings) context.emit({ type: "warning", message });
  if (settled !== null) context.emit({ type: "settled", settled });
  const record = await currentRecord(context);
  const exchange = openExchange(record, exchangeId);
  return {
    uuid: context.session.uuid,
    label: record.label ?? start.label,
    kind: exchange.kind,
    vault,
    exchange,
    credentials: bareCredentials({ ...success.pair, hashedPin }),
    settled: [...context.settled.values()],
    lastRead:
      exchange.operation === "get" && exchange.limited && (exchange.usesRemaining ?? 0) <= 1,
    recovery: async () => await recoveryDocument(context, record, exchange),
  };
}

/** Delivers, then ③, the end call and ④, in this order. */
async function deliverAndEnd(
  context: ExchangeContext,
  { noAck }: Start,
  handover: Handover,
  delivery: Delivery,
): Promise<Delivery> {
  const { exchange } = delivery;
  const { id } = exchange;
  const { clock } = context;
  const from = clock.elapsed();
  try {
    if (isUnread(exchange)) checkContents(delivery);
    await handover.deliver(delivery);
    const { replaces } = handover;
    if (replaces !== undefined && replaces !== exchange.given)
      await context.session.noteSaved(id, replaces);
  } catch (error) {
    // Interrupted by the user: the exchange stays at ②, where the delivery of the contents is unknown.
    if (error instanceof VaultError && error.code === "interrupted") {
      const { interrupted } = await import("./refusals.ts");
      throw await interrupted(context, exchange);
    }
    const failure = asFailure(error);
    const { delivered, needs, reason } = failure;
    const saveOwed = delivered || handover.leavesState;
    const held = await hold(context, id, reason, { delivered, saveOwed });
    if (noAck && reason === "masked" && !saveOwed) return { ...delivery, exchange: held };
    // An interruption can also have ended a --save-cmd.
    await throwIfInterrupted(context, held);
    const { line } = handover;
    const again =
      needs === null ? undefined : line && withFlags(line, "--discard-pending", ...needs);
    const message = `${failure.message}; the new credentials are stored, but not acknowledged`;
    throw await notAcknowledged(context, held, message, again);
  }
  if (noAck) {
    const held = await hold(context, id, "no-ack", { delivered: true, saveOwed: false });
    return { ...delivery, exchange: held };
  }
  // A program may have run for hours: what a delivery takes is not time of waiting.
  const inTime = { ...context, deadline: context.deadline + clock.elapsed() - from };
  // The start counts, so a repetition is not safe.
  const acknowledged = await acknowledge(
    inTime,
    { ...exchange, delivered: true },
    !handover.leavesState,
    "after-status",
  ).catch((error: unknown) => {
    if (error instanceof VaultError && error.code === "state")
      throw error.with({ uuid: context.session.uuid, exchange: summarize(exchange) });
    throw error;
  });
  try {
    await handover.confirm(delivery);
  } catch (error) {
    const { message } = asFailure(error);
    context.emit({ type: "warning", message: `the exchange is acknowledged, but ${message}` });
  }
  return { ...delivery, exchange: acknowledged };
}

/** @throws HandoverFailure if the answer lacks the contents: acknowledging would use up a read that delivered nothing */
function checkContents({ kind, vault }: Delivery): void {
  const contents = isCreditCard(kind) ? object(vault["creditCard"])?.["number"] : vault["content"];
  if (typeof contents === "string" && (contents !== "" || !isCreditCard(kind))) return;
  throw new HandoverFailure("delivery", "the service's response lacks the contents of the vault");
}

const asFailure = (error: unknown): HandoverFailure =>
  error instanceof HandoverFailure
    ? error
    : new HandoverFailure("delivery", error instanceof Error ? error.message : String(error));

async function hold(
  context: ExchangeContext,
  ...[id, ...why]: Parameters<VaultSession["hold"]>
): Promise<OpenExchange> {
  await context.session.hold(id, ...why);
  return openExchange(await currentRecord(context), id);
}

/**
 * Deletes a locked vault (extended). The service asks for its credentials and counts wrong ones as failed attempts: it is a start with
 * another call, until it is known that nothing arrived. A call that may have arrived is never repeated. After a SUCCESS the vault's
 * credentials are removed.
 * @throws what a start throws
 */
export async function deleteVault(
  context: ExchangeContext,
  request: Pick<Start, "device" | "discardPending" | "externalRef" | "force">,
): Promise<Pick<Intent, "externalRef" | "generation" | "kind">> {
  const { session } = context;
  const start = { ...request, uuid: session.uuid, label: null, operation: "delete" } as const;
  const { start: sent } = await untilAccepted(context, start);
  await session.recordDeleted(sent.exchangeId);
  return sent;
}
