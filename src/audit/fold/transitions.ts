import { isGenericEndpoint } from "../read/columns/looks.ts";
import { active, deleted, locked, lockRules, field, flag, intField } from "./vault-records.ts";
import { Chains } from "./chains.ts";
import type { EventKind } from "./events.ts";
import { KeptItems } from "./kept-items.ts";
import type { FoundContradiction } from "./contradictions.ts";
import { Contradictions } from "./contradictions.ts";
import type { LockRule } from "../report/report.ts";
import type { Rules } from "./rules.ts";
import { beforeRelease } from "./rules.ts";
import type { DueItem } from "./time-order.ts";
import type { VaultRecords } from "./vault-records.ts";

/** The transitions of a vault's state by event. */
export class Transitions {
  readonly contradictions = new Contradictions();
  readonly kept = new KeptItems();
  readonly rules: Rules;
  readonly records: VaultRecords;
  readonly #chains: Chains;
  readonly #expiringInvalid: boolean;
  readonly #hypothetical: boolean;
  /** Whether the last event locked its vault. */
  hasLocked = false;

  /** `hypothetical` ignores what items say about locks: only the rules count. */
  constructor(rules: Rules, records: VaultRecords, hypothetical: boolean) {
    this.rules = rules;
    this.records = records;
    this.#hypothetical = hypothetical;
    this.#chains = new Chains(records, this.kept);
    this.#expiringInvalid = beforeRelease(rules.release, "1.2.23");
  }

  apply(vault: number, due: DueItem, event: EventKind): void {
    this.hasLocked = false;
    switch (event) {
      case "read":
      case "update":
        return this.#start(vault, due, event === "read" ? 1 : 2);
      case "ack-read":
      case "ack-update":
        return this.#acknowledge(vault, due, event === "ack-read" ? 1 : 2);
      case "failed-read":
      case "failed-update":
      case "failed-delete":
      case "failed-attempt":
      case "refused":
        return this.#fail(vault, due, event);
      case "locking-failure":
        this.#fail(vault, due, event);
        return this.#lockAsSaid(vault, due, "failed-attempts");
      case "create":
        return this.#create(vault, due);
      case "delete":
        if (this.records.getInt(vault, intField.condition) === deleted)
          return this.#note(due, "activity-after-deletion");
        this.records.setInt(vault, intField.pending, 0);
        return this.#become(vault, deleted, due);
      case "locking-start":
        return this.#lockByStart(vault, due);
      case "refused-locked":
        return this.#findLocked(vault, due);
      case "lock":
        return this.#lock(vault, due, "administrator", flag.lockIsSaid);
      case "unlock":
        this.records.setFlags(vault, flag.known | flag.unlockedByItem);
        return this.#reopen(vault, due);
      case "unanswered-start":
        this.records.setFlags(vault, flag.unanswered);
        if (this.#isOpenFor(vault, due, false)) this.#start(vault, due, 1);
        return;
      case "unanswered-ack":
        return this.records.setFlags(vault, flag.unanswered);
      case "other":
        return this.records.setFlags(vault, flag.other);
      case "failed-ack":
      case "not-performed":
      case "application":
    }
  }

  /** Locks a vault whose call was refused for a lock: by auto-lock if it was idle for so long, else by a cause not in the log. */
  #findLocked(vault: number, due: DueItem): void {
    const { records, rules } = this;
    if (this.#hypothetical || records.getInt(vault, intField.condition) !== active) return;
    const lockedAt =
      (records.get(vault, field.lastStart) || records.get(vault, field.firstTime)) +
      rules.autoLockAfterMs;
    const isAuto = lockedAt <= due.time;
    if (!isAuto) this.#note(due, "refused-while-open");
    this.#lock(vault, due, isAuto ? "auto-lock" : "unseen", flag.lockIsSaid);
    if (isAuto) records.set(vault, field.since, lockedAt);
  }

  #create(vault: number, due: DueItem): void {
    const isFirst = this.records.getInt(vault, intField.items) === 1;
    if (this.records.hasFlag(vault, flag.created)) this.#note(due, "created-twice");
    else if (!isFirst) this.#note(due, "activity-before-creation");
    this.records.setFlags(vault, flag.created | flag.known);
    if (isFirst) this.#reopen(vault, due);
    this.#noteKind(vault, due);
  }

  #start(vault: number, due: DueItem, operation: number): void {
    this.#isOpenFor(vault, due, true);
    const records = this.records;
    this.#chains.clearFailures(vault);
    this.#chains.countStart(due);
    records.setInt(vault, intField.pending, operation);
    records.set(vault, field.lastStart, due.time);
    this.#noteKind(vault, due);
    if (records.getInt(vault, intField.unacked) >= this.rules.limits.unackedStarts)
      this.#lock(vault, due, "unacknowledged-starts");
  }

  /** Remembers the item whose endpoint names the kind of the vault. */
  #noteKind(vault: number, due: DueItem): void {
    this.records.set(vault, field.pendingLocation, due.location);
    this.records.set(vault, field.pendingLine, due.line);
    if (isGenericEndpoint(due.item?.endpoint)) this.records.setFlags(vault, flag.generic);
  }

  #acknowledge(vault: number, due: DueItem, operation: number): void {
    const records = this.records;
    const pending = records.getInt(vault, intField.pending);
    const wasOpen = records.getInt(vault, intField.condition) === active;
    this.#isOpenFor(vault, due, true);
    if (!wasOpen) {
      // `#isOpenFor` has noted it; its start was before the lock.
    } else if (pending === 0) {
      // As the first item of a vault it is no contradiction: its start was before the log begins.
      if (records.getInt(vault, intField.items) > 1)
        this.#note(due, "acknowledgement-without-start");
    } else if (pending !== operation) this.#note(due, "acknowledgement-of-other-operation");
    else if (due.time - records.get(vault, field.lastStart) > this.rules.tokenLifetimeMs) {
      this.#note(due, "acknowledgement-after-expiry");
    }
    records.setFlags(vault, flag.known);
    this.#chains.clearStarts(vault);
    this.#chains.clearFailures(vault);
    records.setInt(vault, intField.pending, 0);
  }

  #fail(vault: number, due: DueItem, event: EventKind): void {
    const records = this.records;
    if (records.getInt(vault, intField.condition) !== active) {
      if (event === "locking-failure") this.#noteLockedBefore(vault, due);
      return;
    }
    if (event === "refused") records.setFlags(vault, flag.unworded);
    const failed = this.#chains.countFailure(due);
    if (
      this.#expiringInvalid &&
      event !== "failed-delete" &&
      Number.isNaN(records.get(vault, field.invalidSince))
    ) {
      records.set(vault, field.invalidSince, due.time);
      this.kept.drop(records.get(vault, field.causeLocation));
      records.set(vault, field.causeLocation, due.location);
      records.set(vault, field.causeLine, due.line);
      this.kept.keep(due);
    }
    if (failed >= this.rules.limits.failedAttempts) this.#lock(vault, due, "failed-attempts");
  }

  #lockByStart(vault: number, due: DueItem): void {
    if (!this.#isOpenFor(vault, due, false)) return this.#noteLockedBefore(vault, due);
    if (this.#hypothetical) return this.#start(vault, due, 1);
    // The credentials were correct.
    this.#chains.clearFailures(vault);
    this.#chains.countStart(due);
    this.#lockAsSaid(vault, due, "unacknowledged-starts");
  }

  /** Notes a lock by an item, if the vault was locked before by the rules. */
  #noteLockedBefore(vault: number, due: DueItem): void {
    if (this.records.getInt(vault, intField.condition) === locked)
      this.#note(due, "locked-at-another-moment");
  }

  /** Locks a vault because the item says so, and notes if the rules disagree. */
  #lockAsSaid(vault: number, due: DueItem, rule: LockRule): void {
    const { records, rules } = this;
    const isOpen = records.getInt(vault, intField.condition) === active;
    if (this.#hypothetical || (!isOpen && !this.hasLocked)) return;
    const [count, limit] =
      rule === "failed-attempts"
        ? [records.getInt(vault, intField.failed), rules.limits.failedAttempts]
        : [records.getInt(vault, intField.unacked), rules.limits.unackedStarts];
    if (count < limit && records.hasFlag(vault, flag.known))
      this.#note(due, "locked-at-another-moment");
    this.#lock(vault, due, rule);
    records.setFlags(vault, flag.lockIsSaid);
  }

  /** Whether a vault accepts calls. If a call was accepted although it should not, notes a contradiction and reopens the vault. */
  #isOpenFor(vault: number, due: DueItem, wasAccepted: boolean): boolean {
    const condition = this.records.getInt(vault, intField.condition);
    if (condition === active) return true;
    if (!wasAccepted) return false;
    this.#note(due, condition === locked ? "activity-while-locked" : "activity-after-deletion");
    this.#reopen(vault, due);
    return true;
  }

  /** Applies the effects of time: releases up to 1.2.22 lock when a transaction with invalid credentials expires. */
  expireInvalid(vault: number, now: number): void {
    if (!this.#expiringInvalid) return;
    const at = this.records.get(vault, field.invalidSince) + this.rules.tokenLifetimeMs;
    if (!(at <= now) || this.records.getInt(vault, intField.condition) !== active) return;
    this.records.setInt(vault, intField.rule, lockRules.indexOf("expired-invalid-start"));
    this.records.setInt(vault, intField.condition, locked);
    this.records.set(vault, field.since, at);
  }

  #lock(vault: number, due: DueItem, rule: LockRule, flags = 0): void {
    if (this.records.getInt(vault, intField.condition) === locked) return;
    // A call that finds the vault locked did not lock it.
    this.hasLocked = rule !== "unseen" && rule !== "auto-lock";
    this.records.setInt(vault, intField.rule, lockRules.indexOf(rule));
    this.records.clearFlags(vault, flag.lockIsSaid);
    if (flags !== 0) this.records.setFlags(vault, flags);
    this.#become(vault, locked, due);
  }

  #become(vault: number, condition: number, due: DueItem): void {
    this.records.setInt(vault, intField.condition, condition);
    this.records.set(vault, field.since, due.time);
    this.kept.drop(this.records.get(vault, field.causeLocation));
    this.records.set(vault, field.causeLocation, due.location);
    this.records.set(vault, field.causeLine, due.line);
    this.kept.keep(due);
  }

  #reopen(vault: number, due: DueItem): void {
    this.records.setInt(vault, intField.condition, active);
    this.records.set(vault, field.since, due.time);
    this.records.setInt(vault, intField.pending, 0);
    this.#chains.clearStarts(vault);
    this.#chains.clearFailures(vault);
    this.kept.drop(this.records.get(vault, field.causeLocation));
    this.records.set(vault, field.causeLocation, Number.NaN);
  }

  #note(due: DueItem, kind: FoundContradiction["kind"]): void {
    if (this.contradictions.add(due, kind)) this.kept.keep(due);
  }
}
