import { isGenericEndpoint } from "../columns/values.ts";
import type { Fold } from "../fold/fold.ts";
import type { Ending, Vault } from "../fold/vault.ts";
import type { Item, ItemLocation } from "../read/item.ts";
import { eventsOf, said } from "./evidence.ts";
import { wouldLock } from "../../exchange/lockout.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { Certainty, LockRule, VaultState } from "../../documents/audit.ts";
import type { Verdict } from "./severity.ts";

/** Doubts about every verdict. */
export interface Doubts {
  /** Whether --since left out earlier items. */
  beginsLater: boolean;
  ofLog: readonly string[];
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
  /** Of the rule of a lock, if it differs: that a vault is locked may be certain, and why not. */
  ofRule?: Confidence;
}

const deletedStatus: VaultStatus = { verdict: "deleted", state: "deleted" };

/**
 * Returns the status of a vault at a time. Reads an item only for a possible auto-lock, which generic vaults do not have (section 8), and of
 * refused calls.
 */
export function statusAt(fold: Fold, vault: Vault, asOf: number, itemAt: ItemAt): VaultStatus {
  fold.finish(vault, asOf);
  const { rules } = fold;
  const { condition, ending, pending, unackedStarts, failedAttempts } = vault;
  if (condition === "deleted") return deletedStatus;
  if (ending !== undefined)
    return { verdict: "locked", state: "locked", rule: ending.rule, lockedAt: ending.since };
  const isOpen = pending !== undefined;
  const state = isOpen ? "exchange-open" : "active";
  if (vault.isGone) return deletedStatus;
  if (!vault.hasKnownAction || vault.doubts.unreadLines > 0) return { verdict: "unknown", state };
  // Any item that is not understood may be a start.
  const lastUse = vault.unclear > 0 ? vault.lastTime : vault.lastStart || 0;
  const idle = asOf - Math.max(vault.firstTime, lastUse);
  if (idle >= rules.autoLockAfterMs && !isGeneric(fold, vault, itemAt)) {
    return {
      verdict: "locked",
      state: "locked",
      rule: "auto-lock",
      lockedAt: asOf - idle + rules.autoLockAfterMs,
    };
  }
  const { limits } = rules;
  // The starts reach the limit without a lock only if an item between them was not understood.
  if (unackedStarts >= limits.unackedStarts) return { verdict: "unknown", state };
  const isAtRisk =
    wouldLock(failedAttempts, limits.failedAttempts) ||
    wouldLock(unackedStarts, limits.unackedStarts);
  if (isAtRisk) return { verdict: "at-risk", state };
  // What was refused for a reason that is not known may have found the vault locked.
  if (
    (vault.unclear > 0 && !vault.isShownOpen) ||
    (vault.refusals > 0 && givesReason(fold, vault, itemAt))
  )
    return { verdict: "unknown", state };
  return { verdict: isOpen ? "open-exchange" : "ok", state };
}

type ItemAt = (location: ItemLocation) => Item;

/** Whether a vault is generic, by the endpoint of its newest item that has one. */
function isGeneric(fold: Fold, vault: Vault, itemAt: ItemAt): boolean {
  for (const seen of eventsOf(fold, vault).toReversed()) {
    const { endpoint } = itemAt(seen);
    if (endpoint !== undefined) return isGenericEndpoint(endpoint);
  }
  return false;
}

/** Whether a refused call gives a reason. Without one it is what the service records of bad credentials (section 6). */
const givesReason = (fold: Fold, vault: Vault, itemAt: ItemAt): boolean =>
  eventsOf(fold, vault)
    .filter(({ event }) => event === "refused" || event === "unauthorized")
    .slice(-vault.refusals)
    .some((seen) => seen.event === "unauthorized" || itemAt(seen).description !== undefined);

/** Returns the status of a vault with its certainty. */
export function judge(
  fold: Fold,
  vault: Vault,
  asOf: number,
  given: Doubts,
  itemAt: ItemAt,
): Judgement {
  const status = statusAt(fold, vault, asOf, itemAt);
  const doubts = doubtsOf(vault, given);
  if (status.verdict === "unknown")
    return { ...status, certainty: "unknown", reason: unknownWords(fold, vault) };
  if (status.verdict === "deleted")
    return {
      ...status,
      ...(vault.condition === "deleted"
        ? confidence(vault.doubts.contradictions.length > 0 ? doubts : [], "an item records it")
        : confidence(["a call was refused because the service has no such vault"])),
    };
  if (status.verdict === "locked") return { ...status, ...confidenceInLock(vault, status, doubts) };
  return {
    ...status,
    ...confidence(
      doubts,
      `${knownBy(vault)}; locks made in the console appear only if the export records them`,
    ),
  };
}

function unknownWords({ isHypothetical }: Fold, vault: Vault): string {
  const { hasKnownAction, unclear, refusals, items } = vault;
  const { unreadLines } = vault.doubts;
  if (unreadLines > 0)
    return `${counted(unreadLines, "line")} that could not be read ${unreadLines === 1 ? "names" : "name"} this vault`;
  if (!hasKnownAction) return "none of its items has a known action";
  const were = (number: number): string => (number === 1 ? "was" : "were");
  const what = isHypothetical
    ? "refused because of a lock, so that nobody knows what they would have counted, or not understood"
    : "not understood";
  return said(
    [unclear > 0, `${grouped(unclear)} of its ${counted(items, "item")} ${were(unclear)} ${what}`],
    [
      refusals > 0,
      `${counted(refusals, "call")} ${were(refusals)} refused for a reason that is not known: wrong credentials, a lock, or the application`,
    ],
  ).join("; ");
}

function confidenceInLock(
  vault: Vault,
  { rule }: VaultStatus,
  doubts: readonly string[],
): Confidence & Pick<Judgement, "ofRule"> {
  const { ending } = vault;
  const ofRule = confidenceInRule(vault, rule, doubts);
  if (ending?.isUnsure === true)
    return confidence(["an item that is not understood may have unlocked it since", ...doubts]);
  if (vault.doubts.unreadLines > 0)
    return confidence(["lines that could not be read name this vault", ...doubts]);
  if (ending?.isSaid !== true || ofRule.certainty === "certain") return ofRule;
  return { certainty: "certain", reason: saidBy(ending), ofRule };
}

/** Who says that the vault was locked. */
const saidBy = ({ item, isLikely }: Ending): string =>
  item.event.startsWith("lock") && !isLikely
    ? "the item records the lock"
    : "a call was refused because the vault was locked";

function confidenceInRule(
  vault: Vault,
  rule: LockRule | undefined,
  doubts: readonly string[],
): Confidence {
  const { ending } = vault;
  const likely = (why: string): Confidence => confidence([why]);
  if (rule === "auto-lock")
    return likely(
      "no start for that long; not locked if the vault is generic or has another autoLockDate",
    );
  if (ending?.isLikely === true)
    return confidence([
      "calls were refused without a reason that is known: they may not count",
      ...doubts,
    ]);
  if (ending?.isGuess === true)
    return likely("these calls stand just before the first that found it locked");
  if (ending?.isSaid === true && rule === "unseen")
    return confidence([], `${saidBy(ending)}; the log does not show the cause`);
  if (ending?.isSaid === true && ending.item.event.startsWith("lock"))
    return confidence([], saidBy(ending));
  if (rule === "expired-invalid-start")
    return likely(
      "releases up to 1.2.22 lock when the transaction expires; the lifetime is an assumption",
    );
  // Items not seen can only have locked it earlier, or unlocked it since.
  return confidence(doubts, `the log has every item that the rule requires, and ${knownBy(vault)}`);
}

function knownBy(vault: Vault): string {
  if (vault.wasCreated) return "the log begins with the vault's creation";
  if (vault.wasUnlocked) return "an unlock in the log reset the counters";
  return "an acknowledgement in the log reset the counters";
}

function doubtsOf(vault: Vault, { beginsLater, ofLog }: Doubts): string[] {
  const { doubts, ending } = vault;
  return [
    ...said(
      [doubts.contradictions.length > 0, "the log contradicts itself for this vault"],
      [doubts.hasLate, "some of its items are too far out of order to be sorted"],
      [doubts.hasUnanswered, "a call got no response: it may have counted"],
      // The lower bounds, which lock, are none the less sure.
      [
        vault.refusals > 0 && ending === undefined,
        "a refused call gives no reason: wrong credentials, a lock, or the application",
      ],
      [doubts.hasAlike, "identical items without ids were counted once"],
      [vault.unclear > 0 && ending === undefined, "some of its items were not understood"],
      [
        !vault.hasKnownCounters,
        `${beginsLater ? "--since leaves out earlier items" : "the log begins after the vault's creation"}: its counters before are unknown`,
      ],
    ),
    ...ofLog,
  ];
}

type Confidence = Pick<Judgement, "certainty" | "reason">;

const confidence = (doubts: readonly string[], reason = ""): Confidence =>
  doubts.length === 0
    ? { certainty: "certain", reason }
    : { certainty: "likely", reason: doubts.join("; ") };
