import { type Entry, type ItemLocation, locationOf } from "../read/item.ts";
import type { Contradiction, LockRule } from "../../documents/audit.ts";
import type { Condition, Ring } from "./rings.ts";

/** Maximum number of contradictions listed for a vault. */
const maxContradictions = 20;

/** How a vault came to be locked or deleted. */
export interface Ending {
  /** Time at which it was, in milliseconds since the epoch. */
  since: number;
  /** The item that did it, or showed it. */
  item: ItemLocation;
  /** Rule that locked a locked vault. */
  rule: LockRule;
  /** Number of items that led to it by the rule. */
  count: number;
  /** An item says that the vault was locked. */
  isSaid: boolean;
  /** The rule is what the calls before make likely. */
  isGuess: boolean;
  /** Calls whose reason is not known made the lock, if they counted. */
  isLikely: boolean;
  /** A later item may have unlocked it, or shown it open: what it means is not understood. */
  isUnsure: boolean;
  /** Calls since. */
  calls: number;
  lastCall: number;
}

/** What contradicts the log, by the item that does. */
interface Contradicting {
  kind: Contradiction["kind"];
  item: ItemLocation;
}

/**
 * What the items of a vault so far amount to. Each number has a first value, without which V8 makes an object of it at each change. Times
 * are milliseconds since the epoch, NaN for none.
 */
export class Vault implements Ring {
  // What each item changes comes first, on the same lines of the processor's cache. The newest events, as a ring:
  ring = 0;
  count = 0;
  /** Of a vault that is locked or deleted. */
  ending: Ending | undefined;
  condition: Condition = "active";
  /** Of the last item. */
  lastTime = Number.NaN;
  lastHash = 0;
  lastLine = 0;
  lastCode = 0;
  items = 0;
  /** An item has a known action. */
  hasKnownAction = false;
  /** Number of starts without acknowledgement, and of consecutive failed attempts: what is seen, with what may count. */
  unackedStarts = 0;
  failedAttempts = 0;
  /** Lower bounds of both, which no item of unknown meaning raises. */
  surelyUnacked = 0;
  surelyFailed = 0;
  /** Operation of the open exchange. */
  pending: "get" | "update" | undefined;
  /** Time of the last start, which is that of the open exchange. */
  lastStart = Number.NaN;
  /** Number of items that are not understood since an acknowledgement, and of calls refused for an unknown reason since an accepted call. */
  unclear = 0;
  refusals = 0;
  /** A call was accepted after the last item that is not understood. */
  isShownOpen = true;
  /** The service said that it has no such vault. */
  isGone = false;
  /** The counters are known: the creation, an acknowledgement or an unlock was seen. */
  hasKnownCounters = false;
  /** The oldest start with invalid credentials whose transaction has not expired (releases up to 1.2.22). */
  invalidStart: { time: number; item: ItemLocation } | undefined;
  /** Acknowledgements without a start at the last time of one: the start may stand behind them. */
  earlyAcks = 0;
  earlyAckTime = Number.NaN;
  /** The newest events before the last lock. */
  earlier: Ring | undefined;
  /** In lower case. */
  readonly uuid: string = "";
  /** Number in the table of vaults. */
  readonly number: number = -1;
  firstTime = Number.NaN;
  wasCreated = false;
  wasUnlocked = false;
  // What makes a verdict doubtful.
  contradictions: readonly Contradicting[] = [];
  moreContradictions = 0;
  /** An item came too late to be sorted. */
  hasLate = false;
  /** A call of this machine had no response: it may count. */
  hasUnanswered = false;
  /** Items without ids were taken for items of another input. */
  hasAlike = false;

  constructor(uuid: string, number: number, time: number) {
    this.uuid = uuid;
    this.number = number;
    this.firstTime = time;
  }

  clearStarts(): void {
    this.unackedStarts = 0;
    this.surelyUnacked = 0;
    this.unclear = 0;
  }

  clearFailures(): void {
    this.failedAttempts = 0;
    this.surelyFailed = 0;
    this.refusals = 0;
    this.isGone = false;
    if (this.invalidStart !== undefined) this.invalidStart = undefined;
  }

  addContradiction(kind: Contradiction["kind"], entry: Entry): void {
    if (this.contradictions.length < maxContradictions)
      this.contradictions = [...this.contradictions, { kind, item: locationOf(entry) }];
    else this.moreContradictions += 1;
  }
}
