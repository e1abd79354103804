import type { ExchangeRecord, VaultRecord } from "./records.ts";

/**
 * What became of a start. `none`: its call has ended without a whole answer, or with an error that no rule knows. `success`: usable or
 * not. `refused`: its credentials were. `free`: it counts nothing. Null: nothing is recorded after ①.
 */
export type Outcome = "none" | "success" | "refused" | "free";

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
  return {
    /** Place of the last one that is known to be acknowledged; -1 without one. */
    acknowledged,
    starts,
    refused,
    possibly,
    carriedStarts: upTo >= acknowledged ? carried : null,
    carriedFailed: upTo >= accepted ? carried : null,
    isRefusedSince: exchanges.slice(accepted + 1).some(isRefused),
  };
}

/** The counters of a vault, and whether credentials were refused since the last SUCCESS. */
export const count = (
  exchanges: readonly CountedExchange[],
  carried: Carried,
): Counters & { refusedSince: boolean } => sum(counting(exchanges, carried));

/** The counters to be carried: of exchanges that are gone nobody can say any more that they were sole. */
export function countToCarry(exchanges: readonly CountedExchange[], before: Carried): Counters {
  const { refusedSince: _, ...counters } = count(
    exchanges.map((exchange) => ({ ...exchange, sole: false })),
    before,
  );
  return counters;
}

export function sum({
  starts,
  refused,
  possibly,
  isRefusedSince,
  carriedStarts,
  carriedFailed,
}: ReturnType<typeof counting>): Counters & { refusedSince: boolean } {
  const unanswered = starts.filter(({ outcome }) => outcome !== "success");
  const certain =
    (carriedFailed?.failedAttempts ?? 0) - (carriedFailed?.possiblyFailed ?? 0) + refused.length;
  const possiblyFailed = possibly.length + (carriedFailed?.possiblyFailed ?? 0);
  return {
    unackedStarts: starts.length + (carriedStarts?.unackedStarts ?? 0),
    unansweredStarts: unanswered.length + (carriedStarts?.unansweredStarts ?? 0),
    failedAttempts: certain + possiblyFailed,
    possiblyFailed,
    refusedSince: certain > 0 || isRefusedSince,
  };
}

/** What is left of counters if no start without an answer has arrived. */
export const withoutUnanswered = ({
  unackedStarts,
  unansweredStarts,
  failedAttempts,
  possiblyFailed,
}: Counters): Counters => ({
  unackedStarts: unackedStarts - unansweredStarts,
  unansweredStarts: 0,
  failedAttempts: failedAttempts - possiblyFailed,
  possiblyFailed: 0,
});
