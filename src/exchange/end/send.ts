import { VaultError } from "../../errors.ts";
import { isSuccess, object } from "../../protocol/answers.ts";
import type { Answer } from "../../protocol/answers.ts";
import { command } from "../../way.ts";
import type { ExchangeContext } from "../context.ts";
import {
  currentRecord,
  interrupted,
  note,
  openExchange,
  pause,
  summarize,
  throwIfInterrupted,
  isTokenAlive,
  tokenExpiresAt,
  nextTry,
} from "../context.ts";
import { dispositionOf, serviceDetails, wording } from "../dispositions.ts";
import type { EndCall, Reply } from "../ports.ts";
import type { ExchangeRecord, OpenExchange, VaultRecord } from "../records.ts";

/** Replies that settle nothing. */
type Unsettled = Exclude<Reply, { type: "answer" }>;

/** How an exchange ended: only the service's answer decides it. */
export type EndOutcome = "acknowledged" | "expired" | "in-doubt";

/** The outcome, with the answer that refused the end call. */
type Ended =
  | { outcome: "acknowledged" }
  | { outcome: "expired"; answer: Answer }
  | { outcome: "in-doubt"; answer: Answer | undefined };

/** How long an end call may take after the deadline or the first interruption, in milliseconds. */
const graceMs = 5000;

/**
 * Acknowledges an open exchange (③ PUT end ④). Sends at least one call, whatever our clock says, and repeats it until the
 * service answers, the token expires or the deadline passes. With `isLast` nothing follows a SUCCESS: the vault may be released.
 * @throws `pending`, `locked`, `interrupted`; the exchange then stays in state ending
 */
export async function sendEnd(
  context: ExchangeContext,
  open: OpenExchange,
  delivered: boolean,
  isLast = false,
): Promise<Ended> {
  const { session } = context;
  const token = await session.token(open.id);
  const { kind, operation } = open;
  const call: EndCall = { step: "end", uuid: session.uuid, kind, operation, token };
  let exchange = open;
  for (let attempt = 0; ; attempt += 1) {
    throwIfInterrupted(context, exchange);
    await admitEnd(context, exchange);
    await session.recordEnding(open.id, delivered);
    context.emit({ type: "acknowledging", attempt });
    const reply = asServiceReply(await endWithGrace(context, call), call);
    if (reply.type === "answer") {
      const ended = await settleAnswer(context, exchange, call, reply.answer, isLast);
      if (ended !== "again") return ended;
    } else if (reply.type === "not-sent") {
      await session.noteEndAnswered(open.id, note(context, "network", reply.cause));
    }
    exchange = openExchange(await currentRecord(context), open.id);
    if (context.signal.aborted) throw interrupted(context, exchange);
    if (reply.type !== "answer" && !isTokenAlive(exchange, context.clock.now()))
      return await giveUp(context, exchange, reply);
    const waitMs = waitForNextTry(context, exchange, reply, attempt);
    if (waitMs === undefined) throw outstanding(context, exchange, reply);
    context.emit({
      type: "retrying",
      step: "end",
      cause: reply.type === "answer" ? "rate limited" : reply.cause,
      waitMs,
    });
    await pause(context, waitMs, exchange);
  }
}

/** The token is past its expiry and one more try settled nothing: only a start can find out which pair is valid. */
async function giveUp(
  context: ExchangeContext,
  exchange: OpenExchange,
  reply: Unsettled,
): Promise<Ended> {
  await context.session.markInDoubt(exchange.id, note(context, "in-doubt", reply.cause));
  return { outcome: "in-doubt", answer: reply.type === "no-answer" ? reply.answer : undefined };
}

/**
 * Waits for a place under the rate limit. An end call may wait a little past the deadline, because it finishes what is stored.
 * @throws `pending` if no place comes free in time or the call cannot be authenticated, `interrupted`, `state`
 */
async function admitEnd(context: ExchangeContext, exchange: ExchangeRecord): Promise<void> {
  const { service, clock, signal, deadline, session } = context;
  try {
    await service.admit(
      { kind: exchange.kind, isEnd: true },
      signal,
      Math.max(deadline, clock.elapsed() + graceMs),
    );
  } catch (error) {
    if (signal.aborted) throw interrupted(context, exchange);
    if (!(error instanceof VaultError) || error.code === "state") throw error;
    throw new VaultError(
      "pending",
      `the new credentials are stored, but the acknowledgement is outstanding: ${error.message}`,
      {
        uuid: session.uuid,
        exchange: summarize(exchange),
        hint: error.code === "invalid-input" ? error.facts.hint : undefined,
        next: [command`vault ack ${session.uuid}`],
        cause: error,
      },
    );
  }
}

/**
 * Treats an answer with neither SUCCESS nor ERROR as no answer: a proxy may have written it after the service had
 * processed the call. So is one about the endpoint.
 */
function asServiceReply(reply: Reply, call: EndCall): Reply {
  if (reply.type !== "answer") return reply;
  const { answer } = reply;
  const status = object(answer.body["responseStatus"])?.["status"];
  const { end } = dispositionOf(answer, call);
  if (status === "SUCCESS" || end === "again" || end === "outstanding") return reply;
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
 * Records what a whole answer to an end call settles. An end call carries nothing but the application and the token, so a
 * definite error that is not about the application, the rate or a lock is about the token.
 */
async function settleAnswer(
  context: ExchangeContext,
  before: OpenExchange,
  call: EndCall,
  answer: Answer,
  isLast: boolean,
): Promise<Ended | "again"> {
  const { session } = context;
  const { id, endsUnanswered } = before;
  if (isSuccess(answer)) {
    await acknowledge(context, id, isLast);
    return { outcome: "acknowledged" };
  }
  const said = wording(answer);
  const { code, what, end, meaning, fix, next } = dispositionOf(answer, call);
  if (end !== "refused") await session.noteEndAnswered(id, note(context, code, said));
  if (end === "again") return "again";
  const record = await currentRecord(context);
  const exchange = openExchange(record, id);
  const facts = {
    uuid: session.uuid,
    exchange: summarize(exchange),
    service: serviceDetails(answer),
  };
  if (code === "unauthorized") {
    throw new VaultError(
      "pending",
      `the new credentials are stored, but ${what} at the acknowledgement (${said})`,
      {
        ...facts,
        hint: fix,
        next: [command`vault ack ${session.uuid}`],
      },
    );
  }
  if (end === "outstanding") {
    throw new VaultError(
      "locked",
      `${what}, and the acknowledgement is outstanding (${said}); ${meaning}`,
      {
        ...facts,
        next: [...(next?.(session.uuid) ?? []), command`vault ack ${session.uuid}`],
      },
    );
  }
  if (endsUnanswered === 0 && isKnownHereOnly(record, exchange)) {
    await session.expire(id, note(context, "service", said));
    return { outcome: "expired", answer };
  }
  await session.markInDoubt(id, note(context, "in-doubt", said));
  return { outcome: "in-doubt", answer };
}

/** Whether nobody else can have acknowledged the exchange: it began here, never left this state, and its old pair was not refused. */
function isKnownHereOnly({ generations }: VaultRecord, exchange: OpenExchange): boolean {
  const [base, offered] = [exchange.baseGeneration, exchange.newGeneration].map((n) =>
    generations.find((g) => g.generation === n),
  );
  return !exchange.adopted && base?.refused === false && offered?.elsewhere === false;
}

async function acknowledge(
  context: ExchangeContext,
  exchangeId: string,
  isLast: boolean,
): Promise<void> {
  try {
    await context.session.acknowledge(exchangeId, isLast);
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== "state") throw error;
    throw new VaultError(
      "pending",
      `the service accepted the acknowledgement, but it could not be recorded: ${error.message}`,
      {
        uuid: context.session.uuid,
        hint: "fix the state, which holds the old and the new credentials",
        next: [command`vault ack ${context.session.uuid}`],
        cause: error,
      },
    );
  }
}

/** Sends an end call; abandons it five seconds after the first interruption, so that its answer is not lost, or at the second. */
async function endWithGrace(context: ExchangeContext, call: EndCall): Promise<Reply> {
  const givenUp = new AbortController();
  let grace: AbortController | undefined;
  const onInterrupt = (): void => {
    context.emit({ type: "finishing", atMostMs: graceMs });
    grace = new AbortController();
    context.clock.sleep(graceMs, grace.signal).then(
      () => givenUp.abort(context.signal.reason),
      () => undefined,
    );
  };
  const onKill = (): void => givenUp.abort(context.killed.reason);
  context.killed.addEventListener("abort", onKill, { once: true });
  context.signal.addEventListener("abort", onInterrupt, { once: true });
  if (context.signal.aborted) onInterrupt();
  if (context.killed.aborted) onKill();
  try {
    return await context.service.call(call, givenUp.signal);
  } finally {
    grace?.abort(new Error("answered"));
    context.signal.removeEventListener("abort", onInterrupt);
    context.killed.removeEventListener("abort", onKill);
  }
}

function outstanding(context: ExchangeContext, exchange: ExchangeRecord, reply: Reply): VaultError {
  const { uuid } = context.session;
  const cause = reply.type === "answer" ? "rate limited" : reply.cause;
  const facts = {
    uuid,
    exchange: summarize(exchange),
    service: reply.type === "not-sent" ? undefined : reply.answer && serviceDetails(reply.answer),
  };
  return new VaultError(
    "pending",
    `the new credentials are stored, but the acknowledgement is outstanding: ${cause}`,
    {
      ...facts,
      next: [command`vault ack ${uuid}`],
    },
  );
}
