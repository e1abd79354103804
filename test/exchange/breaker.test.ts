import { describe, expect, it } from "vitest";
import type { Breaker, BreakerEvent } from "../../src/exchange/breaker.ts";
import { after, closed, passage } from "../../src/exchange/breaker.ts";
import { responseOf } from "../../src/exchange/start/breaker-gate.ts";
import type { Reply } from "../../src/exchange/ports.ts";

const second = 1000;
/** Some time, in seconds from which the tables count. */
const noon = Date.parse("2026-11-20T12:00:00Z");
const at = (seconds: number): number => noon + seconds * second;

const lost = (
  seconds: number,
  httpStatus: number | null = null,
  contentType: string | null = null,
): BreakerEvent => ({
  type: "unanswered",
  at: at(seconds),
  response: { httpStatus, contentType, isService: false },
});
const claimed = (seconds: number): BreakerEvent => ({ type: "claimed", at: at(seconds) });
const found = (seconds: number): BreakerEvent => ({ type: "found", startedAt: at(seconds) });
const answered = (seconds: number): BreakerEvent => ({ type: "answered", at: at(seconds) });

const json = (
  httpStatus: number,
  body: Record<string, unknown> = { responseStatus: { status: "ERROR" } },
): Reply => ({
  type: "answer",
  answer: { httpStatus, body },
});
const page = (httpStatus: number, contentType = "text/html"): Reply => ({
  type: "no-answer",
  cause: "a page",
  httpStatus,
  contentType,
});
const silence: Reply = { type: "no-answer", cause: "timed out" };
const probed = (reply: Reply): BreakerEvent => ({
  type: "responded",
  response: responseOf(reply),
  isProbe: true,
});
const responded = (reply: Reply): BreakerEvent => ({
  type: "responded",
  response: responseOf(reply),
  isProbe: false,
});

const through = (...events: BreakerEvent[]): Breaker => events.reduce(after, closed);

/** What lets a start out, or in how many seconds after noon the next trial is due. */
function passes(breaker: Breaker, seconds: number, unanswered = 0): string | number {
  const way = passage(breaker, at(seconds), unanswered);
  return "by" in way ? way.by : (way.dueAt - noon) / second;
}

describe("when a start may go out", () => {
  it.each<
    [
      what: string,
      events: BreakerEvent[],
      seconds: number,
      unanswered: number,
      expected: string | number,
    ]
  >([
    ["nothing has happened", [], 0, 4, "closed"],
    ["a start was lost", [lost(0)], 0, 0, 30],
    ["and 30 seconds have passed", [lost(0)], 30, 0, "trial"],
    ["its own vault waits for two intervals", [lost(0)], 59, 1, 60],
    ["a vault with three unanswered starts for four", [lost(0)], 30, 3, 120],
    ["those under way were lost too: since the last one", [lost(0), lost(20)], 20, 0, 50],
    ["a trial goes out: the next one is due as if it were lost", [lost(0), claimed(30)], 30, 0, 90],
    ["it was lost after a time-out", [lost(0), claimed(30), lost(60)], 60, 0, 120],
    ["a second one", [lost(0), claimed(30), claimed(90)], 90, 0, 210],
    ["a third one", [lost(0), claimed(30), claimed(90), claimed(210)], 210, 0, 510],
    [
      "never more than 300 seconds",
      [lost(0), claimed(30), claimed(90), claimed(210), claimed(510), claimed(810)],
      810,
      0,
      1110,
    ],
    ["a trial was answered", [lost(0), claimed(30), answered(31)], 31, 0, "closed"],
    [
      "a start was answered that was under way before",
      [lost(10), { type: "answered", at: at(11), startedAt: at(9) }],
      11,
      0,
      40,
    ],
    [
      "one that began later",
      [lost(10), { type: "answered", at: at(12), startedAt: at(11) }],
      12,
      0,
      "closed",
    ],
    [
      "it opened again: as the first time",
      [lost(0), claimed(30), answered(31), lost(40)],
      40,
      0,
      70,
    ],
    [
      "the service has answered a probe: at once, whoever asks",
      [lost(0), probed(json(404))],
      1,
      4,
      "hint",
    ],
    ["or an end call", [lost(0), responded(json(200))], 1, 0, "hint"],
    ["or has refused the application", [lost(0), responded(json(401))], 1, 0, "hint"],
    ["that trial does not lengthen the wait", [lost(0), probed(json(404)), claimed(1)], 1, 0, 31],
    [
      "only once per opening",
      [lost(0), probed(json(404)), claimed(1), lost(2), probed(json(404)), responded(json(200))],
      2,
      0,
      32,
    ],
    [
      "once more after it was closed",
      [lost(0), probed(json(404)), claimed(1), answered(2), lost(3), probed(json(404))],
      3,
      0,
      "hint",
    ],
    ["a probe got no answer", [lost(0), probed(silence)], 1, 0, 30],
    ["a probe got 503", [lost(0, 503, "text/html"), probed(page(503))], 1, 0, 30],
    [
      "a probe got the service's own 503",
      [lost(0), probed({ type: "no-answer", cause: "", httpStatus: 503 })],
      1,
      0,
      30,
    ],
    [
      "a probe got the page that opened it",
      [lost(0, 403, "text/html"), probed(page(403))],
      1,
      0,
      30,
    ],
    ["a probe got another status", [lost(0, 503, "text/html"), probed(page(403))], 1, 0, "hint"],
    [
      "a probe got another content type",
      [lost(0, 200, "text/html"), probed(page(200, "text/plain"))],
      1,
      0,
      "hint",
    ],
    ["a probe got a page where starts time out", [lost(0), probed(page(404))], 1, 0, "hint"],
    [
      "only a probe may show such a change",
      [lost(0, 503, "text/html"), responded(page(403))],
      1,
      0,
      30,
    ],
    [
      "JSON of somebody else is no answer to an end call",
      [lost(0), responded(json(200, {}))],
      1,
      0,
      30,
    ],
    [
      "a trial was not sent: it is due again",
      [lost(0), claimed(30), { type: "withdrawn", before: through(lost(0)) }],
      31,
      0,
      "trial",
    ],
    [
      "a trial by a hint was not sent: the hint is there again",
      [
        lost(0),
        probed(json(404)),
        claimed(1),
        { type: "withdrawn", before: through(lost(0), probed(json(404))) },
      ],
      2,
      0,
      "hint",
    ],
    [
      "a trial was not sent, but somebody else has lost a start since",
      [lost(0), claimed(30), lost(35), { type: "withdrawn", before: through(lost(0)) }],
      36,
      0,
      95,
    ],
    ["a start was found without an outcome: its process died", [found(0)], 1, 1, 60],
    ["long ago", [found(-3600)], 0, 1, "trial"],
    ["but a later one was answered", [lost(0), answered(10), found(5)], 11, 1, "closed"],
    ["while it is open, it changes nothing", [lost(0), found(20)], 20, 0, 30],
    ["the clock was set back by an hour: the time is void", [lost(3600)], 0, 0, "trial"],
    ["clocks that differ by a second make nothing void", [lost(1)], 0, 0, 31],
  ])("%s", (_, events, seconds, unanswered, expected) => {
    expect(passes(through(...events), seconds, unanswered)).toBe(expected);
  });
});

it("each change has a version of its own; what changes nothing has none", () => {
  const open = through(lost(0));
  expect(
    [open, after(open, claimed(30)), after(after(open, claimed(30)), answered(31))].map(
      ({ version }) => version,
    ),
  ).toEqual([1, 2, 3]);
  expect(after(open, probed(silence))).toBe(open);
  expect(after(closed, responded(json(200)))).toBe(closed);
});
