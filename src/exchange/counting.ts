import type { ExchangeRecord, VaultRecord } from "./records.ts";
import type { ErrorFacts } from "../errors.ts";

/**
 * What became of a start. `none`: its call has ended without a whole answer, or with an error that no rule knows. `success`: usable or
 * not. `refused`: its credentials were. `free`: it counts nothing. Null: nothing is recorded after ①.
 */
export type Outcome = "none" | "success" | "refused" | "free";

/** As it is noted. `no-starts`: the vault is locked or gone, which counts nothing either. */
export type StartOutcome = Outcome | "no-starts";

export type Counters = Pick<
  VaultRecord,
  "failedAttempts" | "possiblyFailed" | "unackedStarts" | "unansweredStarts"
>;

/** What counts of an exchange. */
export interface CountedExchange extends Pick<
  ExchangeRecord,
  "id" | "state" | "adopted" | "baseGeneration" | "newGeneration"
> {
  outcome: Outcome | null;
  /** When it was begun, nobody else could have made its credentials stale. */
  sole: boolean;
}

/** What stands for all exchanges up to one that is named; for those that are gone if none is, or that one is gone too. */
export interface Carried {
  carried: Counters | null;
  carriedUpTo: string | null;
}

/**
 * The exchanges that count toward lockout (docs/design.md, Counting), by the order in which they were begun: never by a clock, and
 * nothing that was begun elsewhere proves anything. Starts count after the last one that is known to be acknowledged, failed attempts
 * after the last SUCCESS.
 */
export function counting<Exchange extends CountedExchange>(
  exchanges: readonly Exchange[],
  { carried, carriedUpTo }: Carried,
) {
  const isAccepted = ({ adopted, outcome }: Exchange): boolean => !adopted && outcome === "success";
  const isRefused = ({ outcome }: Exchange): boolean => outcome === "refused";
  // By its ④, or because its new credentials were accepted.
  const isAcknowledged = ({ state, adopted, newGeneration: made }: Exchange): boolean =>
    !adopted &&
    made !== null &&
    (state === "acknowledged" ||
      exchanges.some((later) => later.baseGeneration === made && isAccepted(later)));
  const acknowledged = exchanges.findLastIndex(isAcknowledged);
  const accepted = exchanges.findLastIndex(isAccepted);
  const upTo = exchanges.findIndex(({ id }) => id === carriedUpTo);
  const starts = exchanges
    .slice(Math.max(acknowledged, upTo) + 1)
    .filter(({ outcome }) => outcome !== "refused" && outcome !== "free");
  const attempts = exchanges.slice(Math.max(accepted, upTo) + 1);
  const refused = attempts.filter(isRefused);
  // A process that died may have been overtaken by somebody; what was sole is doubted once it is refused.
  const isDoubted = ({ sole, baseGeneration: base }: Exchange, at: number): boolean =>
    !sole ||
    attempts.some((row, place) => place > at && isRefused(row) && row.baseGeneration === base);
  const possibly = attempts.filter(
    (row, at) => row.outcome === null || (row.outcome === "none" && isDoubted(row, at)),
  );
  const { unackedStarts = 0, unansweredStarts = 0 } = (upTo >= acknowledged ? carried : null) ?? {};
  const { failedAttempts = 0, possiblyFailed = 0 } = (upTo >= accepted ? carried : null) ?? {};
  return {
    /** Place of the last one that is known to be acknowledged; -1 without one. */
    acknowledged,
    starts,
    refused,
    possibly,
    /** What still stands of that. */
    carried: { unackedStarts, unansweredStarts, failedAttempts, possiblyFailed },
    isRefusedSince: exchanges.slice(accepted + 1).some(isRefused),
  };
}

/** The counters of a vault, and whether credentials were refused since the last SUCCESS. */
export function count(
  exchanges: readonly CountedExchange[],
  carried: Carried,
): Counters & { refusedSince: boolean } {
  const found = counting(exchanges, carried);
  const { starts, refused, possibly, carried: before } = found;
  const unanswered = starts.filter(({ outcome }) => outcome !== "success");
  const certain = before.failedAttempts - before.possiblyFailed + refused.length;
  const possiblyFailed = possibly.length + before.possiblyFailed;
  return {
    unackedStarts: starts.length + before.unackedStarts,
    unansweredStarts: unanswered.length + before.unansweredStarts,
    failedAttempts: certain + possiblyFailed,
    possiblyFailed,
    refusedSince: certain > 0 || found.isRefusedSince,
  };
}

/** The counters to be carried: of exchanges that are gone nobody can say any more that they were sole. */
export function countToCarry(exchanges: readonly CountedExchange[], before: Carried): Counters {
  const { refusedSince: _, ...counters } = count(
    exchanges.map((exchange) => ({ ...exchange, sole: false })),
    before,
  );
  return counters;
}

/** What is left of counters if no start without an answer has arrived. */
export const withoutUnanswered = (counters: Counters): Counters => ({
  unackedStarts: counters.unackedStarts - counters.unansweredStarts,
  unansweredStarts: 0,
  failedAttempts: counters.failedAttempts - counters.possiblyFailed,
  possiblyFailed: 0,
});

type Spent = NonNullable<ErrorFacts["spent"]>;
/** The service's locking thresholds, as configured. */
export type Policy = Spent["limits"];

/** Whether one more would lock the vault: what `at-risk` says of it. */
export const wouldLock = (count: number, limit: number): boolean => count + 1 >= limit;

/** Whether one more start, refused or not acknowledged, would not lock the vault, by our records. */
export const allowsStart = (counters: Counters, policy: Policy): boolean =>
  !wouldLock(counters.failedAttempts, policy.failedAttempts) &&
  !wouldLock(counters.unackedStarts, policy.unackedStarts);

/** Whether answers have counted up to a limit, as only after --force: the vault is locked, if the records are right. */
export const isLockedBy = (counters: Counters, policy: Policy): boolean =>
  counters.failedAttempts - counters.possiblyFailed >= policy.failedAttempts ||
  counters.unackedStarts - counters.unansweredStarts >= policy.unackedStarts;

/** Whether only one failed attempt is left before the last: a person then chooses among several candidates. */
export const mustPersonChoose = ({ failedAttempts }: Counters, policy: Policy): boolean =>
  failedAttempts > 0 && failedAttempts + 2 >= policy.failedAttempts;

/** Whether one more start leaves at least two before each limit, as a repetition of an unanswered one must. */
export const allowsRetry = (counters: Counters, policy: Policy): boolean =>
  counters.unackedStarts + 1 <= policy.unackedStarts - 2 && allowsStart(counters, policy);

/**
 * Whether one more start would be the last that is allowed, while its acknowledgement waits for something else: should that fail, the
 * vault cannot be read any more.
 */
export const isLastToWait = ({ unackedStarts }: Counters, policy: Policy): boolean =>
  unackedStarts + 2 >= policy.unackedStarts;

/** The counters of a vault beside their limits. */
export function spentBy({ unackedStarts, failedAttempts }: Counters, policy: Policy): Spent {
  return { unackedStarts, failedAttempts, limits: { ...policy } };
}
