import { setTimeout } from "node:timers/promises";
import { currentRecord } from "../../src/exchange/context.ts";
import { lockVault } from "../../src/exchange/lock-vault.ts";
import type { Clock, Service, Store } from "../../src/exchange/ports.ts";
import { runExchange } from "../../src/exchange/run.ts";

/** The clock of this machine. */
export const realClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: async (ms, signal) =>
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal }),
};

/** The parts of the program that an exchange needs. */
interface Parts {
  store: Pick<Store, "breaker" | "find" | "lock">;
  clock: Clock;
  /** Its name in the state. */
  serviceName: string;
  service: Service;
}

const nothing = (): undefined => undefined;

/** Reads a vault that the state knows: a whole `get` in this process, without a command around it. `deliver` takes its contents. */
export async function readWith(
  { store, clock, serviceName, service }: Parts,
  uuid: string,
  deliver: (vault: Record<string, unknown>) => Promise<void> = async () => Promise.resolve(),
): Promise<void> {
  const context = await lockVault(
    {
      store,
      service: async () => Promise.resolve(service),
      serviceName: () => serviceName,
      isConfigured: true,
      probing: async () =>
        Promise.reject(new Error("the service answers, so that nobody asks whether it does")),
      clock,
      policy: { unackedStarts: 5, failedAttempts: 3 },
      waiting: { deadline: clock.elapsed() + 120_000, signal: new AbortController().signal },
      killed: new AbortController().signal,
      emit: nothing,
      redact: (text) => text,
      learnSecret: nothing,
    },
    uuid,
  );
  try {
    const handover = {
      leavesState: false,
      recordAttempts: async () => Promise.resolve(),
      deliver: async ({ vault }: { vault: Record<string, unknown> }) => await deliver(vault),
      confirm: async () => Promise.resolve(),
    };
    const { kind } = await currentRecord(context);
    await runExchange(
      context,
      {
        uuid,
        label: null,
        kind,
        operation: "get",
        force: false,
        noAck: false,
        discardPending: false,
      },
      handover,
    );
  } finally {
    await context.session.release();
  }
}
