import type { ExchangeContext } from "./context.ts";
import type { Reply, Service, Store, Waiting } from "./ports.ts";
import { noteResponse, sendProbe } from "./start/breaker-gate.ts";
import { otherService } from "./start/start.ts";
import { createIds } from "./ulid.ts";

/** The context of an exchange that has no vault yet. */
export interface LockContext extends Omit<
  ExchangeContext,
  "session" | "service" | "breaker" | "probe" | "ids" | "deadline" | "signal"
> {
  store: Pick<Store, "breaker" | "find" | "lock">;
  waiting: Waiting;
  /** Creates the client, on the first call. */
  service: () => Promise<Service>;
  /** Name in the state of the service that the settings give. */
  serviceName: () => string;
  /** Whether the settings name a service. */
  isConfigured: boolean;
  /** Sends a probe, or shares one that another vault has under way. */
  probing?: (send: () => Promise<Reply>) => Promise<Reply>;
}

/** What one of many vaults has of its own. */
export type Own = Partial<
  Pick<LockContext, "clock" | "emit" | "killed" | "learnSecret" | "probing" | "service" | "waiting">
>;

export interface LockOptions {
  /** Move a vault that is known under another base URL to this one, with all its records. */
  rebind?: boolean;
  /** Nothing will be sent: without a configured base URL, use the one under which the vault is known. */
  local?: boolean;
}

/**
 * Locks a vault for an exchange. The caller releases it by its session.
 * @throws `busy` at the deadline, `interrupted`, `state`, `no-credentials` for a vault that is known only under another base URL,
 * and what `serviceName` throws
 */
export async function lockVault(
  lockContext: LockContext,
  uuid: string,
  options: LockOptions = {},
): Promise<ExchangeContext> {
  const {
    store,
    service,
    serviceName,
    isConfigured,
    waiting,
    probing = async (send) => await send(),
    ...context
  } = lockContext;
  const { deadline, signal } = waiting;
  const [only, ...more] = options.local === true && !isConfigured ? await store.find(uuid) : [];
  const here = only !== undefined && more.length === 0 ? only.service : serviceName();
  const session = await store.lock(here, uuid, waiting);
  try {
    const record = await session.read();
    // A vault that is known here needs no second look, which a shared state takes a round trip for.
    const [elsewhere] =
      record === null || record.generations.length === 0 ? await store.find(uuid) : [];
    if (elsewhere !== undefined) {
      if (options.rebind !== true) throw otherService(uuid, here, elsewhere.service);
      await session.rebindFrom(elsewhere.service);
    }
  } catch (error) {
    await session.release();
    throw error;
  }
  const breaker = store.breaker(here);
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
    breaker,
    probe: async () =>
      await probing(
        async () => await sendProbe({ ...context, service: await service(), deadline, signal }),
      ),
    ids: createIds(context.clock),
    service: {
      admit: async (...next) => await (await service()).admit(...next),
      reserveAhead: async (...next) => await (await service()).reserveAhead(...next),
      async call(call, signal) {
        const client = await service();
        await session.ensureHeld();
        const reply = await client.call(call, signal);
        return call.step === "end" ? await noteResponse(breaker, reply) : reply;
      },
    },
  };
}
