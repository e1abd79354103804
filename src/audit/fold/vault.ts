import type { EventKind } from "./events.ts";
import { locationOf } from "../read/item.ts";
import type { Entry, ItemLocation } from "../read/item.ts";
import type { Contradiction, LockRule } from "../../documents/audit.ts";

/** Maximum number of items remembered of those that count toward lockout, the newest. */
const longestChain = 16;

/** Maximum number of contradictions listed for a vault. */
const maxContradictions = 20;

/** No items: a list for every vault would take memory. */
const none: ItemLocation[] = [];

/** What tells an item from another one of the same vault and time. */
export type Identity = Pick<Entry, "idHash" | "input" | "event">;

/** How a vault came to be locked or deleted. */
interface Ending {
  /** Time at which it was, in milliseconds since the epoch. */
  since: number;
  /** The item that did it, or showed it. */
  item: ItemLocation;
  /** Rule that locked a locked vault. */
  rule: LockRule;
  /** An item says that the vault was locked. */
  isSaid: boolean;
  /** Calls whose reason is not known made the lock, if they counted. */
  isLikely: boolean;
  /** A later item may have unlocked it, or shown it open: what it means is not understood. */
  isUnsure: boolean;
}

/** What makes a verdict doubtful. */
interface Doubts {
  contradictions: { kind: Contradiction["kind"]; item: ItemLocation }[];
  moreContradictions: number;
  /** Number of lines that could not be read and name the vault. */
  unreadLines: number;
  /** An item came too late to be sorted. */
  hasLate: boolean;
  /** A call of this machine had no response: it may count. */
  hasUnanswered: boolean;
  /** Items without ids were taken for duplicates because their content is equal. */
  hasAlike: boolean;
}

const noDoubts = (): Doubts => ({
  contradictions: [],
  moreContradictions: 0,
  unreadLines: 0,
  hasLate: false,
  hasUnanswered: false,
  hasAlike: false,
});

/** Of every vault without any. */
const undoubted: Readonly<Doubts> = noDoubts();

/**
 * What the items of a vault so far amount to. What few vaults need is an object of its own: all vaults together should fit the processor's
 * cache. Each number has a first value, without which V8 makes an object of it at each change. Times are milliseconds since the epoch, NaN
 * for none.
 */
export class Vault {
  // First what every item reads or changes, so that it is close together.
  condition: "active" | "locked" | "deleted" = "active";
  items = 0;
  /** Number of starts without acknowledgement. */
  unackedStarts = 0;
  /** Number of consecutive failed attempts, with those that may count. */
  failedAttempts = 0;
  /** Lower bounds of both, which no item of unknown meaning raises. */
  surelyUnacked = 0;
  surelyFailed = 0;
  /** Number of items that are not understood since an acknowledgement, and of calls refused for an unknown reason since an accepted call. */
  unclear = 0;
  refusals = 0;
  /** A call was accepted after the last item that is not understood. */
  isShownOpen = true;
  /** The service said that it has no such vault. */
  isGone = false;
  /** Operation of the open exchange. */
  pending: "get" | "update" | undefined;
  /** The counters are known: the creation, an acknowledgement or an unlock was seen. */
  hasKnownCounters = false;
  /** An item has a known action. */
  hasKnownAction = false;
  /** Of the last item. */
  lastIdHash = 0;
  lastInput = 0;
  lastEvent: EventKind = "other";
  // Location of the last start: an object for each start would take a third of the time of a replay.
  #startLine = 0;
  #startInput = 0;
  #startEvent: EventKind = "other";
  #startContent: ItemLocation["content"] = 0;
  lastTime = Number.NaN;
  /** Time of the last start, which is that of the open exchange. */
  lastStart = Number.NaN;
  #creation: ItemLocation | undefined;
  #earlierStarts: ItemLocation[] = none;
  #failures: ItemLocation[] = none;
  /** In lower case. */
  readonly uuid: string = "";
  /** Number in the table of vaults. */
  readonly number: number = -1;
  firstTime = Number.NaN;
  wasCreated = false;
  wasUnlocked = false;
  /** Of a vault that is locked or deleted. */
  ending: Ending | undefined;
  /** The oldest start with invalid credentials whose transaction has not expired (releases up to 1.2.22). */
  invalidStart: { time: number; item: ItemLocation } | undefined;
  #doubts = undoubted;

  constructor(uuid: string, number: number, time: number) {
    this.uuid = uuid;
    this.number = number;
    this.firstTime = time;
    this.lastTime = time;
  }

  get doubts(): Readonly<Doubts> {
    return this.#doubts;
  }

  /** Returns the doubts, to be changed. */
  doubt(): Doubts {
    if (this.#doubts === undoubted) this.#doubts = noDoubts();
    return this.#doubts;
  }

  /** The newest starts without acknowledgement, oldest first. */
  get starts(): ItemLocation[] {
    return this.unackedStarts === 0 ? [] : [...this.#earlierStarts, this.#start()];
  }

  /** The newest consecutive failed attempts, oldest first. */
  get failures(): readonly ItemLocation[] {
    return this.#failures;
  }

  /** The last start, or the creation: its endpoint names the kind of the vault. */
  get kindItem(): ItemLocation | undefined {
    return this.#creation ?? (this.#startLine === 0 ? undefined : this.#start());
  }

  /** Returns a number of every part that items change, all of which are read. */
  sum(): number {
    const numbers = this.items ^ this.lastIdHash ^ this.#startLine;
    return numbers + this.lastTime + this.lastStart;
  }

  create(entry: Entry): void {
    this.wasCreated = true;
    this.#creation = locationOf(entry);
  }

  countStart({ line, input, event, content }: Entry): void {
    if (this.unackedStarts > 0)
      this.#earlierStarts = [...this.#earlierStarts.slice(2 - longestChain), this.#start()];
    this.unackedStarts += 1;
    this.surelyUnacked += 1;
    this.isShownOpen = true;
    this.#startLine = line;
    this.#startInput = input;
    this.#startEvent = event;
    this.#startContent = content;
    if (this.#creation !== undefined) this.#creation = undefined;
  }

  countFailure(entry: Entry, isSure: boolean): void {
    this.failedAttempts += 1;
    if (isSure) this.surelyFailed += 1;
    else this.refusals += 1;
    if (this.#failures === none) this.#failures = [];
    if (this.#failures.push(locationOf(entry)) > longestChain) this.#failures.shift();
  }

  clearStarts(): void {
    if (this.unackedStarts > 1) this.#earlierStarts = none;
    this.unackedStarts = 0;
    this.surelyUnacked = 0;
    this.unclear = 0;
  }

  clearFailures(): void {
    this.surelyFailed = 0;
    this.refusals = 0;
    this.isGone = false;
    if (this.failedAttempts === 0) return;
    this.failedAttempts = 0;
    this.#failures = none;
    if (this.invalidStart !== undefined) this.invalidStart = undefined;
  }

  #start(): ItemLocation {
    return {
      input: this.#startInput,
      line: this.#startLine,
      event: this.#startEvent,
      content: this.#startContent,
    };
  }

  addContradiction(kind: Contradiction["kind"], entry: Entry): void {
    const doubts = this.doubt();
    if (doubts.contradictions.length < maxContradictions)
      doubts.contradictions.push({ kind, item: locationOf(entry) });
    else doubts.moreContradictions += 1;
  }
}
