import { defined } from "../defined.ts";
import { VaultError, type ErrorKind } from "../errors.ts";
import { command, noted } from "../way.ts";
import { spentBy } from "./counting.ts";
import type {
  ExchangeContext,
  ExchangeEvent,
  Reply,
  Send,
  Service,
  StartCall,
  Store,
  Waiting,
} from "./ports.ts";
import { currentRecord } from "./ports.ts";
import {
  acceptedBy,
  isOfService,
  isTakenBack,
  learnProbes,
  outcomeOf,
} from "./start/breaker-gate.ts";
import { otherService } from "./start/start.ts";

/** The context of an exchange that has no vault yet. */
export interface LockContext extends Omit<
  ExchangeContext,
  "session" | "service" | "breaker" | "deadline" | "signal" | "settled"
> {
  store: Pick<Store, "breaker" | "find" | "lock">;
  waiting: Waiting;
  /** Creates the client, on the first call. */
  service: () => Promise<Service>;
  /** Name in the state of the service that the settings give. */
  serviceName: () => string;
  /** Whether the settings name a service. */
  isConfigured: boolean;
  /** Credentials for this base URL are given: the vault may be known under another one, too. */
  given?: boolean;
  /** Nothing will be sent: without a configured base URL, use the one under which the vault is known. */
  local?: boolean;
}

/**
 * Locks a vault for `withVault`.
 * @throws `busy` at the deadline, `interrupted`, `state`, `no-credentials` for a vault that is known only under another base URL,
 * and what `serviceName` throws
 */
export async function lockVault(lockContext: LockContext, uuid: string): Promise<ExchangeContext> {
  const { store, service, serviceName, isConfigured, waiting, given, local, ...context } =
    lockContext;
  const { deadline, signal } = waiting;
  const [only, ...more] = local === true && !isConfigured ? await store.find(uuid) : [];
  const here = only !== undefined && more.length === 0 ? only.service : serviceName();
  const session = await store.lock(here, uuid, waiting);
  try {
    const record = await session.read();
    // A vault that is known here needs no second look, which a shared state takes a round trip for.
    const isKnown = given === true || (record !== null && record.generations.length > 0);
    const [elsewhere] = isKnown ? [] : await store.find(uuid);
    if (elsewhere !== undefined) throw otherService(uuid, here, elsewhere.service);
  } catch (error) {
    await session.release();
    throw error;
  }
  const { clock } = context;
  return {
    ...context,
    // Tokens expire by the clock that all who share the state go by.
    clock: {
      now: () => session.now(),
      elapsed: () => clock.elapsed(),
      sleep: async (...pause) => await clock.sleep(...pause),
    },
    deadline,
    signal,
    session,
    breaker: store.breaker(here),
    settled: new Map(),
    service: {
      admit: async (...next) => await (await service()).admit(...next),
      call: async (call, signal) =>
        await (await service()).call(call, signal, async () => await session.ensureHeld()),
    },
  };
}

/**
 * Does the work with a locked vault, and releases it. Adds facts to what it throws: what was settled before and, if a call was sent,
 * the counters toward lockout. If an earlier start of this command counts, the error does not call a repetition safe.
 */
export async function withVault<T>(
  context: ExchangeContext,
  work: (context: ExchangeContext) => Promise<T>,
): Promise<T> {
  const { settled } = context;
  let sent = false;
  let counted: ErrorKind | undefined;
  let isStartAnswered = false;
  const call: Send = async (called, signal) => {
    const reply = await context.service.call(called, signal);
    sent ||= reply.type !== "not-sent" && called.step !== "probe";
    if (called.step === "start") {
      counted = (await countedAs(reply, called)) ?? counted;
      isStartAnswered ||= isOfService(reply);
    }
    return reply;
  };
  const emit: ExchangeContext["emit"] = (event) => {
    if (event.type === "settled") settled.set(event.settled.exchange.id, event.settled);
    if (!isInDoubt(event)) context.emit(event);
  };
  try {
    return await work({ ...context, service: { ...context.service, call }, emit });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const { uuid } = context.session;
    const counters = async () => spentBy(await currentRecord(context), context.policy);
    const facts = defined({
      // Where they cannot be read, the error is about the state itself.
      spent: sent ? await counters().catch(() => undefined) : undefined,
      settled: settled.size > 0 ? [...settled.values()] : undefined,
    });
    // A state that was lost after a start has not recorded what became of it.
    if (sent && error.code === "state") counted ??= "state";
    const saysUnsent = ["guard", "usage", "invalid-input"].includes(error.code);
    if (counted === undefined || !(saysUnsent || error.retry === "safe")) throw error.with(facts);
    const [code, message] = saysUnsent
      ? ([counted, `an earlier start of this command counts; then ${error.message}`] as const)
      : ([error.code, error.message] as const);
    throw new VaultError(code, message, {
      ...error.facts,
      ...facts,
      retry: "after-status",
      hint: "an earlier start of this command was sent, and counts",
      next: [noted(command`vault status ${uuid}`, "then run it again")],
    });
  } finally {
    for (const one of settled.values()) {
      const event = { type: "settled", settled: one } as const;
      if (isInDoubt(event)) context.emit(event);
    }
    if (isStartAnswered && !context.signal.aborted)
      await learnProbes(context).catch(() => undefined);
    await context.session.release();
  }
}

/** Whether an exchange remains in doubt, which is told at the end: the start of the same command may resolve it. */
const isInDoubt = (event: ExchangeEvent): boolean =>
  event.type === "settled" && event.settled.outcome === "in-doubt";

/** What a start that counts toward lockout came to: it got no answer, or a refusal that the service counts. */
async function countedAs(reply: Reply, call: StartCall): Promise<ErrorKind | undefined> {
  const outcome = await outcomeOf(reply, call, acceptedBy(reply));
  if (outcome.type === "accepted" || isTakenBack(outcome)) return undefined;
  return outcome.type === "refused" ? outcome.code : "network";
}
