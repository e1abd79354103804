import type { Attempts, CounterReset } from "../records.ts";

export const noAttempts: Attempts = {
  unackedStarts: 0,
  unansweredStarts: 0,
  quietStarts: 0,
  failedAttempts: 0,
  possiblyFailed: 0,
  refused: [],
  sole: false,
};

/** What the counters that travel with credentials are after a person's word, as `VaultSession.resetCounters` has it for a state's. */
export function resetAttempts(counted: Attempts, to: CounterReset): Attempts {
  const { breaker: _, ...rest } = counted;
  switch (to) {
    case "all":
      return { ...counted, ...starts(0), ...failed(0) };
    case "unanswered":
      return {
        ...rest,
        ...starts(counted.unackedStarts - counted.unansweredStarts),
        ...failed(counted.failedAttempts - counted.possiblyFailed),
      };
    default:
      return {
        ...counted,
        ...(to.unackedStarts === undefined ? {} : starts(to.unackedStarts)),
        ...(to.failedAttempts === undefined ? {} : failed(to.failedAttempts)),
      };
  }
}

const starts = (unackedStarts: number) => ({
  unackedStarts: Math.max(0, unackedStarts),
  unansweredStarts: 0,
});
const failed = (failedAttempts: number) => ({
  failedAttempts: Math.max(0, failedAttempts),
  possiblyFailed: 0,
  quietStarts: 0,
});
