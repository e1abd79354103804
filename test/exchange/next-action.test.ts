import { expect, it } from "vitest";
import type { OpenExchange } from "../../src/exchange/records.ts";
import { beforeStart, type Wish } from "../../src/exchange/next-action.ts";

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
it.each<[OpenExchange | null, Partial<Wish>, string, string]>([
  [null, {}, "start", "guard"],
  [null, { force: true }, "start", "start"],
  [left("started", "get"), {}, "start", "end"],
  [left("started", "get", limited), {}, "start", "guard"],
  [left("started", "get"), { discardPending: true }, "start", "guard"],
  [left("started", "get", limited), { discardPending: true }, "start", "guard"],
  [left("started", "get"), { operation: "update" }, "start", "guard"],
  [left("started", "update"), {}, "end", "end"],
  [left("started", "update"), { operation: "update" }, "start", "guard"],
  [left("started", "update"), { discardPending: true }, "start", "guard"],
  [left("started", "get", lost), {}, "end", "end"],
  [left("started", "get", { ...lost, ...limited }), {}, "start", "guard"],
  [left("held", "get"), {}, "held", "held"],
  [left("held", "get"), { force: true }, "held", "held"],
  [left("held", "get"), { discardPending: true }, "start", "guard"],
  [left("held", "get", limited), { discardPending: true }, "start", "guard"],
  [left("held", "get"), { operation: "update", discardPending: true }, "start", "guard"],
  [left("held", "update"), { operation: "update", discardPending: true }, "start", "guard"],
  [left("held", "update"), { discardPending: true }, "held", "held"],
  [left("held", "update"), { discardPending: true, force: true }, "start", "start"],
  [left("held", "get", expired), {}, "start", "guard"],
  [left("held", "get", expired), { operation: "update" }, "held", "held"],
  [left("held", "get", { ...expired, saveOwed: true }), {}, "held", "held"],
  [left("held", "update", expired), {}, "held", "held"],
  [left("ending", "get"), {}, "end", "end"],
  [left("ending", "get"), { discardPending: true }, "end", "end"],
  [left("ending", "update", expired), { force: true }, "end", "end"],
  [left("in-doubt", "update"), {}, "start", "guard"],
  [left("in-doubt", "get"), { force: true }, "start", "start"],
  [null, { operation: "ack" }, "done", "done"],
  [left("started", "get"), { operation: "ack" }, "end", "end"],
  [left("started", "get", limited), { operation: "ack" }, "unread", "unread"],
  [left("started", "get", limited), { operation: "ack", unread: true }, "end", "end"],
  [left("held", "get", { saveOwed: true }), { operation: "ack" }, "held", "held"],
  [left("held", "get", { saveOwed: true }), { operation: "ack", saved: true }, "end", "end"],
  [left("ending", "get", limited), { operation: "ack" }, "end", "end"],
  [left("in-doubt", "get"), { operation: "ack" }, "in-doubt", "in-doubt"],
  [left("started", "get"), { operation: "delete" }, "start", "guard"],
  [left("held", "update"), { operation: "delete" }, "held", "held"],
  [left("held", "update"), { operation: "delete", discardPending: true }, "start", "guard"],
  [left("ending", "get"), { operation: "delete" }, "end", "end"],
  [left("in-doubt", "get"), { operation: "delete" }, "start", "guard"],
])("what an exchange does first, after %o, with %o", (open, asked, allowed, refused) => {
  const wish: Wish = { operation: "get", discardPending: false, force: false, ...asked };
  const none = { failedAttempts: 0, possiblyFailed: 0, unackedStarts: 0, unansweredStarts: 0 };
  const first = (counters: object): string => {
    const action = beforeStart({ ...none, ...counters, open }, wish, circumstances);
    return action?.do === "refuse" ? action.because : (action?.do ?? "start");
  };
  expect(first({})).toBe(allowed);
  for (const spent of [{ failedAttempts: 2 }, { unackedStarts: 4 }])
    expect(first(spent)).toBe(refused);
});
