import type { Counters } from "../../../exchange/counting.ts";
import { counting, countToCarry, sum } from "../../../exchange/counting.ts";
import type { Meeting } from "./meeting.ts";
import { isFurther } from "./meeting.ts";
import { findGeneration, isLive } from "../../steps/generations.ts";
import type { ExchangeRow, CredentialsRow, VaultRows } from "../../steps/rows.ts";
import {
  update,
  findExchange,
  openExchangeOf,
  journal,
  noteError,
  nothingCarried,
  vaultOf,
} from "../../steps/rows.ts";

/** Takes over what the file knows further of exchanges that both have; with credentials that an acknowledgement there has proven. */
export function settleKnown(
  { rows, theirs, left, goesOn, isUsable }: Meeting,
  numbers: Map<number, number>,
  now: number,
) {
  const settled: { proven?: CredentialsRow }[] = [];
  for (const row of theirs.exchanges) {
    const here = findExchange(rows, row.id);
    const made = findGeneration(theirs, row.newGeneration);
    if (here === undefined || !isFurther(row, here) || (made !== undefined && !isUsable(made)))
      continue;
    const further = { ...numbered(row, numbers), ...(row === left && !goesOn ? closed : {}) };
    update(here, further);
    const offered = findGeneration(rows, here.newGeneration);
    if (row === left && goesOn) continueOpen(rows, here, now);
    const isProven = row !== left && made !== undefined && isLive(made);
    // What a start here has proven or superseded since stays so.
    const isCandidate =
      isProven &&
      offered !== undefined &&
      ["imported", "offered", "void"].includes(offered.standing);
    if (isCandidate) update(offered, { standing: "imported", placed: "successor" });
    else if (row !== left && offered?.standing === "offered") offered.standing = "void";
    settled.push(isCandidate ? { proven: offered } : {});
  }
  return settled;
}

/**
 * Adds the exchanges that only the file has. Those that count there are carried here: nobody knows which of ours were begun before them.
 */
export function addExchanges(
  { rows, theirs, vault, left, goesOn, fresh }: Meeting,
  numbers: Map<number, number>,
  now: number,
): void {
  const lastProof = vault.provenAt ?? "";
  const ourLast = rows.exchanges.at(-1);
  const ours = countToCarry(rows.exchanges, vault);
  const counted = countedThere(theirs, fresh);
  for (const row of fresh) {
    const added = {
      ...numbered(row, numbers),
      adopted: true,
      ...(counted.ids.has(row.id) ? {} : { outcome: "free" as const }),
      ...(row === left && !goesOn ? closed : {}),
    };
    if (row.state === "intent" && row.startedAt < lastProof) added.state = "discarded";
    // In the order of time; but an open one is the last, and of those that have ended the one of this state stays it.
    const isNext = (each: ExchangeRow): boolean =>
      each.startedAt > row.startedAt || (each === ourLast && added.state !== "intent");
    const next = openExchangeOf({ exchanges: [added] }) ? -1 : rows.exchanges.findIndex(isNext);
    rows.exchanges.splice(next < 0 ? rows.exchanges.length : next, 0, added);
    if (row === left && goesOn) continueOpen(rows, added, now);
  }
  const { counters } = counted;
  if (counted.ids.size > 0 || counters.unackedStarts > 0 || counters.failedAttempts > 0)
    carry(rows, (name) => ours[name] + counters[name]);
}

/** What the exchanges of the file that are unknown here count there, with what is carried for them; and which of them count. */
function countedThere({ vault, exchanges }: VaultRows, fresh: readonly ExchangeRow[]) {
  const found = counting(
    exchanges.map((row) => ({ ...row, sole: false })),
    vault ?? nothingCarried,
  );
  const isFresh = ({ id }: Pick<ExchangeRow, "id">): boolean => fresh.some((row) => row.id === id);
  const [starts, refused, possibly] = [found.starts, found.refused, found.possibly].map((rows) =>
    rows.filter(isFresh),
  ) as [ExchangeRow[], ExchangeRow[], ExchangeRow[]];
  const isCarried = isFresh({ id: vault?.carriedUpTo ?? "" });
  const carried = isCarried ? {} : { carriedStarts: null, carriedFailed: null };
  return {
    counters: sum({ ...found, starts, refused, possibly, ...carried }),
    ids: new Set([...starts, ...refused, ...possibly].map(({ id }) => id)),
  };
}

const closed = { state: "discarded", token: null } as const;

function numbered(row: ExchangeRow, numbers: Map<number, number>): ExchangeRow {
  const made = row.newGeneration === null ? null : (numbers.get(row.newGeneration) ?? null);
  return { ...row, baseGeneration: numbers.get(row.baseGeneration) ?? 0, newGeneration: made };
}

/**
 * Keeps an exchange of the file open. It may have been acknowledged since, so an error about its token leaves it in doubt. Closes
 * one with credentials that are superseded here: its end call was answered elsewhere, or never will be.
 */
export function continueOpen(rows: VaultRows, open: ExchangeRow, now: number): void {
  const [base, offered] = [open.baseGeneration, open.newGeneration].map((n) =>
    findGeneration(rows, n),
  );
  if (offered?.standing === "offered" || offered?.standing === "imported")
    update(offered, { standing: "imported", placed: "successor" });
  update(open, { adopted: true, endsUnanswered: open.endsUnanswered + 1 });
  if (base !== undefined) base.ended = true;
  if (base?.standing === "superseded" || offered?.standing === "superseded") {
    update(open, closed);
    return;
  }
  if (open.state === "in-doubt" || isTokenAlive(open, now)) return;
  const error = {
    code: "in-doubt",
    message: "restored from a backup; the exchange may have been acknowledged since",
  };
  journal(rows, "in-doubt", open.id, {
    from: open.state,
    endsUnanswered: open.endsUnanswered,
    error,
  });
  noteError(rows, error);
  open.state = "in-doubt";
}

/** By our clock. A token of unknown lifetime is assumed to live for a day. */
export function isTokenAlive(
  { tokenExpiry: expiry, startedAt: start }: ExchangeRow,
  now: number,
): boolean {
  return (expiry === null ? Date.parse(start) + 86_400_000 : Date.parse(expiry)) > now;
}

/** Carries counters for all exchanges there are. */
export const carry = (rows: VaultRows, counter: (name: keyof Counters) => number): void =>
  update(vaultOf(rows), {
    carried: {
      unackedStarts: counter("unackedStarts"),
      unansweredStarts: counter("unansweredStarts"),
      failedAttempts: counter("failedAttempts"),
      possiblyFailed: counter("possiblyFailed"),
    },
    carriedUpTo: rows.exchanges.at(-1)?.id ?? null,
  });
