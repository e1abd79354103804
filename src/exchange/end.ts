import { VaultError, type ErrorFacts, type Retry } from "../errors.ts";
import { isSuccess, object, type Answer } from "../protocol/answers.ts";
import { command } from "../way.ts";
import { nextAction, type Wish } from "./next-action.ts";
import type { ExchangeContext, EndCall, Reply } from "./ports.ts";
import { currentRecord, note, nextTry } from "./ports.ts";
import type { ExchangeRecord, OpenExchange, VaultRecord } from "./records.ts";
import { openExchange, summarize, tokenExpiresAt } from "./records.ts";
import type { RecoveryDocument } from "./credentials.ts";
import { HandoverFailure, recoveryDocument } from "./recovery.ts";
import { settledAs, type EndOutcome, type Settled } from "./states.ts";

/**
 * Waits, if there is something to wait for.
 * @throws `interrupted` if the user interrupts the command, else what the wait rejects with
 */
export async function throwIfInterrupted(
  context: ExchangeContext,
  exchange?: ExchangeRecord,
  wait?: Promise<void>,
): Promise<void> {
  const { signal } = context;
  await wait?.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (!signal.aborted) return;
  const { interrupted } = await import("./refusals.ts");
  throw await interrupted(context, exchange);
}

/** The outcome, with the answer that refused the end call. */
interface Ended {
  outcome: EndOutcome;
  answer?: Answer | undefined;
}

/** How long an end call may take after the deadline or the first interruption, in milliseconds. */
const graceMs = 5000;

/**
 * Acknowledges an open exchange (③ PUT end ④). Sends at least one call, whatever our clock says, and repeats it until the
 * service answers, the token expires or the deadline passes. With `isLast` nothing follows a SUCCESS: the vault may be released.
 * @throws `pending`, `locked`, `interrupted`; the exchange then stays in state ending
 */
async function sendEnd(
  context: ExchangeContext,
  open: OpenExchange,
  isLast: boolean,
): Promise<Ended> {
  const { session, clock, signal } = context;
  const token = await session.token(open.id);
  const { kind, operation } = open;
  const call: EndCall = { step: "end", uuid: session.uuid, kind, operation, token };
  let exchange = open;
  for (let attempt = 0; ; attempt += 1) {
    await throwIfInterrupted(context, exchange);
    await admitEnd(context, exchange);
    await session.recordEnding(open.id, open.delivered);
    context.emit({ type: "acknowledging", attempt });
    const reply = await asServiceReply(await endWithGrace(context, call), call);
    if (reply.type === "answer") {
      const ended = await settleAnswer(context, exchange, call, reply.answer, isLast);
      if (ended !== null) return ended;
    } else if (reply.type === "not-sent") {
      await session.settle(open.id, "ending", note(context, "network", reply.cause));
    }
    exchange = openExchange(await currentRecord(context), open.id);
    await throwIfInterrupted(context, exchange);
    const answer = reply.type === "not-sent" ? undefined : reply.answer;
    const cause = reply.type === "answer" ? "rate limited" : reply.cause;
    if (reply.type !== "answer" && tokenExpiresAt(exchange) <= clock.now()) {
      // One more try has settled nothing: only a start can find out which pair is valid.
      await session.settle(open.id, "in-doubt", note(context, "in-doubt", cause));
      return { outcome: "in-doubt", answer };
    }
    const waitMs = waitForNextTry(context, exchange, reply, attempt);
    if (waitMs === undefined) throw await outstanding(context, exchange, cause, { answer });
    context.emit({ type: "retrying", step: "end", cause, waitMs });
    await throwIfInterrupted(context, exchange, clock.sleep(waitMs, signal));
  }
}

/**
 * Waits for a place under the rate limit. An end call may wait a little past the deadline, because it finishes what is stored.
 * @throws `pending` if no place comes free in time or the call cannot be authenticated, `interrupted`, `state`
 */
async function admitEnd(context: ExchangeContext, exchange: ExchangeRecord): Promise<void> {
  const { service, clock, signal, deadline } = context;
  try {
    await service.admit(
      { kind: exchange.kind, isEnd: true },
      signal,
      Math.max(deadline, clock.elapsed() + graceMs),
    );
  } catch (error) {
    await throwIfInterrupted(context, exchange);
    if (!(error instanceof VaultError) || error.code === "state") throw error;
    const hint = error.code === "invalid-input" ? error.facts.hint : undefined;
    throw await outstanding(context, exchange, error.message, { hint, cause: error });
  }
}

/**
 * Treats an answer with neither SUCCESS nor ERROR as no answer: a proxy may have written it after the service had
 * processed the call. So is one about the endpoint.
 */
export async function asServiceReply(reply: Reply, call: EndCall): Promise<Reply> {
  if (reply.type !== "answer" || isSuccess(reply.answer)) return reply;
  const { answer } = reply;
  const status = object(answer.body["responseStatus"])?.["status"];
  const { dispositionOf } = await import("./dispositions.ts");
  const { end } = dispositionOf(answer, call);
  if (end === "again" || end === "outstanding") return reply;
  if (status === "ERROR" && end === "refused") return reply;
  const what = status === "ERROR" ? "no such endpoint" : "with neither SUCCESS nor ERROR";
  return { type: "no-answer", cause: `HTTP ${answer.httpStatus} ${what}`, answer };
}

/**
 * Milliseconds until the next end call, which is sent at the latest when the token expires or the deadline passes; undefined
 * if no time is left, or if the service asks for more than is left.
 */
function waitForNextTry(
  context: ExchangeContext,
  exchange: ExchangeRecord,
  reply: Reply,
  attempt: number,
): number | undefined {
  const { clock, deadline } = context;
  const left = Math.min(deadline - clock.elapsed(), tokenExpiresAt(exchange) - clock.now());
  const isAskedFor = reply.type === "answer" && reply.answer.retryAfter !== undefined;
  const { waitMs } = nextTry(context, attempt, reply);
  return left <= 0 || (isAskedFor && waitMs >= left) ? undefined : Math.min(left, waitMs);
}

/**
 * Records what a whole answer to an end call settles; null for a 429. An end call carries nothing but the application and the token, so a
 * definite error that is not about the application, the rate or a lock is about the token.
 */
async function settleAnswer(
  context: ExchangeContext,
  before: OpenExchange,
  call: EndCall,
  answer: Answer,
  isLast: boolean,
): Promise<Ended | null> {
  const { session } = context;
  const { id, endsUnanswered } = before;
  if (isSuccess(answer)) {
    await session.acknowledge(id, isLast).catch(async (error: unknown) => {
      if (!(error instanceof VaultError) || error.code !== "state") throw error;
      const hint = "fix the state, which holds the old and the new credentials";
      const why = `the service accepted it, but that could not be recorded: ${error.message}`;
      throw await outstanding(context, { ...before, state: "ending" }, why, { hint, cause: error });
    });
    return { outcome: "acknowledged" };
  }
  const { dispositionOf, wording } = await import("./dispositions.ts");
  const said = wording(answer);
  const { code, what, end, meaning, fix, next } = dispositionOf(answer, call);
  if (end !== "refused") await session.settle(id, "ending", note(context, code, said));
  if (end === "again") return null;
  const record = await currentRecord(context);
  const exchange = openExchange(record, id);
  if (end === "outstanding") {
    const why = `${what} (${said})${meaning === undefined ? "" : `; ${meaning}`}`;
    const ways = [...(next?.(session.uuid) ?? []), command`vault ack ${session.uuid}`];
    const facts = { answer, hint: fix, next: ways };
    throw await outstanding(context, exchange, why, facts, code === "locked" ? code : "pending");
  }
  const isExpired = endsUnanswered === 0 && isKnownHereOnly(record, exchange);
  const outcome = isExpired ? "expired" : "in-doubt";
  await session.settle(id, outcome, note(context, isExpired ? "service" : outcome, said));
  return { outcome, answer };
}

/** Whether nobody else can have acknowledged the exchange: it began here, never left this state, and its old pair was not refused. */
function isKnownHereOnly({ generations }: VaultRecord, exchange: OpenExchange): boolean {
  const [base, offered] = [exchange.baseGeneration, exchange.newGeneration].map((n) =>
    generations.find((g) => g.generation === n),
  );
  return !exchange.adopted && base?.refused === false && offered?.elsewhere === false;
}

/** Sends an end call; abandons it five seconds after the first interruption, so that its answer is not lost, or at the second. */
async function endWithGrace(context: ExchangeContext, call: EndCall): Promise<Reply> {
  const { clock, killed, service, signal } = context;
  const [late, answered] = [new AbortController(), new AbortController()];
  const onInterrupt = (): void => {
    context.emit({ type: "finishing", atMostMs: graceMs });
    clock.sleep(graceMs, answered.signal).then(
      () => late.abort(signal.reason),
      () => undefined,
    );
  };
  signal.addEventListener("abort", onInterrupt, { once: true });
  if (signal.aborted) onInterrupt();
  try {
    return await service.call(call, AbortSignal.any([killed, late.signal]));
  } finally {
    answered.abort(new Error("answered"));
    signal.removeEventListener("abort", onInterrupt);
  }
}

/** Exit 11: the token may still be valid. */
async function outstanding(
  { session: { uuid } }: ExchangeContext,
  exchange: ExchangeRecord,
  why: string,
  { answer, ...facts }: ErrorFacts & { answer?: Answer | undefined },
  code: "locked" | "pending" = "pending",
): Promise<VaultError> {
  const { serviceDetails } = await import("./dispositions.ts");
  const message = `the new credentials are stored, but the acknowledgement is outstanding: ${why}`;
  return new VaultError(code, message, {
    uuid,
    exchange: summarize(exchange),
    service: answer && serviceDetails(answer),
    next: [command`vault ack ${uuid}`],
    ...facts,
  });
}

/**
 * Acknowledges an open exchange that an earlier run left (docs/design.md, Settling), before a start.
 * @throws what `sendEnd` throws
 */
export async function settleInterrupted(
  context: ExchangeContext,
  open: OpenExchange,
): Promise<Settled> {
  const { outcome } = await sendEnd(context, open, false);
  const settled = settledAs(open, outcome);
  context.emit({ type: "settled", settled });
  return settled;
}

/**
 * Acknowledges an exchange as the last step of a command, which may be repeated as `retry` says. Returns the exchange as it is then.
 * @throws what `sendEnd` throws; `service` if the token has expired: the old credentials are current; `in-doubt`
 */
export async function acknowledge(
  context: ExchangeContext,
  exchange: OpenExchange,
  isLast: boolean,
  retry: Retry,
): Promise<OpenExchange> {
  const { outcome, answer } = await sendEnd(context, exchange, isLast);
  const vault = await currentRecord(context);
  if (outcome === "in-doubt")
    throw (await import("./refusals.ts")).inDoubtError(vault, context, answer);
  if (outcome === "acknowledged") {
    const acknowledgedAt = vault.exchanges.find(({ id }) => id === exchange.id)?.acknowledgedAt;
    return { ...exchange, state: "acknowledged", acknowledgedAt: acknowledgedAt ?? null };
  }
  const { uuid } = vault;
  const { serviceDetails, wording } = await import("./dispositions.ts");
  const what =
    exchange.operation === "update" ? "update was not applied" : "read was not acknowledged";
  const said = answer === undefined ? "" : ` (${wording(answer)})`;
  throw new VaultError(
    "service",
    `the service no longer accepts the token${said}; the ${what}, and the old credentials are still valid`,
    {
      uuid,
      exchange: { ...summarize(exchange), state: "expired" },
      service: answer && serviceDetails(answer),
      retry,
      next: [(await import("./ways.ts")).againOf(uuid, exchange)],
    },
  );
}

export interface AckChoice extends Pick<Wish, "saved" | "unread"> {
  /** Saves the recovery document now, in place of the one with the hash `given`; returns the hash of what it has saved. */
  save?: ((document: RecoveryDocument, given: string | null) => Promise<string>) | undefined;
}

/**
 * Finishes the open exchange of a locked vault. Returns the acknowledged exchange: with none open, the last one if it was
 * acknowledged before; else null.
 * @throws `pending` if a person must decide, and what `acknowledge` throws
 */
export async function acknowledgeOpen(
  context: ExchangeContext,
  choice: AckChoice,
): Promise<OpenExchange | null> {
  const vault = await currentRecord(context);
  const { save, ...wanted } = choice;
  const wish = { ...anAck, ...wanted, saved: wanted.saved === true || save !== undefined };
  const action = nextAction(vault, wish, context);
  if (action.do === "refuse")
    throw (await import("./refusals.ts")).refusalError(vault, action, wish, context);
  // Deletes are never acknowledged, which makes the assertion safe.
  if (action.do !== "end")
    return vault.last?.state === "acknowledged" ? (vault.last as OpenExchange) : null;
  const { exchange } = action;
  if (save !== undefined && exchange.state !== "ending")
    await saveNow(context, exchange, save, await recoveryDocument(context, vault, exchange));
  return await acknowledge(context, exchange, true, "safe");
}

const anAck = { operation: "ack", discardPending: false, force: false } as const;

async function saveNow(
  context: ExchangeContext,
  open: OpenExchange,
  save: NonNullable<AckChoice["save"]>,
  document: RecoveryDocument,
): Promise<void> {
  await context.session.markElsewhere([open.baseGeneration, open.newGeneration]);
  try {
    await context.session.noteSaved(open.id, await save(document, open.given));
  } catch (error) {
    if (!(error instanceof HandoverFailure)) throw error;
    await throwIfInterrupted(context, open);
    const { waysOn } = await import("./ways.ts");
    throw new VaultError("pending", `${error.message}; nothing was acknowledged`, {
      uuid: context.session.uuid,
      exchange: summarize(open),
      next: waysOn(await currentRecord(context), context),
    });
  }
}
