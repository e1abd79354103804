/**
 * The circuit breaker of a service, one for all that share a state (vault help network). Closed, starts go out; open, only a
 * trial does. Times are milliseconds since the epoch, by the clock of the state.
 */
export interface Breaker {
  /** Grows with each change, from 0: two processes that claim one trial differ in what they have seen. */
  version: number;
  /** When the last start without an answer was sent, as far as is known; null while it is closed. */
  lostAt: number | null;
  /** Trials that were lost since it opened: each lengthens the wait for the next one. */
  lostTrials: number;
  /** Whether the service has answered something else, which lets one trial out at once. `used`: only once per opening. */
  hint: "none" | "given" | "used";
  /** What opened it, if there was an answer at all. */
  httpStatus: number | null;
  contentType: string | null;
  /** When it was last closed; 0 if it never opened. */
  closedAt: number;
}

export const closed: Breaker = {
  version: 0,
  lostAt: null,
  lostTrials: 0,
  hint: "none",
  httpStatus: null,
  contentType: null,
  closedAt: 0,
};

/** A response, if one came: null where none did. */
export interface Response extends Pick<Breaker, "httpStatus" | "contentType"> {
  /** The service's own answer: JSON with `responseStatus`, and a status below 500. */
  isService: boolean;
}

export const noResponse: Response = { httpStatus: null, contentType: null, isService: false };

export type BreakerEvent =
  /** A start got no whole answer. */
  | { type: "unanswered"; at: number; response: Response }
  /** A start was found without an outcome: its process died. */
  | { type: "found"; startedAt: number }
  /** A start goes out as a trial. It counts as lost until it is answered, so that a process that dies leaves nothing to clean up. */
  | { type: "claimed"; at: number }
  /** A trial was not sent, or its answer counts nothing: all is as it was before it was claimed. */
  | { type: "withdrawn"; before: Breaker }
  /** Something else than a start was answered. */
  | { type: "responded"; response: Response; isProbe: boolean }
  /**
   * A start was answered, or a person says that the service works. `startedAt`: of a start that is no trial, which proves nothing if
   * it was under way when another one was lost.
   */
  | { type: "answered"; at: number; startedAt?: number | undefined };

const intervalsMs = [30_000, 60_000, 120_000, 300_000] as const;
const longestMs = 300_000;

/** The breaker after an event. The same object if nothing has changed. */
export function after(breaker: Breaker, event: BreakerEvent): Breaker {
  const changes = changesBy(breaker, event);
  return changes === null ? breaker : { ...breaker, ...changes, version: breaker.version + 1 };
}

function changesBy(breaker: Breaker, event: BreakerEvent): Partial<Breaker> | null {
  switch (event.type) {
    case "unanswered":
      return breaker.lostAt !== null ? { lostAt: event.at } : opened(event.at, event.response);
    case "found":
      return breaker.lostAt !== null || event.startedAt <= breaker.closedAt
        ? null
        : opened(event.startedAt, noResponse);
    case "claimed": {
      const byHint = breaker.hint === "given";
      return {
        lostAt: event.at,
        ...(byHint ? { hint: "used" } : { lostTrials: breaker.lostTrials + 1 }),
      };
    }
    case "withdrawn":
      // Whoever has changed it since has decided.
      return breaker.version === event.before.version + 1 ? event.before : null;
    case "responded":
      return breaker.lostAt !== null && breaker.hint === "none" && isHint(breaker, event)
        ? { hint: "given" }
        : null;
    case "answered":
      if (
        breaker.lostAt !== null &&
        event.startedAt !== undefined &&
        event.startedAt < breaker.lostAt
      )
        return null;
      return { ...closed, closedAt: event.at };
  }
}

const opened = (lostAt: number, { httpStatus, contentType }: Response): Partial<Breaker> => ({
  lostAt,
  lostTrials: 0,
  hint: "none",
  httpStatus,
  contentType,
});

/** Whether the service itself has answered; or a probe's answer below 500 shows that something has changed on the way to it. */
function isHint(
  breaker: Breaker,
  { response, isProbe }: BreakerEvent & { type: "responded" },
): boolean {
  if (response.isService) return true;
  const { httpStatus, contentType } = response;
  if (!isProbe || httpStatus === null || httpStatus >= 500) return false;
  return httpStatus !== breaker.httpStatus || contentType !== breaker.contentType;
}

/** What lets a start out, or when the next trial is due. */
export type Passage = { by: "closed" | "hint" | "trial" } | { dueAt: number };

/** Whether a start may be sent now for a vault with so many unanswered ones, which waits longer, so that another goes first. */
export function passage(breaker: Breaker, now: number, unansweredStarts: number): Passage {
  if (breaker.lostAt === null) return { by: "closed" };
  if (breaker.hint === "given") return { by: "hint" };
  const interval = intervalsMs[breaker.lostTrials] ?? longestMs;
  // A clock that was set back must not keep it open.
  const isVoid = breaker.lostAt + interval > now + longestMs;
  const dueAt = breaker.lostAt + (unansweredStarts + 1) * interval;
  return isVoid || dueAt <= now ? { by: "trial" } : { dueAt };
}

/** The breaker of a service in a state: what this process last saw of it, and how to change it. */
export interface ServiceBreaker {
  /** As this process last saw it; `recordIntent` finds out whether it has changed since. */
  readonly known: Breaker;
  /** By the clock of the state. */
  now(): number;
  read(): Promise<Breaker>;
  /** Applies a change to it as it is now. May call `change` again if another process was faster. Not synced. */
  change(change: (breaker: Breaker) => Breaker): Promise<Breaker>;
}

/** What a start has seen of the breaker: `recordIntent` records nothing if that is no longer so. `claim`: it is a trial. */
export interface Seen {
  at: number;
  breaker: Breaker;
  claim: Breaker | null;
}

/** Thrown by `recordIntent`: the breaker has changed since it was looked at. */
export class BreakerChanged extends Error {}
