import { conditionOf, ruleOf } from "./conditions.ts";
import type { Fold } from "./fold.ts";
import type { Certainty, LockRule, VaultState, Verdict } from "./report.ts";
import { beforeRelease } from "./rules.ts";
import type { Rules } from "./rules.ts";
import { field, flag, small } from "./vault-records.ts";

/** What holds for all vaults of a log, and takes certainty from what was not seen. */
export interface LogFacts {
  /** Lines that are no items: each might have been one of this vault. */
  skippedLines: number;
  /** Failed accesses can be told from others in this log. */
  tellsFailures: boolean;
  /** --since or --until have left out what was before. */
  beginsLater: boolean;
}

export interface Judgement {
  verdict: Verdict;
  state: VaultState;
  rule?: LockRule;
  lockedAt?: number;
  certainty: Certainty;
  reason: string;
}

/**
 * What state a vault must be in at a moment. Cheap: no item is looked up, but where only time can have locked (`isGeneric` is
 * asked then: vaults of generic kinds have no auto-lock, section 8).
 */
export function judge(fold: Fold, vault: number, asOf: number, facts: LogFacts, isGeneric: () => boolean): Judgement {
  fold.finish(vault, asOf);
  const { records, rules } = fold;
  const condition = conditionOf(fold.records, vault);
  const doubts = doubtsOf(fold, vault, facts);
  if (condition === "deleted")
    return { verdict: "deleted", state: "deleted", ...sure(fold.oddities.has(vault) ? doubts : [], "the item says so") };
  if (condition === "locked") return lockedBy(fold, vault, doubts);
  const idle = asOf - Math.max(records.get(vault, field.firstTime), records.get(vault, field.lastStart) || 0);
  if (idle >= rules.autoLockAfterMs && !records.has(vault, flag.generic) && !isGeneric()) {
    const lockedAt = asOf - idle + rules.autoLockAfterMs;
    const reason = "no start for so long; it holds unless the vault has a generic kind or another autoLockDate";
    return { verdict: "locked", state: "locked", rule: "auto-lock", lockedAt, certainty: "likely", reason };
  }
  const unacked = records.getSmall(vault, small.unacked);
  const isOpen = records.getSmall(vault, small.pending) !== 0;
  const state = isOpen ? "exchange-open" : "active";
  const verdict = isAtRisk(unacked, records.getSmall(vault, small.failed), rules) ? "at-risk" : isOpen ? "open-exchange" : "ok";
  return { verdict, state, ...sure(doubts, knownBy(fold, vault)) };
}

/** One more failed access, or one more start, would lock. */
const isAtRisk = (unacked: number, failed: number, rules: Rules): boolean =>
  (failed > 0 && failed >= rules.lockAfterFailed - 1) || (unacked > 0 && unacked >= rules.lockAfterUnacked - 1);

function lockedBy(fold: Fold, vault: number, doubts: readonly string[]): Judgement {
  const rule = ruleOf(fold.records, vault);
  const locked = { verdict: "locked", state: "locked", rule, lockedAt: fold.records.get(vault, field.since) } as const;
  if (fold.records.has(vault, flag.lockIsSaid)) {
    if (rule !== "unseen") return { ...locked, certainty: "certain", reason: "the item itself says that the vault was locked" };
    return { ...locked, certainty: "certain", reason: "a call was refused because the vault was locked; by what, the log does not show" };
  }
  if (rule === "expired-invalid-start") {
    return {
      ...locked,
      certainty: "likely",
      reason: "releases up to 1.2.22 lock when the transaction expires; how long it lives is an assumption",
    };
  }
  // What was not seen can only have locked it earlier; that it is locked stays true, unless something has unlocked it unseen.
  return { ...locked, ...sure(doubts, `the items are as many as the rule asks for, and ${knownBy(fold, vault)}`) };
}

function knownBy(fold: Fold, vault: number): string {
  if (fold.records.has(vault, flag.created)) return "the log shows the vault from its creation on";
  if (fold.records.has(vault, flag.unlockedByItem)) return "an unlock in the log sets the counters to zero";
  return "an acknowledgement in the log sets the counters to zero";
}

function doubtsOf(fold: Fold, vault: number, { skippedLines, tellsFailures, beginsLater }: LogFacts): string[] {
  const { records, rules } = fold;
  const isKnown = records.has(vault, flag.known);
  return [
    ...(fold.oddities.has(vault) ? ["the log contradicts itself for this vault"] : []),
    ...(records.has(vault, flag.late) ? ["some of its items came too late to be put in order"] : []),
    ...(records.has(vault, flag.unanswered) ? ["a call went unanswered: nobody knows whether it counted"] : []),
    ...(records.has(vault, flag.other) ? ["it has items of unknown actions"] : []),
    ...(isKnown
      ? []
      : [`the log ${beginsLater ? "is read from later on" : "begins later"} than the vault: its counters at that time are not known`]),
    ...(tellsFailures ? [] : ["nothing in these items tells failed accesses from others"]),
    ...(beforeRelease(rules.release, "1.2.18") ? [`release ${rules.release} records no failed accesses`] : []),
    ...(skippedLines > 0 ? [`${skippedLines} ${skippedLines === 1 ? "line" : "lines"} could not be read`] : []),
  ];
}

const sure = (doubts: readonly string[], reason: string): { certainty: Certainty; reason: string } =>
  doubts.length === 0 ? { certainty: "certain", reason } : { certainty: "likely", reason: doubts.join("; ") };
