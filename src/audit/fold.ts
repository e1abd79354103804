import { KeptItems } from "./kept-items.ts";
import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import type { Contradiction, LockRule } from "./report.ts";
import type { Rules } from "./rules.ts";
import { beforeRelease } from "./rules.ts";
import type { Due } from "./time-order.ts";
import { field, flag, small, VaultRecords } from "./vault-records.ts";

export const conditions = ["active", "locked", "deleted"] as const;
export const lockRules: readonly LockRule[] = [
  "failed-accesses",
  "unacknowledged-starts",
  "expired-invalid-start",
  "auto-lock",
  "administrator",
  "unseen",
];

const active = 0;
const locked = 1;
const deleted = 2;

/** A contradiction of the log, in short. */
export interface Oddity {
  kind: Contradiction["kind"];
  time: number;
  place: number;
  line: number;
}

/** Of a vault, so many are listed. */
const mostOddities = 20;

/** Told of each event after it was taken in. */
export type Watcher = (vault: number, due: Due, event: EventKind, locks: boolean) => void;

/**
 * The service's state machine, as far as audit items show it: one item after another, in order of time, and no more memory
 * than the vaults need. It is what judges, and what timeline, report and what-if are made from.
 */
export class Fold {
  readonly rules: Rules;
  readonly records: VaultRecords;
  readonly kept: KeptItems;
  /** Of the vaults that have any, the first ones and how many more. */
  readonly oddities = new Map<number, { first: Oddity[]; more: number }>();
  readonly #watch: Watcher | undefined;
  readonly #expiringInvalid: boolean;
  readonly #sameTime = new Map<number, { time: number; hashes: number[] }>();
  #locks = false;
  duplicates = 0;
  late = 0;

  constructor(rules: Rules, watch?: Watcher) {
    this.rules = rules;
    this.records = new VaultRecords(rules.lockAfterUnacked, rules.lockAfterFailed);
    this.kept = new KeptItems();
    this.#watch = watch;
    this.#expiringInvalid = beforeRelease(rules.release, "1.2.23");
  }

  /** Returns whether the item counted: a duplicate does not. */
  take(due: Due): boolean {
    const { vault, time } = due;
    const records = this.records;
    records.ensure(vault);
    if (records.getSmall(vault, small.items) === 0) this.#begin(vault, time);
    else if (!this.#follows(due)) return false;
    records.setSmall(vault, small.items, records.getSmall(vault, small.items) + 1);
    records.setSmall(vault, small.idHash, due.idHash);
    if (time > records.get(vault, field.lastTime)) records.set(vault, field.lastTime, time);
    if (this.#expiringInvalid) this.#expireInvalid(vault, time);
    this.#locks = false;
    const event = eventKinds[due.kind] as EventKind;
    this.#apply(vault, due, event);
    this.#watch?.(vault, due, event, this.#locks);
    return true;
  }

  /** What time alone has done until then. */
  finish(vault: number, asOf: number): void {
    if (this.#expiringInvalid) this.#expireInvalid(vault, asOf);
  }

  condition(vault: number): (typeof conditions)[number] {
    return conditions[this.records.getSmall(vault, small.condition)] as (typeof conditions)[number];
  }

  rule(vault: number): LockRule {
    return lockRules[this.records.getSmall(vault, small.rule)] as LockRule;
  }

  #begin(vault: number, time: number): void {
    const records = this.records;
    for (const at of [field.firstTime, field.lastTime, field.since]) records.set(vault, at, time);
    for (const at of [field.lastStart, field.pendingSince, field.invalidSince, field.causePlace]) records.set(vault, at, Number.NaN);
  }

  /** False for a duplicate of an item of the same time. */
  #follows({ vault, time, idHash }: Due): boolean {
    const last = this.records.get(vault, field.lastTime);
    if (time > last) return true;
    if (time < last) {
      this.late += 1;
      this.records.raise(vault, flag.late);
      return true;
    }
    const before = this.#sameTime.get(vault);
    const hashes = before?.time === time ? before.hashes : [this.records.getSmall(vault, small.idHash)];
    if (hashes.includes(idHash)) {
      this.duplicates += 1;
      return false;
    }
    if (this.#sameTime.size > 10_000) this.#sameTime.clear();
    this.#sameTime.set(vault, { time, hashes: [...hashes, idHash] });
    return true;
  }

  #apply(vault: number, due: Due, event: EventKind): void {
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
      case "failed-access":
        return this.#fail(vault, due, event);
      case "locking-failure":
        this.#fail(vault, due, event);
        if (this.records.getSmall(vault, small.condition) === deleted) return;
        this.#lock(vault, due, "failed-accesses");
        return this.records.raise(vault, flag.lockIsSaid);
      case "create":
        return this.#create(vault, due);
      case "delete":
        if (this.records.getSmall(vault, small.condition) === deleted) return this.#note(vault, due, "activity-after-deletion");
        this.records.setSmall(vault, small.pending, 0);
        return this.#become(vault, deleted, due);
      case "locking-start":
        if (!this.#isOpenFor(vault, due, false)) return;
        this.#countStart(vault, due);
        return this.#lock(vault, due, "unacknowledged-starts", flag.lockIsSaid);
      case "refused-locked":
        if (this.records.getSmall(vault, small.condition) !== active) return;
        this.#note(vault, due, "refused-while-open");
        return this.#lock(vault, due, "unseen", flag.lockIsSaid);
      case "lock":
        return this.#lock(vault, due, "administrator", flag.lockIsSaid);
      case "unlock":
        this.records.raise(vault, flag.known | flag.unlockedByItem);
        return this.#reopen(vault, due);
      case "unanswered-start":
        this.records.raise(vault, flag.unanswered);
        if (this.#isOpenFor(vault, due, false)) this.#start(vault, due, 1);
        return;
      case "unanswered-ack":
        return this.records.raise(vault, flag.unanswered);
      case "other":
        return this.records.raise(vault, flag.other);
      default:
    }
  }

  #create(vault: number, due: Due): void {
    const isFirst = this.records.getSmall(vault, small.items) === 1;
    if (this.records.has(vault, flag.created)) this.#note(vault, due, "created-twice");
    else if (!isFirst) this.#note(vault, due, "activity-before-creation");
    this.records.raise(vault, flag.created | flag.known);
    if (isFirst) this.#reopen(vault, due);
  }

  #start(vault: number, due: Due, operation: number): void {
    this.#isOpenFor(vault, due, true);
    const records = this.records;
    this.#clearFailures(vault);
    this.#countStart(vault, due);
    records.setSmall(vault, small.pending, operation);
    records.set(vault, field.lastStart, due.time);
    records.set(vault, field.pendingSince, due.time);
    records.set(vault, field.pendingPlace, due.place);
    records.set(vault, field.pendingLine, due.line);
    if (due.item?.endpoint?.includes("/generic/") === true) records.raise(vault, flag.generic);
    if (records.getSmall(vault, small.unacked) >= this.rules.lockAfterUnacked) this.#lock(vault, due, "unacknowledged-starts");
  }

  #acknowledge(vault: number, due: Due, operation: number): void {
    this.#isOpenFor(vault, due, true);
    const records = this.records;
    const pending = records.getSmall(vault, small.pending);
    if (pending === 0) {
      // The first item of a vault whose start the log does not reach back to is nothing odd.
      if (records.getSmall(vault, small.items) > 1) this.#note(vault, due, "acknowledgement-without-start");
    } else if (pending !== operation) this.#note(vault, due, "acknowledgement-of-other-operation");
    else if (due.time - records.get(vault, field.pendingSince) > this.rules.tokenLifetimeMs) {
      this.#note(vault, due, "acknowledgement-after-expiry");
    }
    records.raise(vault, flag.known);
    this.#clearStarts(vault);
    this.#clearFailures(vault);
    records.setSmall(vault, small.pending, 0);
  }

  #fail(vault: number, due: Due, event: EventKind): void {
    const records = this.records;
    if (records.getSmall(vault, small.condition) !== active) return;
    const failed = records.getSmall(vault, small.failed) + 1;
    records.setFailure(vault, failed, due.place, due.line);
    this.kept.keep(due);
    records.setSmall(vault, small.failed, failed);
    if (this.#expiringInvalid && event !== "failed-delete" && Number.isNaN(records.get(vault, field.invalidSince))) {
      records.set(vault, field.invalidSince, due.time);
      records.set(vault, field.causePlace, due.place);
      records.set(vault, field.causeLine, due.line);
    }
    if (failed >= this.rules.lockAfterFailed) this.#lock(vault, due, "failed-accesses");
  }

  /** Whether calls can be accepted here; where one was although the log says otherwise, that is noted, and it is open again. */
  #isOpenFor(vault: number, due: Due, wasAccepted: boolean): boolean {
    const condition = this.records.getSmall(vault, small.condition);
    if (condition === active) return true;
    if (!wasAccepted) return false;
    this.#note(vault, due, condition === locked ? "activity-while-locked" : "activity-after-deletion");
    if (condition === locked) this.records.raise(vault, flag.unlockedUnseen);
    this.#reopen(vault, due);
    return true;
  }

  #countStart(vault: number, due: Due): void {
    const unacked = this.records.getSmall(vault, small.unacked) + 1;
    this.records.setStart(vault, unacked, due.place, due.line);
    this.kept.keep(due);
    this.records.setSmall(vault, small.unacked, unacked);
  }

  #expireInvalid(vault: number, now: number): void {
    const at = this.records.get(vault, field.invalidSince) + this.rules.tokenLifetimeMs;
    if (!(at <= now) || this.records.getSmall(vault, small.condition) !== active) return;
    this.records.setSmall(vault, small.rule, lockRules.indexOf("expired-invalid-start"));
    this.records.setSmall(vault, small.condition, locked);
    this.records.set(vault, field.since, at);
  }

  #lock(vault: number, due: Due, rule: LockRule, flags = 0): void {
    if (this.records.getSmall(vault, small.condition) === locked) return;
    this.#locks = true;
    this.records.setSmall(vault, small.rule, lockRules.indexOf(rule));
    this.records.lower(vault, flag.lockIsSaid);
    if (flags !== 0) this.records.raise(vault, flags);
    this.#become(vault, locked, due);
  }

  #become(vault: number, condition: number, due: Due): void {
    this.records.setSmall(vault, small.condition, condition);
    this.records.set(vault, field.since, due.time);
    this.records.set(vault, field.causePlace, due.place);
    this.records.set(vault, field.causeLine, due.line);
    this.kept.keep(due, true);
  }

  #reopen(vault: number, due: Due): void {
    this.records.setSmall(vault, small.condition, active);
    this.records.set(vault, field.since, due.time);
    this.records.setSmall(vault, small.pending, 0);
    this.#clearStarts(vault);
    this.#clearFailures(vault);
    this.records.set(vault, field.causePlace, Number.NaN);
  }

  #clearStarts(vault: number): void {
    if (this.kept.size > 0) for (const { place } of this.records.starts(vault)) this.kept.drop(place);
    this.records.setSmall(vault, small.unacked, 0);
  }

  #clearFailures(vault: number): void {
    if (this.records.getSmall(vault, small.failed) === 0) return;
    if (this.kept.size > 0) for (const { place } of this.records.failures(vault)) this.kept.drop(place);
    this.records.setSmall(vault, small.failed, 0);
    this.records.set(vault, field.invalidSince, Number.NaN);
  }

  #note(vault: number, due: Due, kind: Oddity["kind"]): void {
    const known = this.oddities.get(vault) ?? { first: [], more: 0 };
    this.oddities.set(vault, known);
    if (known.first.length === mostOddities) {
      known.more += 1;
      return;
    }
    known.first.push({ kind, time: due.time, place: due.place, line: due.line });
    this.kept.keep(due, true);
  }
}
