import { actorOf } from "../../src/actor.ts";
import { setTimeout } from "node:timers/promises";
import type { ExchangeContext, Clock, Reply, Service } from "../../src/exchange/ports.ts";
import { currentRecord } from "../../src/exchange/context.ts";
import type { Handover } from "../../src/exchange/recovery.ts";
import { lockVault, withVault, type LockContext } from "../../src/exchange/lock-vault.ts";
import { runExchange } from "../../src/exchange/run.ts";
import type { Start } from "../../src/exchange/start/start.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { HttpRequest, Target } from "../../src/service/http.ts";
import { openShared, type PostgresStore } from "../../src/store/postgres/store.ts";
import type { StoreOptions } from "../../src/store/stored-state.ts";
import { SqliteState } from "../../src/store/sqlite/store.ts";

// Exchanges without a process, a command or a socket: the real engine, against the emulated service as a function.

export const application = {
  apiKey: "0a0a0a0a-1111-4222-8333-444444444444",
  uuid: "0b0b0b0b-1111-4222-8333-444444444444",
};

/** Where calls go that reach the emulated service without a socket. */
export const target: Target = {
  service: "https://vaults.test/vaultsvc/v1-2",
  application,
  version: "test",
};

/** Name of that service in a state. */
export const serviceName = "https://vaults.test/vaultsvc/v1-2";

/** A shared state as this process opens it, which knows nothing of the machine; `directory` is what the machine keeps by itself. */
export const openSharedHere = (
  location: string,
  given: Pick<Parameters<typeof openShared>[3], "keySource" | "clock" | "directory">,
): PostgresStore =>
  openShared(location, {}, () => undefined, {
    ...given,
    by: actorOf(process.pid),
    waiting: { deadline: Number.POSITIVE_INFINITY, signal: new AbortController().signal },
    warn: () => undefined,
  });

/** A state on this machine as this process opens it. */
export const openLocalHere = (
  given: Pick<StoreOptions, "directory" | "keySource" | "clock">,
): SqliteState =>
  new SqliteState({
    ...given,
    by: actorOf(process.pid),
    warn: () => undefined,
  });

/** What the emulated service answers to a request that has arrived. */
export function answerOf(
  handle: Sandbox["handle"],
  { method, path, headers, body }: HttpRequest,
): Extract<Reply, { type: "answer" }>["answer"] {
  const response = handle({
    method,
    path,
    headers,
    body: JSON.stringify(body) ?? "",
    remoteAddress: "127.0.0.1",
  });
  return {
    httpStatus: response.status,
    body: JSON.parse(JSON.stringify(response.body)) as Record<string, unknown>,
  };
}

/** The clock of this machine. */
export const realClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: async (ms, signal) =>
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal }),
};

const nothing = (): undefined => undefined;
const never = new AbortController().signal;

/** Locks a vault as a command does, for whoever waits so long, hears nothing and is never interrupted. */
export async function lockHere(
  parts: Pick<LockContext, "store" | "clock" | "service"> & Partial<LockContext>,
  waitMs: number,
  uuid: string,
): Promise<ExchangeContext> {
  const { clock } = parts;
  return await lockVault(
    {
      serviceName: () => serviceName,
      isConfigured: true,
      policy: { unackedStarts: 5, failedAttempts: 3 },
      waiting: { deadline: clock.elapsed() + waitMs, signal: never },
      killed: never,
      emit: nothing,
      redact: (text) => text,
      learnSecret: nothing,
      ...parts,
    },
    uuid,
  );
}

/** What is asked for with a vault, where a test says nothing else. */
export const startOf = ({ uuid }: { uuid: string }, operation: "get" | "update"): Start => ({
  uuid,
  label: null,
  kind: "credit-card/offline",
  operation,
  force: false,
  noAck: false,
  discardPending: false,
});

/** Takes what is delivered, and has nothing to do with it by itself. */
export const handsOver = (
  deliver: Handover["deliver"] = async () => Promise.resolve(),
  leavesState = false,
): Handover => ({ leavesState, deliver, confirm: async () => Promise.resolve() });

/** Reads a vault that the state knows: a whole `get` in this process, without a command around it. `deliver` takes its contents. */
export async function readWith(
  {
    store,
    clock,
    serviceName,
    service,
  }: Pick<LockContext, "store" | "clock"> & { serviceName: string; service: Service },
  uuid: string,
  deliver: (vault: Record<string, unknown>) => Promise<void> = async () => Promise.resolve(),
): Promise<void> {
  const parts = {
    store,
    clock,
    service: async () => Promise.resolve(service),
    serviceName: () => serviceName,
    probing: async () =>
      Promise.reject(new Error("the service answers, so that nobody asks whether it does")),
  };
  await withVault(await lockHere(parts, 120_000, uuid), async (context) => {
    const { kind } = await currentRecord(context);
    const handover = handsOver(async ({ vault }) => await deliver(vault));
    await runExchange(context, { ...startOf({ uuid }, "get"), kind }, handover);
  });
}
