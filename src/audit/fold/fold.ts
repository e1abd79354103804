import type { Rules } from "../../documents/audit.ts";
import type { Entry, EventKind, Item, ItemLocation } from "../read/item.ts";
import { endOf, isAcknowledgement } from "../read/item.ts";
import type { Overlap } from "./overlap.ts";
import type { VaultTable } from "../read/bytes.ts";
import { Ending, Rings, Vault } from "./vault.ts";

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
 * The service's state machine, as items in order of time show it. Memory grows with vaults only.
 * Items of unknown meaning widen the bounds of a vault's counters, and make no lock certain.
 */
export class Fold {
  readonly rules: Rules;
  readonly isHypothetical: boolean;
  /** By their numbers; empty for one without items. */
  readonly vaults: (Vault | undefined)[] = [];
  readonly #options: FoldOptions;
  readonly #rings: Rings;
  hasFailures = false;
  /** An item came too late to be sorted within a window. */
  isLate = false;

  constructor(options: FoldOptions) {
    this.#options = options;
    this.#rings = new Rings(options.events);
    this.rules = options.rules;
    this.isHypothetical = options.isHypothetical === true;
  }

  /** Takes the next item. Returns false for one that counts already. */
  take(entry: Entry): boolean {
    const vault = this.vaults[entry.vault] ?? this.#begin(entry);
    if (!this.isHypothetical && this.#options.overlap.isKnown(vault, entry)) return false;
    if (entry.time < vault.lastTime) this.isLate = true;
    vault.lastTime = entry.time;
    vault.items += 1;
    const { ending } = vault;
    const event = (this.isHypothetical && withoutLocks[entry.event]) || entry.event;
    this.#apply(vault, entry, event);
    vault.kinds |= 1 << entry.code;
    if (ending !== undefined && ending === vault.ending && isCall(entry, ending)) {
      ending.calls += 1;
      ending.lastCall = entry.time;
    }
    vault.ring.push(entry);
    if (vault.ending !== undefined && vault.ending !== ending) vault.freeze();
    return true;
  }

  #begin({ vault: number, time }: Entry): Vault {
    // Without holes, which would make every access slow.
    while (this.vaults.length <= number) this.vaults.push(undefined);
    const vault = new Vault(this.#options.table.uuid(number), number, time, this.#rings);
    this.vaults[number] = vault;
    return vault;
  }

  #apply(vault: Vault, entry: Entry, event: EventKind): void {
    switch (event) {
      case "read":
      case "update":
        return this.#start(vault, entry, event === "read" ? 1 : 2);
      case "ack-read":
      case "ack-update":
        return this.#acknowledge(vault, entry, event === "ack-read" ? 1 : 2);
      case "failed":
      case "failed-device":
      case "failed-pin":
      case "refused":
      case "unauthorized":
        return this.#fail(vault, entry, event.startsWith("failed"));
      case "locking-failure":
      case "locking-start":
        return this.#lockAsSaid(vault, entry, event);
      case "refused-locked":
      case "lock-noted":
        return this.#findLocked(vault, entry);
      case "lock":
        return this.#lock(vault, entry, { rule: "administrator", isSaid: true });
      case "unlock":
        return this.#reopen(vault);
      case "create":
        if (vault.had("create")) vault.addContradiction("created-twice", entry);
        else if (vault.items > 1) vault.addContradiction("activity-before-creation", entry);
        return;
      case "delete":
        return this.#delete(vault, entry);
      case "unanswered-start":
        if (vault.ending === undefined) this.#start(vault, entry, 1);
        return;
      case "unclear-start":
      case "unclear-ack":
      case "other":
        // A start may have been accepted, which resets the failed attempts, or have been one of them.
        if (event === "unclear-start" && vault.ending === undefined) vault.clearFailures();
        return this.#widen(vault);
      case "gone":
        vault.gone += 1;
        return;
      case "failed-ack":
      case "unanswered-ack":
      case "not-performed":
      case "application":
    }
  }

  /** Takes an item that may be any call, also an acknowledgement or unlock, which reset counts. */
  #widen(vault: Vault): void {
    vault.unclear += 1;
    vault.unclearSinceCall += 1;
    vault.surelyUnacked = 0;
    vault.surelyFailed = 0;
    if (vault.ending !== undefined) vault.ending.isUnsure = true;
  }

  /** `operation`: as in `pending`. */
  #start(vault: Vault, entry: Entry, operation: number): void {
    const { ending } = vault;
    if (ending?.rule === "unacknowledged-starts" && ending.isLikely && !ending.isSaid) {
      // It was not locked, so the start that may be acknowledged is.
      vault.ending = undefined;
      vault.unackedStarts -= 1;
      vault.mayBeAcked = false;
    }
    this.#accept(vault, entry);
    vault.clearFailures();
    vault.unackedStarts += 1;
    vault.surelyUnacked += 1;
    vault.unclearSinceCall = 0;
    vault.pending = operation;
    vault.lastStart = entry.time;
    if (vault.earlyAcks > 0) this.#matchEarly(vault, entry);
    const { unackedStarts: limit } = this.rules.limits;
    const counted = { rule: "unacknowledged-starts", count: vault.unackedStarts } as const;
    if (vault.surelyUnacked >= limit) this.#lock(vault, entry, counted);
    else if (vault.mayBeAcked && vault.unclear === 0 && vault.unackedStarts >= limit)
      this.#lock(vault, entry, { ...counted, isLikely: true });
  }

  /** Finds a start's acknowledgement that comes before it: in the same second, or by another clock. */
  #matchEarly(vault: Vault, start: Entry): void {
    const skew = start.time - vault.earlyAckTime;
    if (skew > clockSkew) {
      vault.earlyAcks = 0;
      return;
    }
    const reference = this.#options.itemOf(start).externalRef;
    const events = vault.ring
      .events(nearby)
      .filter((seen) => this.#options.itemOf(seen).externalRef === reference);
    const at = events.findIndex(
      ({ time, event }) => time === vault.earlyAckTime && isAcknowledgement(event),
    );
    if (at >= 0) vault.earlyAcks -= 1;
    // One that comes after another acknowledgement, or begins the log, is about a start before it.
    const isOwn = at >= 0 && !isAcknowledgement(events[at - 1]?.event);
    if (isOwn && (skew === 0 || (reference !== undefined && vault.items > 2))) {
      vault.clearStarts();
      if (vault.contradictions.at(-1)?.kind === "acknowledgement-without-start")
        vault.contradictions = vault.contradictions.slice(0, -1);
      if (skew > 0) vault.addContradiction("acknowledgement-before-start", start);
    } else if (vault.unackedStarts === 1) {
      vault.mayBeAcked = true;
      vault.surelyUnacked = 0;
    }
  }

  #acknowledge(vault: Vault, entry: Entry, operation: number): void {
    const { pending, ending } = vault;
    this.#accept(vault, entry);
    if (ending === undefined && pending === 0) {
      vault.earlyAcks = entry.time === vault.earlyAckTime ? vault.earlyAcks + 1 : 1;
      vault.earlyAckTime = entry.time;
      // As the first item of a vault it is no contradiction: its start was before the log begins.
      if (vault.items > 1) vault.addContradiction("acknowledgement-without-start", entry);
    } else if (ending === undefined && pending !== operation)
      vault.addContradiction("acknowledgement-of-other-operation", entry);
    else if (ending === undefined && entry.time - vault.lastStart > this.rules.tokenLifetimeMs)
      vault.addContradiction("acknowledgement-after-expiry", entry);
    vault.clearStarts();
    vault.clearFailures();
  }

  /** Takes an accepted call. One that should be refused is a contradiction and reopens it. */
  #accept(vault: Vault, entry: Entry): void {
    const { ending } = vault;
    if (ending === undefined) return;
    const kind = ending.state === "locked" ? "activity-while-locked" : "activity-after-deletion";
    if (!ending.isLikely || ending.isSaid) vault.addContradiction(kind, entry);
    this.#reopen(vault);
  }

  #fail(vault: Vault, entry: Entry, isSure: boolean): void {
    this.hasFailures = true;
    const { ending } = vault;
    if (ending !== undefined && (!ending.isLikely || ending.isSaid)) return;
    vault.failedAttempts += 1;
    if (isSure) vault.surelyFailed += 1;
    else vault.refusals += 1;
    vault.invalidStart ||= entry.time;
    const { failedAttempts: limit } = this.rules.limits;
    const rule = "failed-attempts";
    if (vault.surelyFailed >= limit) {
      // A locked vault does not look at credentials: the lock that was likely came later.
      vault.ending = undefined;
      this.#lock(vault, entry, { rule, count: vault.surelyFailed });
    } else if (vault.failedAttempts >= limit)
      this.#lock(vault, entry, { rule, count: vault.failedAttempts, isLikely: true });
  }

  /** Takes a call that locked a vault because the item says so, and notes if the rules disagree. */
  #lockAsSaid(vault: Vault, entry: Entry, event: "locking-failure" | "locking-start"): void {
    const isFailure = event === "locking-failure";
    const { ending } = vault;
    if (ending !== undefined) this.#noteLockedBefore(ending, vault, entry);
    if (isFailure) this.#fail(vault, entry, true);
    if (ending !== undefined && vault.ending === ending) return;
    if (!isFailure) {
      // The credentials were correct.
      vault.clearFailures();
      vault.unackedStarts += 1;
      vault.lastStart = entry.time;
    }
    const { limits } = this.rules;
    const [rule, count, limit] = isFailure
      ? (["failed-attempts", vault.failedAttempts, limits.failedAttempts] as const)
      : (["unacknowledged-starts", vault.unackedStarts, limits.unackedStarts] as const);
    if (count < limit && vault.hasKnownCounters)
      vault.addContradiction("locked-at-another-moment", entry);
    this.#lock(vault, entry, { rule, count });
    if (vault.ending !== undefined) Object.assign(vault.ending, { isSaid: true, isLikely: false });
  }

  /** Notes a lock by an item, if the vault was locked before by the rules. */
  #noteLockedBefore(ending: Ending, vault: Vault, entry: Entry): void {
    if (ending.state !== "locked" || this.#confirm(ending) || isRecord(entry, ending)) return;
    // "Locked after too many failed attempts" may be said to each call since.
    if (entry.event !== "locking-failure" || ending.rule !== "failed-attempts")
      vault.addContradiction("locked-at-another-moment", entry);
  }

  /**
   * Takes an item that shows the vault to be locked. If no rule did it, the vault was idle for so
   * long, or the calls just before are the likely cause, or it is not in the log.
   */
  #findLocked(vault: Vault, entry: Entry): void {
    const { ending, failedAttempts, unackedStarts, hasKnownCounters } = vault;
    if (ending !== undefined) return void this.#confirm(ending);
    const { limits, autoLockAfterMs } = this.rules;
    const since = (vault.lastStart || vault.firstTime) + autoLockAfterMs;
    // The call itself may have reached the limit, and the log may begin after the first ones.
    const isFailed =
      failedAttempts > 0 && (failedAttempts + 1 >= limits.failedAttempts || !hasKnownCounters);
    const said = { isSaid: true, isGuess: true };
    if (since <= entry.time) this.#lock(vault, entry, { ...said, rule: "auto-lock", since });
    else if (isFailed)
      this.#lock(vault, entry, { ...said, rule: "failed-attempts", count: failedAttempts });
    else if (unackedStarts + 1 >= limits.unackedStarts)
      this.#lock(vault, entry, { ...said, rule: "unacknowledged-starts", count: unackedStarts });
    else {
      if (entry.event === "refused-locked") vault.addContradiction("refused-while-open", entry);
      this.#lock(vault, entry, { rule: "unseen", isSaid: true });
    }
  }

  /** Notes that an item shows a locked vault to be locked. Returns whether that was new. */
  #confirm(ending: Ending): boolean {
    if (ending.state !== "locked") return false;
    const isNew = ending.isLikely && !ending.isSaid;
    ending.isSaid = true;
    ending.isUnsure = false;
    return isNew;
  }

  #delete(vault: Vault, entry: Entry): void {
    if (vault.ending?.state === "deleted")
      return vault.addContradiction("activity-after-deletion", entry);
    const { time: since, event } = entry;
    vault.pending = 0;
    vault.ending = new Ending({ state: "deleted", since, event });
  }

  #lock(
    vault: Vault,
    { time: since, event }: Entry,
    how: Pick<Ending, "rule"> & Partial<Ending>,
  ): void {
    if (vault.ending?.state === "locked") return;
    vault.ending = new Ending({ since, event, ...how });
  }

  #reopen(vault: Vault): void {
    vault.clearStarts();
    vault.clearFailures();
    vault.ending = undefined;
  }
}

/** Events about locks, as they would be without: unknown for a call that a lock refused. */
const withoutLocks: Partial<Record<EventKind, EventKind>> = {
  "locking-start": "read",
  "locking-failure": "failed",
  "refused-locked": "unclear-ack",
  "lock-noted": "application",
};

/** Whether an item tells again of the lock that the one before it made. */
const isRecord = ({ event, time }: Entry, { since }: Ending): boolean =>
  event === "lock-noted" || (event === "locking-failure" && time - since <= recordedWithin);

/** Whether an item behind a lock is a start or the like, of whatever outcome: no end call. */
const isCall = (entry: Entry, ending: Ending): boolean =>
  endOf(entry.event) !== undefined && !entry.event.endsWith("-ack") && !isRecord(entry, ending);
