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

/** How many are always under way, and how many calls may wait for their places: those of other processes wait behind them. */
const [fewest, mostQueued] = [2, 5];

/** Between two looks at how many may be under way, in milliseconds: an exchange that takes long makes room for others. */
const lookEveryMs = 250;

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
  let usualMs = 0;
  let queuedMs = 0;

  const halt = (why: NonNullable<Taken["stop"]>): void => {
    stop ??= why;
  };

  const mayBeUnderWay = (): number => {
    const most = Math.min(turns.concurrency ?? mostAtATime, mostAtATime);
    if (app.settings.rate === 0) return most;
    if ((queuedMs * app.settings.rate) / 1000 > mostQueued) return Math.min(most, fewest);
    const longest = Math.max(usualMs, ...[...active].map((turn) => turn.tookMs));
    return Math.min(most, fewest + Math.ceil((app.settings.rate * longest) / 1000));
  };

  const mayBegin = (): boolean => stop === null && !isOut && !host.interrupted.aborted && active.size < mayBeUnderWay();

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
      onQueued: (ms) => (queuedMs = ms),
      onOutage: () => void awaitService(),
      onProgress: fill,
    });
    active.add(turn);
    const outcome = await turns.work(entry, turn).catch((error: unknown): Outcome => ({ ok: false, error: turn.failure(error) }));
    try {
      const error = "error" in outcome ? outcome.error : undefined;
      if (error?.code === "busy" && !waits) return void later.push(entry);
      if (error?.code === "interrupted" && error.facts.exchange === undefined) return void left.push(entry);
      usualMs = usualMs === 0 ? turn.tookMs : usualMs * 0.9 + turn.tookMs * 0.1;
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

  const timer = setInterval(fill, lookEveryMs);
  host.interrupted.addEventListener("abort", fill, { once: true });
  fill();
  await isDone;
  clearInterval(timer);
  host.interrupted.removeEventListener("abort", fill);
  return { calls, left: [...left, ...later, ...entries.slice(next)], stop };
}
