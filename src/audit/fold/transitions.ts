import type { Operation } from "../../protocol/endpoints.ts";
import type { Entry } from "../read/item.ts";
import { locationOf } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { beforeRelease } from "./rules.ts";
import type { Vault } from "./vault.ts";
import type { LockRule, Rules } from "../../documents/audit.ts";

/** Milliseconds after a lock in which an item may record it. */
const recordedWithin = 10_000;

/** The transitions of a vault's state by event. */
export class Transitions {
  readonly #rules: Rules;
  /** Whether an expired start with invalid credentials locks. */
  readonly expiresInvalid: boolean;
  readonly #hypothetical: boolean;
  /** Whether the last event locked its vault. */
  hasLocked = false;

  /** `hypothetical` ignores what items say about locks: only the rules count. */
  constructor(rules: Rules, hypothetical: boolean) {
    this.#rules = rules;
    this.#hypothetical = hypothetical;
    this.expiresInvalid = beforeRelease(rules.release, "1.2.23");
  }

  apply(vault: Vault, entry: Entry, event: EventKind): void {
    this.hasLocked = false;
    switch (event) {
      case "read":
      case "update":
        return this.#start(vault, entry, event === "read" ? "get" : "update");
      case "ack-read":
      case "ack-update":
        return this.#acknowledge(vault, entry, event === "ack-read" ? "get" : "update");
      case "failed-read":
      case "failed-update":
      case "failed-delete":
      case "failed-attempt":
      case "failed-device":
      case "failed-pin":
        return this.#fail(vault, entry, event, true);
      case "refused":
      case "unauthorized":
        return this.#fail(vault, entry, event, false);
      case "locking-failure":
        this.#fail(vault, entry, event, true);
        return this.#lockAsSaid(vault, entry, "failed-attempts");
      case "create":
        return this.#create(vault, entry);
      case "delete":
        if (vault.condition === "deleted")
          return vault.addContradiction("activity-after-deletion", entry);
        vault.pending = undefined;
        vault.condition = "deleted";
        vault.ending = {
          since: entry.time,
          item: locationOf(entry),
          rule: "unseen",
          isSaid: true,
          isLikely: false,
          isUnsure: false,
        };
        return;
      case "locking-start":
        return this.#lockByStart(vault, entry);
      case "refused-locked":
        return this.#findLocked(vault, entry);
      case "lock":
        return this.#lock(vault, entry, "administrator", { isSaid: true });
      case "lock-noted":
        if (this.#hypothetical) return;
        this.#confirm(vault);
        return this.#lock(vault, entry, "unseen", { isSaid: true });
      case "unlock":
        vault.hasKnownCounters = true;
        vault.wasUnlocked = true;
        return this.#reopen(vault);
      case "unanswered-start":
        vault.doubt().hasUnanswered = true;
        if (this.#isOpenFor(vault, entry, false)) this.#start(vault, entry, "get");
        return;
      case "unanswered-ack":
        vault.doubt().hasUnanswered = true;
        return;
      case "unclear-start":
        // It may have been accepted, which resets the failed attempts, or have been one of them.
        vault.clearFailures();
        return this.#widen(vault);
      case "unclear-ack":
      case "other":
        return this.#widen(vault);
      case "gone":
        vault.isGone = true;
        return;
      case "failed-ack":
      case "not-performed":
      case "application":
    }
  }

  /** Takes an item that may have been any call: an acknowledgement, which resets the counters, or an unlock. */
  #widen(vault: Vault): void {
    vault.unclear += 1;
    vault.isShownOpen = false;
    vault.surelyUnacked = 0;
    vault.surelyFailed = 0;
    if (vault.ending !== undefined) vault.ending.isUnsure = true;
  }

  /** Locks a vault whose call was refused for a lock: by auto-lock if it was idle for so long, else by a cause not in the log. */
  #findLocked(vault: Vault, entry: Entry): void {
    if (this.#hypothetical) return this.#widen(vault);
    if (vault.condition !== "active") return this.#confirm(vault);
    const lockedAt = (vault.lastStart || vault.firstTime) + this.#rules.autoLockAfterMs;
    const isAuto = lockedAt <= entry.time;
    if (!isAuto) vault.addContradiction("refused-while-open", entry);
    const rule = isAuto ? "auto-lock" : "unseen";
    this.#lock(vault, entry, rule, { isSaid: true }, isAuto ? lockedAt : entry.time);
  }

  /** Notes that an item shows a locked vault to be locked. */
  #confirm({ condition, ending }: Vault): void {
    if (condition !== "locked" || ending === undefined) return;
    ending.isSaid = true;
    ending.isUnsure = false;
  }

  #create(vault: Vault, entry: Entry): void {
    const isFirst = vault.items === 1;
    if (vault.wasCreated) vault.addContradiction("created-twice", entry);
    else if (!isFirst) vault.addContradiction("activity-before-creation", entry);
    vault.hasKnownCounters = true;
    if (isFirst) this.#reopen(vault);
    vault.create(entry);
  }

  #start(vault: Vault, entry: Entry, operation: Operation): void {
    this.#isOpenFor(vault, entry, true);
    vault.clearFailures();
    vault.countStart(entry);
    vault.pending = operation;
    vault.lastStart = entry.time;
    if (vault.surelyUnacked >= this.#rules.limits.unackedStarts)
      this.#lock(vault, entry, "unacknowledged-starts");
  }

  #acknowledge(vault: Vault, entry: Entry, operation: Operation): void {
    const { pending } = vault;
    const wasOpen = vault.condition === "active";
    this.#isOpenFor(vault, entry, true);
    if (!wasOpen) {
      // `#isOpenFor` has noted it; its start was before the lock.
    } else if (pending === undefined) {
      // As the first item of a vault it is no contradiction: its start was before the log begins.
      if (vault.items > 1) vault.addContradiction("acknowledgement-without-start", entry);
    } else if (pending !== operation)
      vault.addContradiction("acknowledgement-of-other-operation", entry);
    else if (entry.time - vault.lastStart > this.#rules.tokenLifetimeMs) {
      vault.addContradiction("acknowledgement-after-expiry", entry);
    }
    vault.hasKnownCounters = true;
    vault.clearStarts();
    vault.clearFailures();
    vault.pending = undefined;
  }

  #fail(vault: Vault, entry: Entry, event: EventKind, isSure: boolean): void {
    const { ending } = vault;
    if (vault.condition !== "active") {
      // The service may record a lock right after the call that caused it.
      if (event === "locking-failure" && entry.time - (ending?.since ?? 0) > recordedWithin)
        this.#noteLockedBefore(vault, entry);
      if (ending?.isLikely !== true || ending.isSaid) return;
    }
    vault.countFailure(entry, isSure);
    if (this.expiresInvalid && event !== "failed-delete")
      vault.invalidStart ??= { time: entry.time, item: locationOf(entry) };
    const { failedAttempts: limit } = this.#rules.limits;
    // A locked vault does not look at credentials: the lock that was likely came later.
    if (vault.surelyFailed >= limit && ending !== undefined) vault.condition = "active";
    if (vault.surelyFailed >= limit) this.#lock(vault, entry, "failed-attempts");
    else if (vault.failedAttempts >= limit && ending === undefined)
      this.#lock(vault, entry, "failed-attempts", { isLikely: true });
  }

  #lockByStart(vault: Vault, entry: Entry): void {
    if (!this.#isOpenFor(vault, entry, false)) return this.#noteLockedBefore(vault, entry);
    if (this.#hypothetical) return this.#start(vault, entry, "get");
    // The credentials were correct.
    vault.clearFailures();
    vault.countStart(entry);
    this.#lockAsSaid(vault, entry, "unacknowledged-starts");
  }

  /** Notes a lock by an item, if the vault was locked before by the rules. */
  #noteLockedBefore(vault: Vault, entry: Entry): void {
    if (vault.condition === "locked") vault.addContradiction("locked-at-another-moment", entry);
  }

  /** Locks a vault because the item says so, and notes if the rules disagree. */
  #lockAsSaid(vault: Vault, entry: Entry, rule: LockRule): void {
    const { limits } = this.#rules;
    const isOpen = vault.condition === "active";
    if (this.#hypothetical || (!isOpen && !this.hasLocked)) return;
    const [count, limit] =
      rule === "failed-attempts"
        ? [vault.failedAttempts, limits.failedAttempts]
        : [vault.unackedStarts, limits.unackedStarts];
    if (count < limit && vault.hasKnownCounters)
      vault.addContradiction("locked-at-another-moment", entry);
    this.#lock(vault, entry, rule);
    if (vault.ending !== undefined) vault.ending.isSaid = true;
  }

  /** Whether a vault accepts calls. If a call was accepted although it should not, notes a contradiction and reopens the vault. */
  #isOpenFor(vault: Vault, entry: Entry, wasAccepted: boolean): boolean {
    const { condition } = vault;
    if (condition === "active") return true;
    if (!wasAccepted) return false;
    if (vault.ending?.isLikely !== true || vault.ending.isSaid)
      vault.addContradiction(
        condition === "locked" ? "activity-while-locked" : "activity-after-deletion",
        entry,
      );
    this.#reopen(vault);
    return true;
  }

  /** Applies the effects of time: releases up to 1.2.22 lock when a transaction with invalid credentials expires. */
  expireInvalid(vault: Vault, now: number): void {
    if (!this.expiresInvalid) return;
    const { invalidStart, condition } = vault;
    if (invalidStart === undefined || condition !== "active") return;
    const since = invalidStart.time + this.#rules.tokenLifetimeMs;
    if (since > now) return;
    vault.condition = "locked";
    vault.ending = {
      since,
      item: invalidStart.item,
      rule: "expired-invalid-start",
      isSaid: false,
      isLikely: false,
      isUnsure: false,
    };
  }

  #lock(
    vault: Vault,
    entry: Entry,
    rule: LockRule,
    { isSaid = false, isLikely = false } = {},
    since = entry.time,
  ): void {
    if (vault.condition === "locked") return;
    // A call that finds the vault locked did not lock it.
    this.hasLocked = rule !== "unseen" && rule !== "auto-lock";
    vault.condition = "locked";
    vault.ending = { since, item: locationOf(entry), rule, isSaid, isLikely, isUnsure: false };
  }

  #reopen(vault: Vault): void {
    vault.condition = "active";
    vault.pending = undefined;
    vault.clearStarts();
    vault.clearFailures();
    vault.ending = undefined;
  }
}
