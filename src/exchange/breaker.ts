/**
 * The circuit breaker of a service, one for all that share a state (docs/design.md, Circuit breaker). Closed, starts go out; open,
 * only a trial does. Times are milliseconds since the epoch, by the clock of the state.
 */
export interface Breaker {
  /** Grows with each change, from 0: two processes that claim one trial differ in what they have seen. */
  version: number;
  /** When a start was last lost, or a trial claimed; null while it is closed. */
  lostAt: number | null;
  /** Trials that were lost since it opened: each lengthens the wait for the next one. */
  lostTrials: number;
  /** What opened it, if there was an answer at all. */
  httpStatus: number | null;
  /** When the start that opened it was begun, or when it was closed: what was begun before says nothing new. */
  since: number;
  /** Whether the service has ever answered a probe; time alone lets a trial out if not. */
  probes: "unasked" | "unanswered" | "answered";
  /** No probe before then: one is under way, or was not answered. */
  probedUntil: number;
}

export const closed: Breaker = {
  version: 0,
  lostAt: null,
  lostTrials: 0,
  httpStatus: null,
  since: 0,
  probes: "unasked",
  probedUntil: 0,
};

export type BreakerEvent =
  /** A start got no whole answer. */
  | { type: "lost"; at: number; startedAt: number; httpStatus: number | null }
  /** A start was found without an outcome: its process died. */
  | { type: "found"; startedAt: number }
  /** A probe goes out, or came back. */
  | { type: "probing"; at: number }
  | { type: "probed"; at: number; isAnswered: boolean }
  /** A start goes out as a trial. It counts as lost until it is answered, so that a process that dies leaves nothing to clean up. */
  | { type: "claimed"; at: number }
  /** A trial was not sent, or its answer counts nothing: it is due as before. */
  | { type: "withdrawn"; before: Breaker }
  /** A start was answered, or a person says that the service works. `startedAt`: of a start that is no trial. */
  | { type: "answered"; at: number; startedAt?: number | undefined };

const intervalsMs = [2000, 10_000, 30_000, 60_000, 120_000] as const;
const longestMs = 300_000;
const probeMs = 30_000;
const hourMs = 3_600_000;

/** The breaker after an event. The same object if nothing has changed. */
export function after(breaker: Breaker, event: BreakerEvent): Breaker {
  const changes = changesBy(breaker, event);
  return changes === null ? breaker : { ...breaker, ...changes, version: breaker.version + 1 };
}

function changesBy(breaker: Breaker, event: BreakerEvent): Partial<Breaker> | null {
  const { lostAt, lostTrials, since, probes } = breaker;
  switch (event.type) {
    case "lost":
      return lostAt === null
        ? { lostAt: event.at, httpStatus: event.httpStatus, since: event.startedAt, probedUntil: 0 }
        : { lostAt: event.at };
    case "found":
      return lostAt === null && event.startedAt > since
        ? { lostAt: event.startedAt, since: event.startedAt, probedUntil: 0 }
        : null;
    case "probing":
      return {
        probedUntil: event.at + probeMs,
        probes: probes === "unasked" ? "unanswered" : probes,
      };
    case "probed":
      return event.isAnswered ? { probes: "answered" } : { probedUntil: event.at + probeMs };
    case "claimed":
      return { lostAt: event.at, lostTrials: lostTrials + 1, probedUntil: 0 };
    case "withdrawn":
      // Whoever has changed it since has decided.
      return breaker.version === event.before.version + 1
        ? { ...event.before, probedUntil: 0 }
        : null;
    case "answered":
      return lostAt !== null && event.startedAt !== undefined && event.startedAt < since
        ? null
        : { ...closed, since: event.at, probes };
  }
}

/** When the next trial is due for a vault with so many unanswered starts, which waits longer; null while the breaker is closed. */
export function trialDueAt(
  { lostAt, lostTrials, probedUntil }: Breaker,
  now: number,
  unansweredStarts: number,
): number | null {
  if (lostAt === null) return null;
  const interval = intervalsMs[lostTrials] ?? longestMs;
  const waitMs = Math.max(
    (unansweredStarts + 1) * interval,
    // Its third one on.
    unansweredStarts >= 2 ? longestMs : 0,
  );
  // A time that is further ahead than possible was written by a clock that has been set back since.
  return Math.max(
    lostAt + interval > now + longestMs ? 0 : lostAt + waitMs,
    probedUntil > now + probeMs ? 0 : probedUntil,
  );
}

/** Whether a trial that is due goes out without a probe. */
export const isTriedByTime = ({ probes, lostAt }: Breaker, now: number): boolean =>
  probes !== "answered" || Math.abs(now - (lostAt ?? now)) >= hourMs;

/** The breaker of a service in a state: what this process last saw of it, and how to change it. */
export interface ServiceBreaker {
  /** As this process last saw it; `recordIntent` finds out whether it has changed since. */
  readonly known: Breaker;
  /** By the clock of the state. */
  now(): number;
  read(): Promise<Breaker>;
  /** Writes `next` in the place of `before`. Returns false if another process has changed it since. Not synced. */
  replace(before: Breaker, next: Breaker): Promise<boolean>;
}

/** Applies an event to the breaker as it is now. Whenever another process is faster, it is tried again: each race has a winner. */
export async function applyTo(breaker: ServiceBreaker, event: BreakerEvent): Promise<Breaker> {
  for (;;) {
    const before = await breaker.read();
    const next = after(before, event);
    if (next === before || (await breaker.replace(before, next))) return next;
  }
}

/** What a start has seen of the breaker: `recordIntent` records nothing if that is no longer so. `claim`: it is a trial. */
export interface Seen {
  at: number;
  breaker: Breaker;
  claim: Breaker | null;
}

/** Thrown by `recordIntent`: the breaker has changed since it was looked at. */
export class BreakerChanged extends Error {}
