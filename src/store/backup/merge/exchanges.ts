import type { Meeting } from "./meeting.ts";
import { isFurther } from "./meeting.ts";
import { findGeneration, isLive } from "../../steps/generations.ts";
import type { ExchangeRow, VaultRow, CredentialsRow, VaultRows } from "../../steps/rows.ts";
import {
  update,
  findExchange,
  openExchangeOf,
  journal,
  noteError,
  vaultOf,
} from "../../steps/rows.ts";

/** Takes over what the file knows further of exchanges that both have; with credentials that an acknowledgement there has proven. */
export function settleKnown(
  { rows, theirs, vault, left, goesOn, isUsable }: Meeting,
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
    recount(vault, here, further);
    if (further.state === "rejected") countRefusals(vault, 1, vaultOf(theirs));
    update(here, further);
    const offered = findGeneration(rows, here.newGeneration);
    if (row === left && goesOn) continueOpen(rows, here, now);
    if (row.state === "acknowledged" && !row.adopted) {
      for (const earlier of rows.exchanges.slice(0, rows.exchanges.indexOf(here)))
        zero(vault, earlier);
    }
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

/** Adds the exchanges that only the file has, and counts those that no later acknowledgement has zeroed. */
export function addExchanges(
  { rows, theirs, vault, left, goesOn, fresh }: Meeting,
  numbers: Map<number, number>,
  now: number,
): void {
  const acknowledged = [...rows.exchanges, ...theirs.exchanges].filter(
    (row) => !row.adopted && row.state === "acknowledged",
  );
  const [lastEnd = "", lastProof] = [
    acknowledged
      .map((row) => row.startedAt)
      .toSorted()
      .at(-1),
    vault.provenAt ?? "",
  ];
  const ourLast = rows.exchanges.at(-1);
  for (const row of fresh) {
    const added = {
      ...numbered(row, numbers),
      adopted: true,
      ...(row === left && !goesOn ? closed : {}),
    };
    if (row.state === "intent" && row.startedAt < lastProof) added.state = "discarded";
    if (row.startedAt < lastEnd) update(added, { countedStart: 0, countedFailed: 0 });
    recount(vault, undefined, added);
    // In the order of time; but an open one is the last, and of those that have ended the one of this state stays it.
    const isNext = (each: ExchangeRow): boolean =>
      each.startedAt > row.startedAt || (each === ourLast && added.state !== "intent");
    const next = openExchangeOf({ exchanges: [added] }) ? -1 : rows.exchanges.findIndex(isNext);
    rows.exchanges.splice(next < 0 ? rows.exchanges.length : next, 0, added);
    if (row === left && goesOn) continueOpen(rows, added, now);
  }
  const refused = fresh.filter((row) => row.state === "rejected" && row.startedAt >= lastProof);
  countRefusals(vault, refused.length, vaultOf(theirs));
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

const counters = [
  "unackedStarts",
  "unansweredStarts",
  "quietStarts",
  "failedAttempts",
  "possiblyFailed",
] as const;

export type Counters = Pick<VaultRow, (typeof counters)[number] | "refusedSince">;

/** The higher ones of a forgotten vault, which has no exchanges left that would tell what they count. */
export function higherCounters(here: Counters, theirs: Counters): Counters {
  const higher = counters.map((column) => [column, Math.max(here[column], theirs[column])]);
  return {
    ...(Object.fromEntries(higher) as Counters),
    refusedSince: here.refusedSince || theirs.refusedSince,
  };
}

/** Counts an exchange as it is `after`, in place of what it counted `before`. */
function recount(vault: VaultRow, before: ExchangeRow | undefined, after: ExchangeRow): void {
  const [former, now] = [before === undefined ? {} : countedBy(before), countedBy(after)];
  const columns = Object.entries(now).map(([column, n]) => {
    const name = column as keyof typeof now;
    return [
      name,
      Math.max(0, vault[name] + n - (before === undefined ? 0 : (former as typeof now)[name])),
    ];
  });
  update(vault, Object.fromEntries(columns) as typeof now);
}

function countedBy({
  state,
  newGeneration: made,
  countedStart: start,
  countedFailed: failed,
}: ExchangeRow) {
  // A later success has ended it, if it is no intent any more, and zeroed failed attempts.
  const maybeFailed = state === "intent" ? start : 0;
  const possibly = maybeFailed * failed;
  return {
    unackedStarts: start,
    unansweredStarts: made === null ? start : 0,
    quietStarts: maybeFailed - possibly,
    failedAttempts: possibly,
    possiblyFailed: possibly,
  };
}

/** Takes the exchange out of the counters: a later acknowledgement has zeroed them. */
export function zero(vault: VaultRow, row: ExchangeRow): void {
  const zeroed = { ...row, countedStart: 0, countedFailed: 0 };
  recount(vault, row, zeroed);
  update(row, zeroed);
}

/** Counts certain failed attempts that only the file knows, of those that still count there. */
export function countRefusals(
  vault: VaultRow,
  refused: number,
  theirs: Pick<VaultRow, "failedAttempts" | "possiblyFailed">,
): void {
  const certain = Math.min(refused, theirs.failedAttempts - theirs.possiblyFailed);
  if (certain > 0)
    update(vault, { failedAttempts: vault.failedAttempts + certain, refusedSince: true });
}
