import { describe, expect, it } from "vitest";
import { countersLeft } from "../../src/exchange/lockout.ts";
import type { CounterReset } from "../../src/exchange/records.ts";

const counted = { unackedStarts: 4, unansweredStarts: 3, failedAttempts: 2, possiblyFailed: 1 };

describe("what a person's word leaves of the counters", () => {
  it.each<[string, CounterReset, ReturnType<typeof countersLeft>]>([
    [
      "unlocked",
      "all",
      {
        unackedStarts: 0,
        unansweredStarts: 0,
        quietStarts: 0,
        failedAttempts: 0,
        possiblyFailed: 0,
      },
    ],
    [
      "none of the unanswered starts arrived",
      "unanswered",
      {
        unackedStarts: 1,
        unansweredStarts: 0,
        quietStarts: 0,
        failedAttempts: 1,
        possiblyFailed: 0,
      },
    ],
    [
      "failed attempts alone",
      { failedAttempts: 1 },
      { failedAttempts: 1, possiblyFailed: 0, quietStarts: 0 },
    ],
    ["starts alone", { unackedStarts: 2 }, { unackedStarts: 2, unansweredStarts: 0 }],
    [
      "both, up too",
      { failedAttempts: 2, unackedStarts: 9 },
      {
        failedAttempts: 2,
        possiblyFailed: 0,
        quietStarts: 0,
        unackedStarts: 9,
        unansweredStarts: 0,
      },
    ],
  ])("%s", (_, to, after) => {
    expect(countersLeft(counted, to)).toStrictEqual(after);
  });
});
