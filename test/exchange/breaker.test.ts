import { describe, expect, it } from "vitest";
import type { Breaker, BreakerEvent } from "../../src/exchange/breaker.ts";
import { after, closed, isTriedByTime, trialDueAt } from "../../src/exchange/breaker.ts";
import { isOfService } from "../../src/exchange/start/breaker-gate.ts";

/** Some time, in seconds from which the tables count. */
const noon = Date.parse("2026-11-20T12:00:00Z");
const at = (seconds: number): number => noon + seconds * 1000;

/** A start was begun, and was lost so much later. */
const lost = (seconds: number, afterSeconds = 0): BreakerEvent => ({
  type: "lost",
  at: at(seconds + afterSeconds),
  startedAt: at(seconds),
  httpStatus: null,
});
const claimed = (seconds: number): BreakerEvent => ({ type: "claimed", at: at(seconds) });
const found = (seconds: number): BreakerEvent => ({ type: "found", startedAt: at(seconds) });
const answered = (seconds: number, begun?: number): BreakerEvent => ({
  type: "answered",
  at: at(seconds),
  startedAt: begun === undefined ? undefined : at(begun),
});
const probing = (seconds: number): BreakerEvent => ({ type: "probing", at: at(seconds) });
const probed = (seconds: number, isAnswered: boolean): BreakerEvent => ({
  type: "probed",
  at: at(seconds),
  isAnswered,
});

const through = (...events: BreakerEvent[]): Breaker => events.reduce(after, closed);

/** In how many seconds after noon a trial is due, as seen at some time. */
function due(breaker: Breaker, seconds: number, unanswered: number): string | number {
  const dueAt = trialDueAt(breaker, at(seconds), unanswered);
  return dueAt === null ? "closed" : dueAt <= at(seconds) ? "now" : (dueAt - noon) / 1000;
}

describe("when a start may go out", () => {
  const trials = [claimed(2), claimed(12), claimed(42), claimed(102), claimed(222)];
  it.each<[string, BreakerEvent[], number, number, string | number]>([
    ["nothing has happened", [], 0, 4, "closed"],
    ["a start was lost", [lost(0)], 0, 0, 2],
    ["and two seconds have passed", [lost(0)], 2, 0, "now"],
    ["its own vault waits for two intervals", [lost(0)], 2, 1, 4],
    ["a vault from its third start on at least 300 seconds", [lost(0)], 2, 2, 300],
    ["or longer, for its intervals", [lost(0), ...trials], 222, 2, 1122],
    ["those under way were lost too: since the last one", [lost(0), lost(0, 20)], 20, 0, 22],
    [
      "a trial goes out: the next one is due as if it were lost",
      [lost(0), ...trials.slice(0, 1)],
      2,
      0,
      12,
    ],
    ["it was lost after a time-out", [lost(0), claimed(2), lost(2, 30)], 32, 0, 42],
    ["a second one", [lost(0), ...trials.slice(0, 2)], 12, 0, 42],
    ["a third one", [lost(0), ...trials.slice(0, 3)], 42, 0, 102],
    ["a fourth one", [lost(0), ...trials.slice(0, 4)], 102, 0, 222],
    ["a fifth one", [lost(0), ...trials], 222, 0, 522],
    ["never more than 300 seconds", [lost(0), ...trials, claimed(522)], 522, 0, 822],
    ["a trial was answered", [lost(0), claimed(2), answered(3)], 3, 0, "closed"],
    ["a start was begun before the lost one", [lost(1, 9), answered(11, 0)], 11, 0, 12],
    ["or after it, whenever that was lost", [lost(1, 9), answered(11, 2)], 11, 0, "closed"],
    ["it opened again: as the first time", [lost(0), claimed(2), answered(3), lost(4)], 4, 0, 6],
    ["a trial is claimed after its probe", [lost(0), probing(2), claimed(3)], 3, 0, 13],
    ["somebody probes", [lost(0), probing(2)], 3, 0, 32],
    ["a probe was not answered", [lost(0), probing(2), probed(5, false)], 5, 0, 35],
    [
      "a trial was not sent, or counts nothing",
      [
        lost(0),
        probing(2),
        claimed(3),
        { type: "withdrawn", before: through(lost(0), probing(2)) },
      ],
      4,
      0,
      "now",
    ],
    [
      "but somebody else has lost a start since",
      [lost(0), claimed(2), lost(1, 2), { type: "withdrawn", before: through(lost(0)) }],
      4,
      0,
      13,
    ],
    ["a start was found without an outcome: its process died", [found(0)], 1, 1, 4],
    ["long ago", [found(-3600)], 0, 1, "now"],
    ["but it was closed since", [lost(0), answered(10), found(5)], 11, 1, "closed"],
    ["while it is open, it changes nothing", [lost(0), found(20)], 20, 0, "now"],
    ["the clock was set back by an hour: the time is void", [lost(3600)], 0, 4, "now"],
    ["and that of a probe", [lost(3600), probing(3600)], 0, 0, "now"],
    ["clocks that differ by a second make nothing void", [lost(1)], 0, 0, 3],
  ])("%s", (_, events, seconds, unanswered, expected) => {
    expect(due(through(...events), seconds, unanswered)).toBe(expected);
  });
});

it.each<[string, BreakerEvent[], number, boolean]>([
  ["never asked", [lost(0)], 2, true],
  ["asked while it is closed, and not answered", [probing(0), probed(1, false), lost(2)], 4, true],
  ["answered once", [probing(0), probed(1, true), lost(2)], 4, false],
  [
    "also before it was closed",
    [probing(0), probed(1, true), lost(2), claimed(4), answered(5), lost(6)],
    8,
    false,
  ],
  ["an hour after the last lost start", [probing(0), probed(1, true), lost(2)], 3602, true],
  [
    "and where the clock was set back by so much",
    [probing(0), probed(1, true), lost(3602)],
    2,
    true,
  ],
])(
  "time alone lets a trial out of a service whose probes were %s",
  (_, events, seconds, expected) => {
    expect(isTriedByTime(through(...events), at(seconds))).toBe(expected);
  },
);

it("each change has a version of its own; what changes nothing has none", () => {
  const open = through(lost(0));
  expect(
    [open, after(open, claimed(2)), after(after(open, claimed(2)), answered(3))].map(
      ({ version }) => version,
    ),
  ).toEqual([1, 2, 3]);
  expect(after(open, found(1))).toBe(open);
  expect(after(open, answered(1, -1))).toBe(open);
});

it("the service's own answer is JSON with responseStatus", () => {
  const answer = (body: Record<string, unknown>) =>
    ({ type: "answer", answer: { httpStatus: 404, body } }) as const;
  expect(isOfService(answer({ responseStatus: {} }))).toBe(true);
  expect(isOfService(answer({ status: "ok" }))).toBe(false);
  expect(
    isOfService({
      type: "no-answer",
      cause: "HTTP 503",
      httpStatus: 503,
      answer: { httpStatus: 503, body: { responseStatus: {} } },
    }),
  ).toBe(false);
  expect(isOfService({ type: "not-sent", cause: "refused" })).toBe(false);
});
