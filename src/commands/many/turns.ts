import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { Entry, Outcome } from "./entry.ts";
import type { TurnNeeds } from "./turn.ts";
import { Turn } from "./turn.ts";

export type TurnsNeeds = TurnNeeds & Pick<App, "probe">;

export interface Turns {
  /** Does the exchange of one entry. What it throws is the entry's outcome. */
  work: (entry: Entry, turn: Turn) => Promise<Outcome>;
  /** Is told each outcome. If it rejects, nothing more is begun. */
  tell: (entry: Entry, outcome: Outcome) => Promise<void>;
  /** Most exchanges at a time. */
  concurrency: number | undefined;
  /** Stop after so many. */
  maxFailures: number | undefined;
}

export interface Taken {
  calls: number;
  /** Entries that were not begun. */
  left: readonly Entry[];
  /** Why nothing more was begun; null where all were. What is no VaultError is a failure of the output. */
  stop: Error | "too many failures" | null;
}

const mostAtATime = 64;

/** How many wait for the place of their first call, so that none is left unused: more would keep other processes waiting. */
const mostInQueue = 2;

/** What is true for every vault: the service refuses the application, or the state cannot be used. */
const concernsAll = ["unauthorized", "state"];

/**
 * Takes many vaults, as many at a time as the rate limit can feed. The failure of one leaves the others alone; one that concerns all
 * stops at once. While the service does not answer, nothing is begun; a vault that somebody else has comes last.
 */
export async function takeTurns(app: TurnsNeeds, entries: readonly Entry[], turns: Turns): Promise<Taken> {
  const { host } = app;
  const { promise: isDone, resolve: done } = Promise.withResolvers<void>();
  const active = new Set<Turn>();
  const later: Entry[] = [];
  const left: Entry[] = [];
  let next = 0;
  let calls = 0;
  let failures = 0;
  let stop: Taken["stop"] = null;
  let isOut = false;
  let usualPreparationMs = 0;

  const halt = (why: NonNullable<Taken["stop"]>): void => {
    stop ??= why;
  };

  const most = Math.min(turns.concurrency ?? mostAtATime, mostAtATime);

  /** Whether enough are on their way to the queue of the rate limit, or in it, for the places there. */
  const isQueueFed = (): boolean => {
    const toCome = [...active].filter((turn) => !turn.hasPlace).length;
    return app.settings.rate > 0 && toCome >= mostInQueue + Math.ceil((app.settings.rate * usualPreparationMs) / 1000);
  };

  const mayBegin = (): boolean => stop === null && !isOut && !host.interrupted.aborted && active.size < most && !isQueueFed();

  const fill = (): void => {
    while (mayBegin()) {
      const entry = next < entries.length ? entries[next++] : later.shift();
      if (entry === undefined) break;
      void take(entry, next >= entries.length);
    }
    if (active.size === 0 && !isOut) done();
  };

  const take = async (entry: Entry, waits: boolean): Promise<void> => {
    const { uuid } = entry;
    const turn = new Turn(app, {
      uuid,
      waits,
      onCall: () => (calls += 1),
      onOutage: () => void awaitService(),
      onProgress: fill,
    });
    active.add(turn);
    const outcome = await turns.work(entry, turn).catch((error: unknown): Outcome => ({ ok: false, error: turn.failure(error) }));
    try {
      const error = "error" in outcome ? outcome.error : undefined;
      if (error?.code === "busy" && !waits) return void later.push(entry);
      if (error?.code === "interrupted" && error.facts.exchange === undefined) return void left.push(entry);
      usualPreparationMs = usualPreparationMs * 0.9 + (turn.preparedMs ?? 0) * 0.1;
      await turns.tell(entry, outcome);
      if (error === undefined) return;
      failures += 1;
      if (concernsAll.includes(error.code)) halt(error);
      if (error.code === "network") void awaitService();
      if (failures >= (turns.maxFailures ?? Number.POSITIVE_INFINITY)) halt("too many failures");
    } catch (error) {
      halt(error as Error);
    } finally {
      turn.end();
      active.delete(turn);
      fill();
    }
  };

  /** Begins nothing until the service answers a probe. */
  const awaitService = async (): Promise<void> => {
    if (isOut) return;
    isOut = true;
    const until = host.elapsed() + app.settings.maxWaitMs;
    for (let waitMs = 200; ; waitMs = Math.min(waitMs * 2, 10_000)) {
      const reply = await app.probe();
      if (host.interrupted.aborted || (reply.reached && reply.httpStatus < 500)) break;
      const cause = reply.reached ? `HTTP ${reply.httpStatus}` : reply.cause;
      if (host.elapsed() + waitMs > until) {
        halt(
          new VaultError("network", `the service is unavailable: ${cause}`, {
            hint: reply.reached ? undefined : (reply.hint ?? undefined),
          }),
        );
        break;
      }
      await host.sleep(waitMs, host.interrupted).catch(() => undefined);
    }
    isOut = false;
    fill();
  };

  host.interrupted.addEventListener("abort", fill, { once: true });
  fill();
  await isDone;
  host.interrupted.removeEventListener("abort", fill);
  return { calls, left: [...left, ...later, ...entries.slice(next)], stop };
}
