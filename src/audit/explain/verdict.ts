import type { LockRule, VaultReport } from "../../documents/audit.ts";
import { wouldLock } from "../../exchange/counting.ts";
import { count, grouped } from "../../terminal/count.ts";
import { eventCodes, isFailedAccess, isStart, type Verdict } from "../read/item.ts";
import type { Ending, Vault } from "../fold/vault.ts";
import { beforeRelease } from "../flags.ts";
import { said } from "../read/clip.ts";
import { type Events, eventsOf, type Log, type VaultEvent } from "./log.ts";

interface Confidence {
  certainty: VaultReport["certainty"];
  reason: string;
}

interface Judgement extends Confidence {
  verdict: Verdict;
  rule?: LockRule;
  /** Time of the lock, in milliseconds since the epoch. */
  lockedAt?: number;
  /** Of the rule of a lock, if it differs: that a vault is locked may be certain, and why not. */
  ofRule?: Confidence;
}

/**
 * Judges a vault. Reads an item only for a possible auto-lock, which generic vaults do not have
 * (docs/interface.md, Lockout), and of calls that were refused.
 */
export function judge(log: Log, vault: Vault): Judgement {
  const { fold, asOf } = log;
  const { limits, autoLockAfterMs } = fold.rules;
  const { ending, unackedStarts, failedAttempts, unclear } = vault;
  const doubts = doubtsOf(log, vault);
  if (ending?.state === "deleted") {
    const isUnsure = ending.isUnsure || vault.contradictions.length > 0;
    return { verdict: "deleted", ...confidence(isUnsure ? doubts : [], "an item records it") };
  }
  if (ending !== undefined) return locked(vault, ending.rule, ending.since, doubts);
  const gone = "a call was refused because the service has no such vault";
  if (vault.gone > 0) return { verdict: "deleted", ...confidence([gone]) };
  const unknown = { verdict: "unknown", certainty: "unknown" } as const;
  const reason = [unread, elsewhere].find((one) => doubts.includes(one));
  if (reason !== undefined) return { ...unknown, reason };
  if ((vault.kinds & ~(1 << eventCodes.other)) === 0)
    return { ...unknown, reason: "none of its items has a known action" };
  // Any item that is not understood may be a start.
  const lastUse = Math.max(vault.firstTime, unclear > 0 ? vault.lastTime : vault.lastStart || 0);
  if (asOf - lastUse >= autoLockAfterMs && !isGeneric(log, vault))
    return locked(vault, "auto-lock", lastUse + autoLockAfterMs, doubts);
  const expiry = vault.invalidStart + fold.rules.tokenLifetimeMs;
  if (doubts.includes(expires) && vault.invalidStart > 0 && expiry <= asOf)
    return locked(vault, "expired-invalid-start", expiry, doubts);
  const isAtRisk =
    doubts.includes(expires) ||
    wouldLock(failedAttempts, limits.failedAttempts) ||
    wouldLock(unackedStarts, limits.unackedStarts);
  // The starts reach the limit without a lock only if an item between them was not understood.
  if (unackedStarts >= limits.unackedStarts || (!isAtRisk && isUnclear(log, vault)))
    return { ...unknown, reason: unclearWords(fold.isHypothetical, vault) };
  const verdict = isAtRisk ? "at-risk" : vault.pending > 0 ? "open-exchange" : "ok";
  const shown = "locks made in the console appear only if the export records them";
  return { verdict, ...confidence(doubts, `${knownBy(vault)}; ${shown}`) };
}

/** Whether a vault is generic, by the endpoint of its newest item that has one. */
function isGeneric(log: Log, vault: Vault): boolean {
  const { before } = eventsOf(log, vault);
  const last = before.findLast(({ seen }) => log.itemOf(seen).endpoint !== undefined);
  return last !== undefined && log.itemOf(last.seen).endpoint?.includes("/generic/") === true;
}

/**
 * Whether calls not understood, or refused for an unknown reason (maybe a lock), prevent a verdict.
 * Without a reason it is the service's item for bad credentials (docs/interface.md, Audit items).
 */
const isUnclear = (log: Log, vault: Vault): boolean =>
  (vault.unclear > 0 && vault.unclearSinceCall > 0) ||
  (vault.refusals > 0 &&
    eventsOf(log, vault)
      .before.filter(({ event }) => event === "refused" || event === "unauthorized")
      .slice(-vault.refusals)
      .some((one) => hasUnknownReason(log, one)));

export const hasUnknownReason = (log: Log, { event, seen }: VaultEvent): boolean =>
  event === "unauthorized" || (event === "refused" && log.itemOf(seen).description !== undefined);

const expires =
  "releases up to 1.2.22 also lock when a start with refused credentials expires, which no item shows";
const unread = "lines that could not be read name this vault";
const elsewhere = "a lock names this vault in another column than the calls";

function unclearWords(isHypothetical: boolean, { unclear, refusals, items }: Vault): string {
  const what = isHypothetical ? "refused because of a lock, or not understood" : "not understood";
  const calls = `${count(refusals, "call")} (wrong credentials, a lock, or the application)`;
  return said({
    [`${what}: ${grouped(unclear)} of its ${count(items, "item")}`]: unclear > 0,
    [`refused for a reason that is not known: ${calls}`]: refusals > 0,
  }).join("; ");
}

function locked(
  vault: Vault,
  rule: LockRule,
  lockedAt: number,
  doubts: readonly string[],
): Judgement {
  const { ending } = vault;
  const known = { verdict: "locked", rule, lockedAt } as const;
  if (ending?.isUnsure === true || doubts.includes(unread))
    return { ...known, ...confidence(doubts) };
  const ofRule = confidenceInRule(vault, rule, doubts);
  return ending?.isSaid === true && ofRule.certainty !== "certain"
    ? { ...known, certainty: "certain", reason: saidBy(ending), ofRule }
    : { ...known, ...ofRule };
}

/** Rules that the log alone cannot prove. */
const unproven: Partial<Record<LockRule, string>> = {
  "auto-lock":
    "no start for that long; not locked if the vault is generic or has another autoLockDate",
  "expired-invalid-start": expires,
};

function confidenceInRule(vault: Vault, rule: LockRule, doubts: readonly string[]): Confidence {
  const { ending } = vault;
  const doubt = unproven[rule];
  if (doubt !== undefined) return confidence([doubt]);
  if (ending?.isGuess === true)
    return confidence(["these calls stand just before the first that found it locked"]);
  if (ending?.isSaid === true && (rule === "unseen" || isRecorded(ending)) && !ending.isLikely)
    return confidence([], saidBy(ending));
  const mayNotCount = "calls were refused without a reason that is known: they may not count";
  // Items not seen can only have locked it earlier, or unlocked it since.
  return confidence(
    ending?.isLikely === true && rule === "failed-attempts" ? [mayNotCount, ...doubts] : doubts,
    `the log has every item that the rule requires, and ${knownBy(vault)}`,
  );
}

const isRecorded = ({ event }: Ending): boolean => event.startsWith("lock");

const saidBy = (ending: Ending): string =>
  isRecorded(ending) && !ending.isLikely
    ? "the item records the lock"
    : "a call was refused because the vault was locked";

const knownBy = (vault: Vault): string =>
  vault.had("create")
    ? "the log begins with the vault's creation"
    : `an ${vault.had("unlock") ? "unlock" : "acknowledgement"} in the log reset the counters`;

const doubtsOf = (log: Log, vault: Vault): string[] => {
  const { ending, contradictions, mayBeAcked, failedAttempts, refusals, unclear, alike } = vault;
  const isOpen = ending === undefined;
  const named = log.skips.namedAt(vault.uuid);
  const { release } = log.fold.rules;
  const vaults = said({
    "an item that is not understood may have changed that since": ending?.isUnsure === true,
    [unread]: named === Infinity,
    // An accepted start proves that a lock is over.
    [elsewhere]: isOpen && named > 0 && named >= vault.lastStart && named <= log.asOf,
    [expires]: isOpen && failedAttempts > 0 && beforeRelease(release, "1.2.23"),
    "the log contradicts itself for this vault": contradictions.length > 0,
    "an acknowledgement stands just before the first start: it is its own if the clocks differ":
      mayBeAcked && (isOpen || ending.rule === "unacknowledged-starts"),
    "a call got no response: it may have counted":
      vault.had("unanswered-start") || vault.had("unanswered-ack"),
    // The lower bounds, which lock, are none the less sure.
    "a refused call gives no reason: wrong credentials, a lock, or the application":
      isOpen && refusals > 0,
    "identical items without ids may be the same ones": alike > 0,
    "some of its items were not understood": isOpen && unclear > 0,
    "the items begin after the vault's creation: its counters before are unknown":
      !vault.hasKnownCounters,
  });
  return [...vaults, ...log.doubts];
};

const confidence = (doubts: readonly string[], reason = ""): Confidence =>
  doubts.length === 0
    ? { certainty: "certain", reason }
    : { certainty: "likely", reason: doubts.join("; ") };

/** A vault's verdict, its newest events, and those that led to the lock or count toward lockout. */
export interface Evidence extends Judgement, Events {
  chain: readonly VaultEvent[];
  /** `probably ` unless the rule of the verdict is certain. */
  probably: string;
}

export function evidenceOf(log: Log, vault: Vault): Evidence {
  const judgement = judge(log, vault);
  const events = eventsOf(log, vault);
  const { certainty } = judgement.ofRule ?? judgement;
  const probably = certainty === "certain" ? "" : "probably ";
  return { ...judgement, ...events, chain: chainOf(events.before, vault, judgement), probably };
}

export const countsAsStart = ({ event }: VaultEvent): boolean =>
  isStart(event) || event === "locking-start" || event === "unanswered-start";

export const countsAsFailure = ({ event }: VaultEvent): boolean =>
  isFailedAccess(event) || event === "unauthorized";

/** Returns the events up to the lock that led to it or count toward lockout, oldest first. */
function chainOf(
  events: readonly VaultEvent[],
  { ending, unackedStarts, failedAttempts }: Vault,
  { verdict, rule }: Judgement,
): VaultEvent[] {
  const newest = (count: number, isOne: (event: VaultEvent) => boolean): VaultEvent[] =>
    count === 0 ? [] : events.filter(isOne).slice(-count);
  if (rule === "auto-lock") return [];
  if (ending === undefined) {
    const counting = new Set([
      ...newest(unackedStarts, countsAsStart),
      ...newest(failedAttempts, countsAsFailure),
    ]);
    return events.filter((one) => counting.has(one));
  }
  const last = events.length - 1;
  if (verdict === "deleted" || rule === "administrator") return events.slice(last);
  if (rule === "unseen") {
    const isOther = (one: VaultEvent): boolean =>
      !countsAsFailure(one) && one.event !== "not-performed";
    return events.slice(events.slice(0, last).findLastIndex(isOther) + 1);
  }
  const isFailed = rule === "failed-attempts";
  // A refusal between failed attempts that lock by themselves did not.
  const sure = newest(ending.count, ({ event }) => isFailedAccess(event) && event !== "refused");
  const isSure = isFailed && sure.length === ending.count;
  const counted = isSure ? sure : newest(ending.count, isFailed ? countsAsFailure : countsAsStart);
  return events.filter((one, at) => at === last || counted.includes(one));
}
