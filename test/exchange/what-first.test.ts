import { expect, it } from "vitest";
import type { OpenExchange } from "../../src/exchange/records.ts";
import type { First } from "../../src/exchange/start/decide.ts";
import { whatFirst } from "../../src/exchange/start/decide.ts";
import type { Start } from "../../src/exchange/start/start.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const circumstances = {
  policy: { failedAttempts: 3, unackedStarts: 5 },
  clock: { now: () => now },
};

/** What an earlier run left, whose token lives unless it is said otherwise. */
const left = (
  state: OpenExchange["state"],
  operation: "get" | "update",
  more: Partial<OpenExchange> = {},
): OpenExchange => ({
  id: "01M85AFRFBW6B0XV3RD6ECXDQN",
  operation,
  kind: "credit-card/offline",
  state,
  externalRef: "",
  baseGeneration: 1,
  newGeneration: 2,
  startedAt: "2026-11-20T11:59:00Z",
  tokenExpiry: "2026-11-20T12:04:00Z",
  usesRemaining: null,
  limited: false,
  holdReason: null,
  delivered: false,
  saveOwed: false,
  endsUnanswered: 0,
  acknowledgedAt: null,
  adopted: false,
  given: null,
  by: null,
  ...more,
});
const expired = { tokenExpiry: "2026-11-20T11:59:59Z" };
const limited = { limited: true };
const lost = { endsUnanswered: 1 };

/** What comes first where the guard allows a start, and where it does not. */
it.each<[OpenExchange | null, Partial<Start>, First, First]>([
  [null, {}, "start", "guard"],
  [null, { force: true }, "start", "start"],
  [left("started", "get"), {}, "start", "acknowledge"],
  [left("started", "get", limited), {}, "start", "guard"],
  [left("started", "get"), { discardPending: true }, "start", "guard"],
  [left("started", "get"), { operation: "update" }, "start", "guard"],
  [left("started", "update"), {}, "acknowledge", "acknowledge"],
  [left("started", "update"), { operation: "update" }, "start", "guard"],
  [left("started", "update"), { discardPending: true }, "start", "guard"],
  [left("started", "get", lost), {}, "acknowledge", "acknowledge"],
  [left("started", "get", { ...lost, ...limited }), {}, "start", "guard"],
  [left("held", "get"), {}, "held", "held"],
  [left("held", "get"), { force: true }, "held", "held"],
  [left("held", "get"), { discardPending: true }, "start", "guard"],
  [left("held", "get", expired), {}, "start", "guard"],
  [left("held", "get", expired), { operation: "update" }, "held", "held"],
  [left("held", "get", { ...expired, saveOwed: true }), {}, "held", "held"],
  [left("held", "update", expired), {}, "held", "held"],
  [left("ending", "get"), {}, "acknowledge", "acknowledge"],
  [left("ending", "get"), { discardPending: true }, "acknowledge", "acknowledge"],
  [left("ending", "update", expired), { force: true }, "acknowledge", "acknowledge"],
  [left("in-doubt", "update"), {}, "start", "guard"],
  [left("in-doubt", "get"), { force: true }, "start", "start"],
])("what an exchange does first, after %o, with %o", (open, asked, allowed, refused) => {
  const start = { operation: "get", discardPending: false, force: false, ...asked } as const;
  const counters = { failedAttempts: 0, possiblyFailed: 0, unackedStarts: 0, unansweredStarts: 0 };
  expect(whatFirst({ ...counters, open }, start, circumstances)).toBe(allowed);
  for (const spent of [{ failedAttempts: 2 }, { unackedStarts: 4 }])
    expect(whatFirst({ ...counters, ...spent, open }, start, circumstances)).toBe(refused);
});
