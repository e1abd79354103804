import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import { command, noted } from "../way.ts";
import { spentBy } from "./counting.ts";
import type { ExchangeContext, Reply, Send, Service, Store, Waiting } from "./ports.ts";
import { isOfService, learnProbes } from "./start/breaker-gate.ts";
import { otherService } from "./start/start.ts";
import type { Settled } from "./records.ts";

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
 * Does the work with a locked vault, tells what was settled, and releases it. Adds facts to what it throws: what was settled before
 * and, if a call was sent, the counters toward lockout. If an earlier start of this command counts, the error does not call a repetition
 * safe.
 */
export async function withVault<T>(
  context: ExchangeContext,
  work: (context: ExchangeContext) => Promise<T>,
): Promise<T> {
  const { session, settled } = context;
  let earlier = new Set<string>();
  let sent = false;
  let start: Reply | undefined;
  const call: Send = async (called, signal) => {
    const reply = await context.service.call(called, signal);
    sent ||= reply.type !== "not-sent" && called.step !== "probe";
    if (called.step === "start") start = reply;
    return reply;
  };
  const isInDoubt = ({ outcome }: Settled): boolean => outcome === "in-doubt";
  const emit: ExchangeContext["emit"] = (event) => {
    if (event.type === "settled") settled.set(event.settled.exchange.id, event.settled);
    // What remains in doubt is told at the end: the start of the same command may resolve it.
    if (event.type !== "settled" || !isInDoubt(event.settled)) context.emit(event);
  };
  try {
    earlier = new Set((await session.read())?.exchanges.map(({ id }) => id));
    return await work({ ...context, service: { ...context.service, call }, emit });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    // Where it cannot be read, the error is about the state itself, which may lack what a call counts.
    const vault = sent ? await session.read().catch(() => null) : null;
    const facts = defined({
      spent: vault === null ? undefined : spentBy(vault, context.policy),
      settled: settled.size > 0 ? [...settled.values()] : undefined,
    });
    const counted = vault?.exchanges.find(
      ({ id, state }) => !earlier.has(id) && ["intent", "rejected"].includes(state),
    );
    const isCounted = counted !== undefined || (sent && vault === null);
    const saysUnsent = ["guard", "usage", "invalid-input"].includes(error.code);
    if (!isCounted || !(saysUnsent || error.retry === "safe")) throw error.with(facts);
    const code = counted?.state === "rejected" ? counted.state : "network";
    const message = saysUnsent
      ? `an earlier start of this command counts; then ${error.message}`
      : error.message;
    throw new VaultError(saysUnsent ? code : error.code, message, {
      ...error.facts,
      ...facts,
      retry: "after-status",
      hint: "an earlier start of this command was sent, and counts",
      next: [noted(command`vault status ${session.uuid}`, "then run it again")],
    });
  } finally {
    for (const one of [...settled.values()].filter(isInDoubt))
      context.emit({ type: "settled", settled: one });
    if (start !== undefined && isOfService(start) && !context.signal.aborted)
      await learnProbes(context).catch(() => undefined);
    await session.release();
  }
}
