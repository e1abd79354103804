import { clip } from "../read/clip.ts";
import { conditionOf, ruleOf } from "../fold/conditions.ts";
import type { Fold } from "../fold/fold.ts";
import type { Certainty, LockRule, VaultState, Verdict } from "./report.ts";
import { beforeRelease } from "../fold/rules.ts";
import type { Rules } from "../fold/rules.ts";
import { field, flag, small } from "../fold/vault-records.ts";
import { count } from "../../terminal/count.ts";

/** Facts about the whole log that reduce certainty. */
export interface LogFacts {
  /** Number of lines that are not items, any of which could be one of this vault. */
  skippedLines: number;
  /** Whether failed attempts can be distinguished from successful calls. */
  tellsFailures: boolean;
  /** Outcomes that are neither a known success nor a known failure. */
  unsureOutcomes: readonly string[];
  /** Whether --since left out earlier items. */
  beginsLater: boolean;
}

/** Status of a vault. */
export interface Standing {
  verdict: Verdict;
  state: VaultState;
  rule?: LockRule;
  /** Time of the lock, in milliseconds since the epoch. */
  lockedAt?: number;
}

export interface Judgement extends Standing {
  certainty: Certainty;
  reason: string;
}

const deletedStanding: Standing = { verdict: "deleted", state: "deleted" };

/**
 * Returns the status of a vault at a time. Calls `isGeneric`, which may read an item, only for a possible auto-lock: generic vaults have
 * none (section 8).
 */
export function standing(fold: Fold, vault: number, asOf: number, isGeneric: () => boolean): Standing {
  fold.finish(vault, asOf);
  const { records, rules } = fold;
  const condition = conditionOf(records, vault);
  if (condition === "deleted") return deletedStanding;
  if (condition === "locked") {
    return { verdict: "locked", state: "locked", rule: ruleOf(records, vault), lockedAt: records.get(vault, field.since) };
  }
  const idle = asOf - Math.max(records.get(vault, field.firstTime), records.get(vault, field.lastStart) || 0);
  if (idle >= rules.autoLockAfterMs && !records.has(vault, flag.generic) && !isGeneric()) {
    return { verdict: "locked", state: "locked", rule: "auto-lock", lockedAt: asOf - idle + rules.autoLockAfterMs };
  }
  const unacked = records.getSmall(vault, small.unacked);
  const isOpen = records.getSmall(vault, small.pending) !== 0;
  const verdict = isAtRisk(unacked, records.getSmall(vault, small.failed), rules) ? "at-risk" : isOpen ? "open-exchange" : "ok";
  return { verdict, state: isOpen ? "exchange-open" : "active" };
}

/** Returns the status of a vault with its certainty. */
export function judge(fold: Fold, vault: number, asOf: number, facts: LogFacts, isGeneric: () => boolean): Judgement {
  const stands = standing(fold, vault, asOf, isGeneric);
  const doubts = doubtsOf(fold, vault, facts);
  if (!fold.records.has(vault, flag.meaningful)) {
    return { ...stands, certainty: "unknown", reason: "none of its items has an action that this program knows" };
  }
  if (stands.verdict === "deleted") return { ...stands, ...sure(fold.contradictions.has(vault) ? doubts : [], "the item says so") };
  if (stands.verdict === "locked") return { ...stands, ...sureOfLock(fold, vault, stands, doubts) };
  return { ...stands, ...sure(doubts, `${knownBy(fold, vault)}; a lock by the console shows only where it leaves an item`) };
}

/** Whether one more failed attempt or start would lock the vault. */
const isAtRisk = (unacked: number, failed: number, rules: Rules): boolean =>
  (failed > 0 && failed >= rules.lockAfterFailed - 1) || (unacked > 0 && unacked >= rules.lockAfterUnacked - 1);

function sureOfLock(fold: Fold, vault: number, { rule }: Standing, doubts: readonly string[]): Sureness {
  if (rule === "auto-lock") {
    return { certainty: "likely", reason: "no start for so long; it holds unless the vault has a generic kind or another autoLockDate" };
  }
  if (fold.records.has(vault, flag.lockIsSaid)) {
    if (rule !== "unseen") return { certainty: "certain", reason: "the item itself says that the vault was locked" };
    return { certainty: "certain", reason: "a call was refused because the vault was locked; by what, the log does not show" };
  }
  if (rule === "expired-invalid-start") {
    return {
      certainty: "likely",
      reason: "releases up to 1.2.22 lock when the transaction expires; how long it lives is an assumption",
    };
  }
  // Items not seen can only have locked it earlier, or unlocked it since.
  return sure(doubts, `the items are as many as the rule asks for, and ${knownBy(fold, vault)}`);
}

function knownBy(fold: Fold, vault: number): string {
  if (fold.records.has(vault, flag.created)) return "the log shows the vault from its creation on";
  if (fold.records.has(vault, flag.unlockedByItem)) return "an unlock in the log sets the counters to zero";
  return "an acknowledgement in the log sets the counters to zero";
}

function doubtsOf(fold: Fold, vault: number, { skippedLines, tellsFailures, beginsLater, unsureOutcomes }: LogFacts): string[] {
  const { records, rules } = fold;
  const isKnown = records.has(vault, flag.known);
  return [
    ...(fold.contradictions.has(vault) ? ["the log contradicts itself for this vault"] : []),
    ...(records.has(vault, flag.late) ? ["some of its items came too late to be put in order"] : []),
    ...(records.has(vault, flag.unanswered) ? ["a call went unanswered: nobody knows whether it counted"] : []),
    ...(records.has(vault, flag.unworded)
      ? ["a refused call does not say why it was: for its credentials, or because the vault was locked, or by it"]
      : []),
    ...(records.has(vault, flag.alike) ? ["items without ids that are alike were taken for one that was told twice"] : []),
    ...(records.has(vault, flag.other) ? ["it has items of unknown actions"] : []),
    ...(isKnown
      ? []
      : [`the log ${beginsLater ? "is read from later on" : "begins later"} than the vault: its counters at that time are not known`]),
    ...(unsureOutcomes.length === 0 ? [] : [`outcomes were not understood (${unsureOutcomes.slice(0, 3).map(clip).join(", ")})`]),
    ...(tellsFailures ? [] : ["nothing in these items tells failed accesses from others"]),
    ...(beforeRelease(rules.release, "1.2.18") ? [`release ${rules.release} records no failed accesses`] : []),
    ...(skippedLines > 0 ? [`${count(skippedLines, "line")} could not be read`] : []),
  ];
}

type Sureness = Pick<Judgement, "certainty" | "reason">;

const sure = (doubts: readonly string[], reason: string): Sureness =>
  doubts.length === 0 ? { certainty: "certain", reason } : { certainty: "likely", reason: doubts.join("; ") };
