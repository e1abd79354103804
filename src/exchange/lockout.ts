import type { Spent } from "../errors.ts";
import type { Counters } from "./counting.ts";
import type { VaultRecord } from "./records.ts";

/** The service's locking thresholds, as configured. */
export interface Policy {
  unackedStarts: number;
  failedAttempts: number;
}

/** What one more start could do, by our records. */
interface StartRisk {
  allows: boolean;
  /** One more failed attempt would lock the vault. */
  failedWouldLock: boolean;
  /** One more start without acknowledgement would lock the vault. */
  unackedWouldLock: boolean;
  /** A start would be allowed if no unanswered one had arrived. */
  onlyUnanswered: boolean;
}

/** Whether one more would lock the vault: what `at-risk` says of it. */
export const wouldLock = (count: number, limit: number): boolean => count + 1 >= limit;

export function startRisk(
  { failedAttempts, possiblyFailed, unackedStarts, unansweredStarts }: Counters,
  policy: Policy,
): StartRisk {
  const failedWouldLock = wouldLock(failedAttempts, policy.failedAttempts);
  const unackedWouldLock = wouldLock(unackedStarts, policy.unackedStarts);
  const allows = !failedWouldLock && !unackedWouldLock;
  const certainlyFailed = wouldLock(failedAttempts - possiblyFailed, policy.failedAttempts);
  const certainlyStarted = wouldLock(unackedStarts - unansweredStarts, policy.unackedStarts);
  return {
    allows,
    failedWouldLock,
    unackedWouldLock,
    onlyUnanswered: !allows && !certainlyFailed && !certainlyStarted,
  };
}

/** Whether answers have counted up to a limit, as only after --force: the vault is locked, if the records are right. */
export const isLockedBy = (counters: Counters, policy: Policy): boolean =>
  counters.failedAttempts - counters.possiblyFailed >= policy.failedAttempts ||
  counters.unackedStarts - counters.unansweredStarts >= policy.unackedStarts;

/** Whether only one failed attempt is left before the last: a person then chooses among several candidates. */
export const mustPersonChoose = ({ failedAttempts }: Counters, policy: Policy): boolean =>
  failedAttempts > 0 && failedAttempts + 2 >= policy.failedAttempts;

/** Whether one more start leaves at least two before each limit, as a repetition of an unanswered one must. */
export const allowsRetry = (counters: Counters, policy: Policy): boolean =>
  counters.unackedStarts + 1 <= policy.unackedStarts - 2 &&
  !startRisk(counters, policy).failedWouldLock;

/**
 * Whether one more start would be the last that is allowed, while its acknowledgement waits for something else: should that fail, the
 * vault cannot be read any more.
 */
export const isLastToWait = ({ unackedStarts }: Counters, policy: Policy): boolean =>
  unackedStarts + 2 >= policy.unackedStarts;

/** The counters of a vault beside their limits. */
export function spentBy(record: VaultRecord, policy: Policy): Spent {
  return {
    unackedStarts: record.unackedStarts,
    failedAttempts: record.failedAttempts,
    limits: { ...policy },
  };
}
