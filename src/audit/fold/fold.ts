import type { LockRule, Rules } from "../../documents/audit.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import type { Entry, Item, ItemLocation } from "../read/item.ts";
import { locationOf } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { endOf, isAcknowledgement } from "./events.ts";
import type { Overlap } from "./overlap.ts";
import { Rings } from "./rings.ts";
import { beforeRelease } from "../flags.ts";
import type { VaultTable } from "./vault-table.ts";
import type { Ending } from "./vault.ts";
import { Vault } from "./vault.ts";

/** Maximum difference between the clocks of a start and of its acknowledgement. */
const clockSkew = 5000;

/** Milliseconds after a lock in which an item may record it. */
const recordedWithin = 10_000;

/** Number of events among which a start's early acknowledgement is looked for. */
const nearby = 8;

interface FoldOptions {
  rules: Rules;
  table: VaultTable;
  overlap: Overlap;
  itemOf: (location: ItemLocation) => Item;
  /** Number of events to keep of a vault. */
  events: number;
  /** Ignores what items say about locks: only the rules count. */
  isHypothetical?: boolean;
}

/**
 * The service's state machine as audit items show it. It takes items in order of time; memory grows with the vaults only. What an item of
 * unknown meaning may have done widens the bounds of a vault's counters, and makes no lock certain.
 */
export class Fold {
  readonly rules: Rules;
  readonly isHypothetical: boolean;
  /** By their numbers; empty for one without items. */
  readonly vaults: (Vault | undefined)[] = [];
  readonly rings: Rings;
  readonly #options: FoldOptions;
  /** Whether an expired start with invalid credentials locks. */
  readonly #expiresInvalid: boolean;
  #hasLocked = false;
  /** An item shows that a call failed. */
  hasFailures = false;
  /** Number of items that came too late to be sorted. */
  late = 0;

  constructor(options: FoldOptions) {
    this.#options = options;
    this.rules = options.rules;
    this.isHypothetical = options.isHypothetical === true;
    this.rings = new Rings(options.events);
    this.#expiresInvalid = beforeRelease(options.rules.release, "1.2.23");
  }

  /** Takes the next item. Returns false for one that counts already. */
  take(entry: Entry): boolean {
    const vault = this.vaults[entry.vault] ?? this.#begin(entry);
    if (!this.isHypothetical && this.#options.overlap.isKnown(vault, entry)) return false;
    if (entry.time < vault.lastTime) {
      this.late += 1;
      vault.hasLate = true;
    } else vault.lastTime = entry.time;
    vault.items += 1;
    if (this.#expiresInvalid) this.finish(vault, entry.time);
    if (entry.event !== "other") vault.hasKnownAction = true;
    const { ending } = vault;
    this.#hasLocked = false;
    const event = (this.isHypothetical && withoutLocks[entry.event]) || entry.event;
    this.#apply(vault, entry, event);
    if (ending !== undefined && ending === vault.ending && isCall(entry, ending)) {
      ending.calls += 1;
      ending.lastCall = entry.time;
    }
    const isOpen = vault.pending !== undefined;
    this.rings.push(vault, entry.time, entry.code, entry, vault, isOpen, this.#hasLocked);
    if (vault.ending !== undefined && vault.ending !== ending) this.#freeze(vault);
    return true;
  }

  /** Applies the effects of time: releases up to 1.2.22 lock when a transaction with invalid credentials expires. */
  finish(vault: Vault, now: number): void {
    if (!this.#expiresInvalid) return;
    const { invalidStart, condition } = vault;
    if (invalidStart === undefined || condition !== "active") return;
    const since = invalidStart.time + this.rules.tokenLifetimeMs;
    if (since > now) return;
    vault.condition = "locked";
    vault.ending = { ...ended, since, item: invalidStart.item, rule: "expired-invalid-start" };
    this.#freeze(vault);
  }

  #begin({ vault: number, time }: Entry): Vault {
    const vault = new Vault(this.#options.table.uuid(number), number, time);
    Object.assign(vault, this.rings.create());
    // Without holes, which would make every access slow.
    while (this.vaults.length < number) this.vaults.push(undefined);
    this.vaults[number] = vault;
    return vault;
  }

  /** Keeps the events that led to a lock, whatever comes after it. */
  #freeze(vault: Vault): void {
    const { ring, count } = vault;
    if (vault.earlier === undefined) vault.earlier = { ring, count };
    else this.rings.append(vault.earlier, vault);
    Object.assign(vault, this.rings.create());
  }

  #apply(vault: Vault, entry: Entry, event: EventKind): void {
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
      case "locking-start":
        return this.#lockByStart(vault, entry);
      case "refused-locked":
      case "lock-noted":
        return this.#findLocked(vault, entry);
      case "lock":
        return this.#lock(vault, entry, { rule: "administrator", isSaid: true });
      case "unlock":
        vault.hasKnownCounters = true;
        vault.wasUnlocked = true;
        return this.#reopen(vault);
      case "create":
        return this.#create(vault, entry);
      case "delete":
        return this.#delete(vault, entry);
      case "unanswered-start":
        vault.hasUnanswered = true;
        if (vault.condition === "active") this.#start(vault, entry, "get");
        return;
      case "unanswered-ack":
        vault.hasUnanswered = true;
        return;
      case "unclear-start":
        // It may have been accepted, which resets the failed attempts, or have been one of them.
        if (vault.condition === "active") vault.clearFailures();
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

  #start(vault: Vault, entry: Entry, operation: Operation): void {
    this.#accept(vault, entry);
    vault.clearFailures();
    vault.unackedStarts += 1;
    vault.surelyUnacked += 1;
    vault.isShownOpen = true;
    vault.pending = operation;
    vault.lastStart = entry.time;
    if (vault.earlyAcks > 0 && this.#isAcknowledged(vault, entry)) {
      vault.pending = undefined;
      vault.clearStarts();
    }
    if (vault.surelyUnacked >= this.rules.limits.unackedStarts)
      this.#lock(vault, entry, {
        rule: "unacknowledged-starts",
        count: vault.unackedStarts,
      });
  }

  /** Whether the acknowledgement of a start stands before it: in the same second, or by another clock. */
  #isAcknowledged(vault: Vault, start: Entry): boolean {
    const skew = start.time - vault.earlyAckTime;
    if (skew > clockSkew) vault.earlyAcks = 0;
    if (vault.earlyAcks === 0) return false;
    const { itemOf } = this.#options;
    const reference = itemOf(start).externalRef;
    const events = this.rings
      .events(vault)
      .slice(-nearby)
      .filter((seen) => itemOf(seen).externalRef === reference);
    // One that comes after another acknowledgement, or begins the log, is about a start before it.
    const isOwn = events.some(
      ({ time, event }, index) =>
        time === vault.earlyAckTime &&
        isAcknowledgement(event) &&
        !isAcknowledgement(events[index - 1]?.event) &&
        (skew === 0 || vault.items > 2),
    );
    if (!isOwn || (reference === undefined && skew > 0)) return false;
    vault.earlyAcks -= 1;
    if (vault.contradictions.at(-1)?.kind === "acknowledgement-without-start")
      vault.contradictions = vault.contradictions.slice(0, -1);
    if (skew > 0) vault.addContradiction("acknowledgement-before-start", start);
    return true;
  }

  #acknowledge(vault: Vault, entry: Entry, operation: Operation): void {
    const { pending } = vault;
    const wasOpen = vault.condition === "active";
    this.#accept(vault, entry);
    if (wasOpen && pending === undefined) {
      vault.earlyAcks = entry.time === vault.earlyAckTime ? vault.earlyAcks + 1 : 1;
      vault.earlyAckTime = entry.time;
      // As the first item of a vault it is no contradiction: its start was before the log begins.
      if (vault.items > 1) vault.addContradiction("acknowledgement-without-start", entry);
    } else if (wasOpen && pending !== operation)
      vault.addContradiction("acknowledgement-of-other-operation", entry);
    else if (wasOpen && entry.time - vault.lastStart > this.rules.tokenLifetimeMs)
      vault.addContradiction("acknowledgement-after-expiry", entry);
    vault.hasKnownCounters = true;
    vault.clearStarts();
    vault.clearFailures();
    vault.pending = undefined;
  }

  /** Takes an accepted call. One that should have been refused contradicts the log, and reopens the vault. */
  #accept(vault: Vault, entry: Entry): void {
    const { condition, ending } = vault;
    if (condition === "active") return;
    if (ending?.isLikely !== true || ending.isSaid)
      vault.addContradiction(
        condition === "locked" ? "activity-while-locked" : "activity-after-deletion",
        entry,
      );
    this.#reopen(vault);
  }

  #fail(vault: Vault, entry: Entry, event: EventKind, isSure: boolean): void {
    this.hasFailures = true;
    const { ending } = vault;
    if (vault.condition !== "active") {
      if (event === "locking-failure") this.#noteLockedBefore(vault, entry);
      if (ending?.isLikely !== true || ending.isSaid) return;
    }
    vault.failedAttempts += 1;
    if (isSure) vault.surelyFailed += 1;
    else vault.refusals += 1;
    if (this.#expiresInvalid && event !== "failed-delete")
      vault.invalidStart ??= { time: entry.time, item: locationOf(entry) };
    const { failedAttempts: limit } = this.rules.limits;
    const rule = "failed-attempts";
    if (vault.surelyFailed >= limit) {
      // A locked vault does not look at credentials: the lock that was likely came later.
      if (ending !== undefined) vault.condition = "active";
      this.#lock(vault, entry, { rule, count: vault.surelyFailed });
    } else if (vault.failedAttempts >= limit && ending === undefined)
      this.#lock(vault, entry, { rule, count: vault.failedAttempts, isLikely: true });
  }

  #lockByStart(vault: Vault, entry: Entry): void {
    if (vault.condition !== "active") return this.#noteLockedBefore(vault, entry);
    // The credentials were correct.
    vault.clearFailures();
    vault.unackedStarts += 1;
    vault.lastStart = entry.time;
    this.#lockAsSaid(vault, entry, "unacknowledged-starts");
  }

  /** Notes a lock by an item, if the vault was locked before by the rules. */
  #noteLockedBefore(vault: Vault, entry: Entry): void {
    const { ending } = vault;
    if (vault.condition !== "locked" || this.#confirm(vault)) return;
    if (ending === undefined || isRecord(entry, ending)) return;
    // "Locked after too many failed attempts" may be said to each call since.
    if (entry.event === "locking-failure" && ending.rule === "failed-attempts") return;
    vault.addContradiction("locked-at-another-moment", entry);
  }

  /** Locks a vault because the item says so, and notes if the rules disagree. */
  #lockAsSaid(vault: Vault, entry: Entry, rule: LockRule): void {
    if (vault.condition !== "active" && !this.#hasLocked) return;
    const { limits } = this.rules;
    const [count, limit] =
      rule === "failed-attempts"
        ? [vault.failedAttempts, limits.failedAttempts]
        : [vault.unackedStarts, limits.unackedStarts];
    if (count < limit && vault.hasKnownCounters)
      vault.addContradiction("locked-at-another-moment", entry);
    this.#lock(vault, entry, { rule, count });
    if (vault.ending !== undefined) Object.assign(vault.ending, { isSaid: true, isLikely: false });
  }

  /**
   * Takes an item that shows the vault to be locked. If no rule did it, the vault was idle for so long, or the calls just before are the
   * likely cause, or it is not in the log.
   */
  #findLocked(vault: Vault, entry: Entry): void {
    if (vault.condition !== "active") return void this.#confirm(vault);
    const { failedAttempts, unackedStarts, hasKnownCounters } = vault;
    const { limits, autoLockAfterMs } = this.rules;
    const since = (vault.lastStart || vault.firstTime) + autoLockAfterMs;
    // The call itself may have reached the limit, and the log may begin after the first ones.
    const isFailed =
      failedAttempts > 0 && (failedAttempts + 1 >= limits.failedAttempts || !hasKnownCounters);
    if (since <= entry.time)
      this.#lock(vault, entry, { rule: "auto-lock", isSaid: true, isGuess: true, since });
    else if (isFailed) this.#lock(vault, entry, guess("failed-attempts", failedAttempts));
    else if (unackedStarts + 1 >= limits.unackedStarts)
      this.#lock(vault, entry, guess("unacknowledged-starts", unackedStarts));
    else {
      if (entry.event === "refused-locked") vault.addContradiction("refused-while-open", entry);
      this.#lock(vault, entry, { rule: "unseen", isSaid: true });
    }
  }

  /** Notes that an item shows a locked vault to be locked. Returns whether that was new. */
  #confirm({ condition, ending }: Vault): boolean {
    if (condition !== "locked" || ending === undefined) return false;
    const isNew = ending.isLikely && !ending.isSaid;
    ending.isSaid = true;
    ending.isUnsure = false;
    return isNew;
  }

  #create(vault: Vault, entry: Entry): void {
    const isFirst = vault.items === 1;
    if (vault.wasCreated) vault.addContradiction("created-twice", entry);
    else if (!isFirst) vault.addContradiction("activity-before-creation", entry);
    vault.hasKnownCounters = true;
    vault.wasCreated = true;
  }

  #delete(vault: Vault, entry: Entry): void {
    if (vault.condition === "deleted")
      return vault.addContradiction("activity-after-deletion", entry);
    vault.pending = undefined;
    vault.condition = "deleted";
    vault.ending = { ...ended, since: entry.time, item: locationOf(entry), rule: "unseen" };
  }

  #lock(
    vault: Vault,
    entry: Entry,
    how: Pick<Ending, "rule"> & Partial<Omit<Ending, "item" | "calls">>,
  ): void {
    if (vault.condition === "locked") return;
    // A call that finds the vault locked did not lock it.
    this.#hasLocked = how.rule !== "unseen" && how.isGuess !== true;
    vault.condition = "locked";
    vault.ending = { ...ended, since: entry.time, item: locationOf(entry), ...how };
  }

  #reopen(vault: Vault): void {
    vault.condition = "active";
    vault.pending = undefined;
    vault.clearStarts();
    vault.clearFailures();
    vault.ending = undefined;
  }
}

const ended = {
  count: 0,
  isSaid: false,
  isGuess: false,
  isLikely: false,
  isUnsure: false,
  calls: 0,
  lastCall: Number.NaN,
};

const guess = (rule: LockRule, count: number) => ({ rule, count, isSaid: true, isGuess: true });

/** Events that tell of locks, by what they are without: nobody knows what a call refused because of a lock would have been. */
const withoutLocks: Partial<Record<EventKind, EventKind>> = {
  "locking-start": "read",
  "locking-failure": "failed-attempt",
  "refused-locked": "unclear-ack",
  "lock-noted": "application",
};

/** Whether an item tells again of the lock that the one before it made. */
const isRecord = ({ event, time }: Entry, { since }: Ending): boolean =>
  event === "lock-noted" || (event === "locking-failure" && time - since <= recordedWithin);

/** Whether an item behind a lock is a call, of whatever outcome. */
const isCall = (entry: Entry, ending: Ending): boolean =>
  endOf(entry.event) !== undefined && !isRecord(entry, ending);
