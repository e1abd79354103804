import { describe, expect, it } from "vitest";
import { resetAttempts } from "../../src/exchange/lockout.ts";
import type { Attempts, CounterReset } from "../../src/exchange/records.ts";

const counted: Attempts = {
  unackedStarts: 4,
  unansweredStarts: 3,
  quietStarts: 1,
  failedAttempts: 2,
  possiblyFailed: 1,
  refused: ["ab"],
  sole: true,
  breaker: {
    lostAt: "2026-11-20T12:00:00.000Z",
    lostTrials: 1,
    hint: "none",
    httpStatus: null,
    contentType: null,
  },
};
const { breaker, ...closed } = counted;

describe("a person's word about the counters of a file", () => {
  it.each<[string, CounterReset, Attempts]>([
    [
      "unlocked",
      "all",
      {
        ...counted,
        unackedStarts: 0,
        unansweredStarts: 0,
        quietStarts: 0,
        failedAttempts: 0,
        possiblyFailed: 0,
      },
    ],
    [
      "none of the unanswered starts arrived: the breaker is closed too",
      "unanswered",
      {
        ...closed,
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
      { ...counted, failedAttempts: 1, possiblyFailed: 0, quietStarts: 0 },
    ],
    ["starts alone", { unackedStarts: 2 }, { ...counted, unackedStarts: 2, unansweredStarts: 0 }],
    [
      "both, up too",
      { failedAttempts: 2, unackedStarts: 9 },
      {
        ...counted,
        failedAttempts: 2,
        possiblyFailed: 0,
        quietStarts: 0,
        unackedStarts: 9,
        unansweredStarts: 0,
      },
    ],
  ])("%s", (_, to, after) => {
    expect(resetAttempts(counted, to)).toStrictEqual(after);
    expect(counted.breaker).toBe(breaker);
  });

  it("more unanswered ones than there are, as a damaged file may say, count none", () => {
    const odd = {
      ...closed,
      unackedStarts: 1,
      unansweredStarts: 3,
      failedAttempts: 0,
      possiblyFailed: 2,
    };
    expect(resetAttempts(odd, "unanswered")).toMatchObject({ unackedStarts: 0, failedAttempts: 0 });
  });
});
