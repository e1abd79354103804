import { clip } from "../read/clip.ts";
import { conditionOf, ruleOf, field, flag, intField } from "../fold/vault-records.ts";
import type { Fold } from "../fold/fold.ts";
import type { Certainty, LockRule, VaultState, Verdict } from "./report.ts";
import { beforeRelease } from "../fold/rules.ts";
import type { Rules } from "../fold/rules.ts";
import { count } from "../../terminal/count.ts";

/** Facts about the whole log that reduce certainty. */
export interface LogFacts {
  /** Number of lines that are not items, any of which could be one of this vault. */
  skippedLines: number;
  /** Whether failed attempts can be distinguished from successful calls. */
  distinguishesFailures: boolean;
  /** Outcomes that are neither a known success nor a known failure. */
  unclearOutcomes: readonly string[];
  /** Whether --since left out earlier items. */
  beginsLater: boolean;
}

/** Status of a vault. */
export interface VaultStatus {
  verdict: Verdict;
  state: VaultState;
  rule?: LockRule;
  /** Time of the lock, in milliseconds since the epoch. */
  lockedAt?: number;
}

export interface Judgement extends VaultStatus {
  certainty: Certainty;
  reason: string;
}

const deletedStatus: VaultStatus = { verdict: "deleted", state: "deleted" };

/**
 * Returns the status of a vault at a time. Calls `isGeneric`, which may read an item, only for a possible auto-lock: generic vaults have
 * none (section 8).
 */
export function statusAt(
  fold: Fold,
  vault: number,
  asOf: number,
  isGeneric: () => boolean,
): VaultStatus {
  fold.finish(vault, asOf);
  const { records, rules } = fold;
  const condition = conditionOf(records, vault);
  if (condition === "deleted") return deletedStatus;
  if (condition === "locked") {
    return {
      verdict: "locked",
      state: "locked",
      rule: ruleOf(records, vault),
      lockedAt: records.get(vault, field.since),
    };
  }
  const idle =
    asOf - Math.max(records.get(vault, field.firstTime), records.get(vault, field.lastStart) || 0);
  if (idle >= rules.autoLockAfterMs && !records.hasFlag(vault, flag.generic) && !isGeneric()) {
    return {
      verdict: "locked",
      state: "locked",
      rule: "auto-lock",
      lockedAt: asOf - idle + rules.autoLockAfterMs,
    };
  }
  const unacked = records.getInt(vault, intField.unacked);
  const isOpen = records.getInt(vault, intField.pending) !== 0;
  const verdict = isAtRisk(unacked, records.getInt(vault, intField.failed), rules)
    ? "at-risk"
    : isOpen
      ? "open-exchange"
      : "ok";
  return { verdict, state: isOpen ? "exchange-open" : "active" };
}

/** Returns the status of a vault with its certainty. */
export function judge(
  fold: Fold,
  vault: number,
  asOf: number,
  facts: LogFacts,
  isGeneric: () => boolean,
): Judgement {
  const status = statusAt(fold, vault, asOf, isGeneric);
  const doubts = doubtsOf(fold, vault, facts);
  if (!fold.records.hasFlag(vault, flag.meaningful)) {
    return { ...status, certainty: "unknown", reason: "none of its items has a known action" };
  }
  if (status.verdict === "deleted")
    return {
      ...status,
      ...confidence(fold.contradictions.has(vault) ? doubts : [], "an item records it"),
    };
  if (status.verdict === "locked")
    return { ...status, ...confidenceInLock(fold, vault, status, doubts) };
  return {
    ...status,
    ...confidence(
      doubts,
      `${knownBy(fold, vault)}; locks made in the console appear only if the export records them`,
    ),
  };
}

/** Whether one more failed attempt or start would lock the vault. */
const isAtRisk = (unacked: number, failed: number, rules: Rules): boolean =>
  (failed > 0 && failed >= rules.limits.failedAttempts - 1) ||
  (unacked > 0 && unacked >= rules.limits.unackedStarts - 1);

function confidenceInLock(
  fold: Fold,
  vault: number,
  { rule }: VaultStatus,
  doubts: readonly string[],
): Confidence {
  if (rule === "auto-lock") {
    return {
      certainty: "likely",
      reason:
        "no start for that long; not locked if the vault is generic or has another autoLockDate",
    };
  }
  if (fold.records.hasFlag(vault, flag.lockIsSaid)) {
    if (rule !== "unseen") return { certainty: "certain", reason: "the item records the lock" };
    return {
      certainty: "certain",
      reason: "a call was refused because the vault was locked; the log does not show the cause",
    };
  }
  if (rule === "expired-invalid-start") {
    return {
      certainty: "likely",
      reason:
        "releases up to 1.2.22 lock when the transaction expires; the lifetime is an assumption",
    };
  }
  // Items not seen can only have locked it earlier, or unlocked it since.
  return confidence(
    doubts,
    `the log has every item that the rule requires, and ${knownBy(fold, vault)}`,
  );
}

function knownBy(fold: Fold, vault: number): string {
  if (fold.records.hasFlag(vault, flag.created)) return "the log begins with the vault's creation";
  if (fold.records.hasFlag(vault, flag.unlockedByItem))
    return "an unlock in the log reset the counters";
  return "an acknowledgement in the log reset the counters";
}

function doubtsOf(
  fold: Fold,
  vault: number,
  { skippedLines, distinguishesFailures, beginsLater, unclearOutcomes }: LogFacts,
): string[] {
  const { records, rules } = fold;
  const isKnown = records.hasFlag(vault, flag.known);
  return [
    ...(fold.contradictions.has(vault) ? ["the log contradicts itself for this vault"] : []),
    ...(records.hasFlag(vault, flag.late)
      ? ["some of its items are too far out of order to be sorted"]
      : []),
    ...(records.hasFlag(vault, flag.unanswered)
      ? ["a call got no response: it may have counted"]
      : []),
    ...(records.hasFlag(vault, flag.unworded)
      ? ["a refused call gives no reason: wrong credentials, or a lock"]
      : []),
    ...(records.hasFlag(vault, flag.alike)
      ? ["identical items without ids were counted once"]
      : []),
    ...(records.hasFlag(vault, flag.other) ? ["some of its items have unknown actions"] : []),
    ...(isKnown
      ? []
      : [
          `${beginsLater ? "--since leaves out earlier items" : "the log begins after the vault's creation"}: its counters before are unknown`,
        ]),
    ...(unclearOutcomes.length === 0
      ? []
      : [
          `some outcomes were not recognized (${unclearOutcomes.slice(0, 3).map(clip).join(", ")})`,
        ]),
    ...(distinguishesFailures ? [] : ["the items do not show which calls failed"]),
    ...(beforeRelease(rules.release, "1.2.18")
      ? [`release ${rules.release} records no failed attempts`]
      : []),
    ...(skippedLines > 0 ? [`${count(skippedLines, "line")} could not be read`] : []),
  ];
}

type Confidence = Pick<Judgement, "certainty" | "reason">;

const confidence = (doubts: readonly string[], reason: string): Confidence =>
  doubts.length === 0
    ? { certainty: "certain", reason }
    : { certainty: "likely", reason: doubts.join("; ") };
