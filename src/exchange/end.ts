import { VaultError, type ErrorFacts, type ErrorKind, type Retry } from "../errors.ts";
import { isSuccess, type Answer } from "../protocol/answers.ts";
import { command, type Way } from "../way.ts";
import { nextAction, type Wish } from "./next-action.ts";
import type { ExchangeContext, EndCall, Reply } from "./ports.ts";
import { currentRecord, nextTry } from "./context.ts";
import type { EndOutcome, ExchangeRecord, OpenExchange, Settled, VaultRecord } from "./records.ts";
import { openExchange, settledAs, summarize, tokenExpiresAt } from "./records.ts";
import type { RecoveryDocument } from "./credentials.ts";
import { HandoverFailure, recoveryDocument } from "./recovery.ts";

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
  const { session, service, clock, signal, deadline } = context;
  const { uuid } = session;
  const { id, kind, operation } = open;
  const call: EndCall = { step: "end", uuid, kind, operation, token: await session.token(id) };
  let exchange = open;
  for (let attempt = 0; ; attempt += 1) {
    await throwIfInterrupted(context, exchange);
    // It may wait a little past the deadline, because it finishes what is stored.
    const latest = Math.max(deadline, clock.elapsed() + graceMs);
    await service.admit({ kind, isEnd: true }, signal, latest).catch(async (error: unknown) => {
      await throwIfInterrupted(context, exchange);
      if (!(error instanceof VaultError) || error.code === "state") throw error;
      const { message, facts } = error;
      throw await outstanding(context, exchange, message, { hint: facts.hint, cause: error });
    });
    await session.recordEnding(id, open.delivered);
    context.emit({ type: "acknowledging", attempt });
    const reply = await endWithGrace(context, call);
    if (reply.type === "answer" && isSuccess(reply.answer)) {
      await session.acknowledge(id, isLast).catch(async (error: unknown) => {
        if (!(error instanceof VaultError) || error.code !== "state") throw error;
        const hint = "fix the state, which holds the old and the new credentials";
        const why = `the service accepted it, but that could not be recorded: ${error.message}`;
        const ending = { ...exchange, state: "ending" } as const;
        throw await outstanding(context, ending, why, { hint, cause: error });
      });
      return { outcome: "acknowledged" };
    }
    const { meaningOf, sentence } = await import("./dispositions.ts");
    const said = meaningOf(reply, call);
    const { answer, end, code, cause } = said;
    // What was not sent, or was answered, does not leave the call unanswered.
    if (end === "again" || end === "outstanding" || reply.type === "not-sent")
      await session.settle(id, "ending", { code, message: context.redact(cause) });
    const record = await currentRecord(context);
    exchange = openExchange(record, id);
    if (end === "outstanding") {
      const next = [...(said.next?.(uuid) ?? []), command`vault ack ${uuid}`];
      const facts = { answer, hint: said.fix, next };
      throw await outstanding(context, exchange, sentence(said), facts, code);
    }
    if (end !== "refused") await throwIfInterrupted(context, exchange);
    const isLate = end === "nothing" && tokenExpiresAt(exchange) <= clock.now();
    if (end === "refused" || isLate) {
      // It carries nothing but the application and the token, so a definite error is about the token. Where one more try after its expiry
      // has settled nothing, only a start can find out which pair is valid.
      const isOwn = exchange.endsUnanswered === 1 && isKnownHereOnly(record, exchange);
      const outcome = isOwn && !isLate ? "expired" : "in-doubt";
      const as = outcome === "expired" ? "service" : outcome;
      await session.settle(id, outcome, { code: as, message: context.redact(cause) });
      return { outcome, answer };
    }
    // The next one is sent at the latest when the token expires or the deadline passes.
    const left = Math.min(deadline - clock.elapsed(), tokenExpiresAt(exchange) - clock.now());
    // What is not the service's own, or about the endpoint, says nothing of when.
    const { waitMs } = nextTry(context, attempt, end === "again" ? reply : undefined);
    const isAskedFor = end === "again" && answer?.retryAfter !== undefined;
    if (left <= 0 || (isAskedFor && waitMs >= left))
      throw await outstanding(context, exchange, cause, { answer });
    const wait = Math.min(left, waitMs);
    context.emit({ type: "retrying", step: "end", cause, waitMs: wait });
    await throwIfInterrupted(context, exchange, clock.sleep(wait, signal));
  }
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
  because?: ErrorKind,
): Promise<VaultError> {
  const { serviceDetails } = await import("./dispositions.ts");
  const message = `the new credentials are stored, but the acknowledgement is outstanding: ${why}`;
  return new VaultError(because === "locked" ? because : "pending", message, {
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
  if (outcome === "acknowledged") {
    const acknowledgedAt = vault.exchanges.find(({ id }) => id === exchange.id)?.acknowledgedAt;
    return { ...exchange, state: "acknowledged", acknowledgedAt: acknowledgedAt ?? null };
  }
  const { uuid } = vault;
  const { serviceDetails, wording } = await import("./dispositions.ts");
  const { againOf, inDoubtError } = await import("./refusals.ts");
  const service = answer && serviceDetails(answer);
  if (outcome === "in-doubt") throw inDoubtError(vault, context, service);
  const what =
    exchange.operation === "update" ? "update was not applied" : "read was not acknowledged";
  const said = answer === undefined ? "" : ` (${wording(answer)})`;
  throw new VaultError(
    "service",
    `the service no longer accepts the token${said}; the ${what}, and the old credentials are still valid`,
    {
      uuid,
      exchange: { ...summarize(exchange), state: "expired" },
      service,
      retry,
      next: [againOf(uuid, exchange)],
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
  if (save !== undefined && exchange.state !== "ending") {
    const { session } = context;
    await session.markElsewhere([exchange.baseGeneration, exchange.newGeneration]);
    const document = await recoveryDocument(context, vault, exchange);
    try {
      await session.noteSaved(exchange.id, await save(document, exchange.given));
    } catch (error) {
      if (!(error instanceof HandoverFailure)) throw error;
      await throwIfInterrupted(context, exchange);
      throw await notAcknowledged(context, exchange, `${error.message}; nothing was acknowledged`);
    }
  }
  return await acknowledge(context, exchange, true, "safe");
}

const anAck = { operation: "ack", discardPending: false, force: false } as const;

/** Exit 11: the exchange waits for a decision. `again` starts it again. */
export async function notAcknowledged(
  context: ExchangeContext,
  exchange: OpenExchange,
  message: string,
  again?: Way,
): Promise<VaultError> {
  const { waysOn } = await import("./refusals.ts");
  return new VaultError("pending", message, {
    uuid: context.session.uuid,
    exchange: summarize(exchange),
    next: waysOn(await currentRecord(context), context, again),
  });
}
