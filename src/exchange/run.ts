import { VaultError } from "../errors.ts";
import type { Kind } from "../protocol/endpoints.ts";
import { object } from "../protocol/answers.ts";
import { expiredError, inDoubtError } from "./end/acknowledge.ts";
import { adoptRecovery } from "./recovery/adopt.ts";
import { after } from "./breaker.ts";
import type { ExchangeContext } from "./context.ts";
import {
  circumstances,
  currentRecord,
  interrupted,
  summarize,
  throwIfInterrupted,
} from "./context.ts";
import { withErrorFacts } from "./error-facts.ts";
import { guardStart } from "./guard.ts";
import type { Delivery, Handover } from "./handover.ts";
import { HandoverFailure } from "./handover.ts";
import type { Attempts, ExchangeRecord, OpenExchange, VaultRecord } from "./records.ts";
import type { PairChoice } from "./start/choose-pair.ts";
import type { Prepared } from "./start/prepare.ts";
import { prepare } from "./start/prepare.ts";
import { bareCredentials, recoveryDocument } from "./recovery/of-exchange.ts";
import type { RecoveryDocument } from "./recovery/document.ts";
import { sendEnd } from "./end/send.ts";
import type { Left } from "./end/settle.ts";
import { settledAs, settledByStart, settleInterrupted, toSettle } from "./end/settle.ts";
import type { StartedWith, StartRequest } from "./start/try-candidates.ts";
import { startWith } from "./start/try-candidates.ts";
import type { Settled } from "./states.ts";

export interface ExchangeRequest extends StartRequest {
  /** Given instead of a pair. */
  recovery?: RecoveryDocument | undefined;
  /** Counters that came with the given credentials; recorded before anything is sent. */
  attempts?: Attempts | undefined;
  discardPending: boolean;
}

export interface ExchangeResult {
  delivery: Delivery;
  /** `acknowledged`, or `held` with --no-ack. */
  exchange: ExchangeRecord;
}

/**
 * Runs one whole exchange with a locked vault (DESIGN, The exchange): settle, guard, ① start ② deliver ③ end ④.
 * @throws every kind of error with the exit codes 2 to 15, and 130. Whatever it throws, the state holds a pair that the service
 * accepts and knows which one, or knows that it is one of two
 */
export async function runExchange(
  context: ExchangeContext,
  request: ExchangeRequest,
): Promise<ExchangeResult> {
  return await withErrorFacts(context, async (watched) => await exchangeWith(watched, request));
}

async function exchangeWith(
  context: ExchangeContext,
  request: ExchangeRequest,
): Promise<ExchangeResult> {
  if (request.recovery !== undefined) await adoptRecovery(context, request.recovery);
  const known = await context.session.read();
  const plan = await planExchange(context, known, request);
  const settled = known === null ? [] : await settleInterrupted(context, known, plan.left);
  throwIfInterrupted(context);
  const recordedAs = await recordGiven(context, request, plan);
  if (request.attempts !== undefined) await takeOver(context, request.attempts);
  const before = await currentRecord(context);
  const generation = generationOf(request, before, recordedAs);
  const started = await startWith(context, before, { ...request, generation }, plan);
  const stored = await store(context, request, plan.kind, started, settled);
  return await deliverAndEnd(context, request, stored);
}

/** Records what came with the given credentials. */
async function takeOver({ session, breaker }: ExchangeContext, attempts: Attempts): Promise<void> {
  await session.mergeAttempts(attempts);
  const { breaker: carried } = attempts;
  if (carried !== undefined)
    await breaker.change((now) => after(now, { type: "carried", breaker: carried }));
}

/** What an exchange does first and starts with: `runExchange` does it, --dry-run shows it. */
export interface ExchangePlan extends Prepared {
  left: Left;
}

/**
 * Decides all that can be decided before anything is written or sent. `choice` is what to start with, where that is not the
 * request's.
 * @throws what `prepare` and `toSettle` throw
 */
export async function planExchange(
  context: ExchangeContext,
  record: VaultRecord | null,
  request: ExchangeRequest,
  choice: PairChoice = request,
): Promise<ExchangePlan> {
  const prepared = await prepare(context, record, request.operation, choice);
  return {
    ...prepared,
    left:
      record === null
        ? "by the start"
        : toSettle(record, context.policy, request, context.clock.now()),
  };
}

/** The generation to send: the chosen one, else the given pair unless an exchange is open, which decides between its two. */
export const generationOf = (
  { generation }: Pick<ExchangeRequest, "generation">,
  { open }: Pick<VaultRecord, "open">,
  recordedAs: number | undefined,
): number | undefined => generation ?? (open === null ? recordedAs : undefined);

async function recordGiven(
  context: ExchangeContext,
  request: ExchangeRequest,
  prepared: Prepared,
): Promise<number | undefined> {
  if (request.given === undefined || prepared.recordedAs !== undefined) return prepared.recordedAs;
  const record = await context.session.read();
  if (record !== null && !request.force) guardStart(record, circumstances(context));
  return await context.session.recordPair({
    credentials: bareCredentials(request.given),
    kind: prepared.kind,
    device: request.device,
    sole: request.attempts?.sole === true,
  });
}

interface Stored {
  delivery: Delivery;
  /** The exchange after ②. */
  exchange: OpenExchange;
}

/** ② Makes the new pair durable; the contents stay in memory. */
async function store(
  context: ExchangeContext,
  request: ExchangeRequest,
  kind: Kind,
  { before, pair, sent: { exchangeId, success } }: StartedWith,
  settled: readonly Settled[],
): Promise<Stored> {
  const { hashedPin } = pair.credentials;
  const recorded = context.session.recordStarted(exchangeId, {
    pair: success.pair,
    hashedPin,
    device: pair.device,
    token: success.token,
    tokenExpiry: success.tokenExpiry,
    usesRemaining: success.usesRemaining,
    limited: success.usesRemaining !== null || before.limited,
    expiryDate: success.expiryDate,
    autoLockDate: success.autoLockDate,
    dateCreated: success.dateCreated,
    lastModified: success.lastModified,
    combination: pair.combination,
    elsewhere: request.handover.leavesState,
    given: request.handover.given,
  });
  // A round trip to a shared state does for both.
  const endsSoon = !request.noAck && request.handover.takesTime !== true;
  const [generation] = await Promise.all([
    recorded,
    endsSoon ? context.service.reserveAhead({ isEnd: true }, context.deadline) : undefined,
  ]);
  context.emit({ type: "stored", generation });
  for (const message of success.warnings) context.emit({ type: "warning", message });
  const found = left(before.open, pair.generation, request.discardPending);
  for (const one of found) context.emit({ type: "settled", settled: one });
  const record = await currentRecord(context);
  const exchange = openOf(record, exchangeId);
  const delivery: Delivery = {
    vault: success.vault,
    label: record.label,
    kind,
    exchange: {
      id: exchangeId,
      operation: exchange.operation,
      externalRef: exchange.externalRef,
      startedAt: exchange.startedAt,
      tokenExpiry: exchange.tokenExpiry,
      generation,
    },
    fingerprint: record.generations.find((g) => g.generation === generation)?.fingerprint ?? "",
    settled: [...settled, ...found],
    lastRead:
      exchange.operation === "get" && exchange.limited && (exchange.usesRemaining ?? 0) <= 1,
    recovery: await recoveryDocument(context, record, exchange),
  };
  return { delivery, exchange };
}

/** What this start has settled: an exchange in doubt, or a held one whose token has expired. */
function left(open: OpenExchange | null, generation: number, discardPending: boolean): Settled[] {
  if (open?.state === "in-doubt" || (open !== null && open.endsUnanswered > 0))
    return [settledByStart(open, generation)];
  return open?.state === "held" && !discardPending ? [settledAs(open, "expired")] : [];
}

/** Delivers, then ③, the end call and ④, in this order. */
async function deliverAndEnd(
  context: ExchangeContext,
  request: ExchangeRequest,
  stored: Stored,
): Promise<ExchangeResult> {
  const { delivery, exchange } = stored;
  const { id } = exchange;
  try {
    if (delivery.recovery.unread === true) checkContents(delivery, request.handover);
    await request.handover.deliver(delivery);
    const { given } = request.handover;
    if (given !== undefined && given !== exchange.given) await context.session.noteSaved(id, given);
  } catch (error) {
    const held = await holdFor(context, exchange, error);
    if (request.noAck && error instanceof HandoverFailure && error.reason === "masked")
      return { delivery, exchange: held };
    throw notHandedOver(context, held, error);
  }
  if (request.noAck) {
    await context.session.hold(id, "no-ack", { delivered: true, saveOwed: false });
    return { delivery, exchange: openOf(await currentRecord(context), id) };
  }
  const ended = await sendEnd(context, exchange, true, !request.handover.leavesState).catch(
    (error: unknown) => {
      if (error instanceof VaultError && error.code === "state")
        throw error.with({ uuid: context.session.uuid, exchange: summarize(exchange) });
      throw error;
    },
  );
  // The start counts, so a repetition is not safe.
  if (ended.outcome === "expired")
    throw expiredError(context, { ...exchange, state: "expired" }, ended.answer, "after-status");
  if (ended.outcome === "in-doubt")
    throw inDoubtError(context, { ...exchange, state: "in-doubt" }, ended.answer);
  context.emit({ type: "acknowledged", generation: delivery.exchange.generation });
  await confirm(context, request.handover, delivery);
  const { last } = await currentRecord(context);
  return { delivery, exchange: last?.id === id ? last : { ...exchange, state: "acknowledged" } };
}

/** @throws HandoverFailure if the answer lacks the contents: acknowledging would use up a read that delivered nothing */
function checkContents({ kind, vault }: Delivery, { leavesState }: Handover): void {
  const contents = kind.startsWith("generic")
    ? vault["content"]
    : object(vault["creditCard"])?.["number"];
  if (typeof contents === "string" && (contents !== "" || kind.startsWith("generic"))) return;
  throw new HandoverFailure("delivery", "the service's response lacks the contents of the vault", {
    delivered: false,
    saveOwed: leavesState,
  });
}

async function holdFor(
  context: ExchangeContext,
  exchange: OpenExchange,
  error: unknown,
): Promise<ExchangeRecord> {
  // Interrupted by the user: the exchange stays at ②, where the delivery of the contents is unknown.
  if (error instanceof VaultError && error.code === "interrupted") return exchange;
  const failure = error instanceof HandoverFailure ? error : undefined;
  await context.session.hold(exchange.id, failure?.reason ?? "delivery", {
    delivered: failure?.delivered ?? false,
    saveOwed: failure?.saveOwed ?? false,
  });
  return openOf(await currentRecord(context), exchange.id);
}

function notHandedOver(context: ExchangeContext, held: ExchangeRecord, error: unknown): VaultError {
  const { uuid } = context.session;
  // An interruption can also have ended a --save-cmd, for which the exchange is held then.
  if (context.signal.aborted || (error instanceof VaultError && error.code === "interrupted"))
    return interrupted(context, held);
  const message = error instanceof Error ? error.message : String(error);
  const ways = held.saveOwed
    ? `vault ack ${uuid} --save-cmd CMD (or --saved)`
    : `vault ack ${uuid}${held.limited && !held.delivered ? " --unread" : ""}`;
  return new VaultError(
    "pending",
    `${message}; the new credentials are stored, but not acknowledged`,
    {
      uuid,
      exchange: summarize(held),
      hint:
        (error instanceof HandoverFailure ? error.hint : undefined) ??
        `vault ${held.operation} ${uuid} --discard-pending (starts again with the old credentials); ${ways}`,
    },
  );
}

async function confirm(
  context: ExchangeContext,
  handover: Handover,
  delivery: Delivery,
): Promise<void> {
  try {
    await handover.confirm(bareCredentials(delivery.recovery.new));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.emit({ type: "warning", message: `the exchange is acknowledged, but ${message}` });
  }
}

function openOf(record: VaultRecord, id: string): OpenExchange {
  if (record.open?.id !== id)
    throw new VaultError("internal", `exchange ${id} is not the open one of this vault`);
  return record.open;
}
