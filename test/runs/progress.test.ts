import { expect, test } from "vitest";
import { progressText } from "../../src/runs/report.ts";

const half = { total: 2000, done: 1100, earlier: 100, failed: 3, skipped: 41 };

test.each([
  [80, "███████░░░░░   57 %  2 seconds left  1,100 of 2,000 done  3 failed  41 skipped"],
  [60, "███████░░░░░   57 %  2 seconds left  1,100 of 2,000 done"],
  [20, "███████░░░░░   57 %"],
  [7, "██████"],
])(
  "progress in %i columns leaves the last one empty, in which a terminal may wrap",
  (columns, expected) => {
    expect(progressText(half, 1600, columns)).toBe(expected);
  },
);

test.each([
  [
    { total: 9, done: 0, earlier: 0, failed: 0, skipped: 0 },
    900,
    "░░░░░░░░░░░░    0 %  0 of 9 done",
  ],
  [{ total: 0, done: 0, earlier: 0, failed: 0, skipped: 0 }, 0, "████████████  100 %  0 of 0 done"],
  // What was done earlier has taken no time.
  [
    { total: 400, done: 9, earlier: 8, failed: 0, skipped: 0 },
    2000,
    "░░░░░░░░░░░░    2 %  13 minutes left  9 of 400 done",
  ],
])("progress of %j after %i ms", (tally, elapsedMs, expected) => {
  expect(progressText(tally, elapsedMs, 120)).toBe(expected);
});
