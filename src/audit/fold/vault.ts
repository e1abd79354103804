import type { LockRule } from "../../documents/audit.ts";
import type { Contradiction, EventKind, ItemLocation } from "../read/item.ts";
import { Entry, eventCodes } from "../read/item.ts";
import { Rows } from "./order.ts";

/** Maximum number of contradictions of a vault that are kept: the first ones tell most. */
const maxContradictions = 20;

/** How a vault came to be locked or deleted. */
export class Ending {
  state: "locked" | "deleted" = "locked";
  /** Time at which it was, in milliseconds since the epoch. */
  since = 0;
  /** What did it, or showed it. */
  event: EventKind = "lock";
  /** Rule that locked a locked vault. */
  rule: LockRule = "unseen";
  /** Number of items that led to it by the rule. */
  count = 0;
  /** An item says that the vault was locked. */
  isSaid = false;
  /** The rule is what the calls before make likely. */
  isGuess = false;
  /** Calls whose reason is not known made the lock, if they counted. */
  isLikely = false;
  /** A later item may have unlocked it, or shown it open: what it means is not understood. */
  isUnsure = false;
  /** Calls since. */
  calls = 0;
  lastCall = 0;

  constructor(of: Pick<Ending, "since" | "event"> & Partial<Ending>) {
    Object.assign(this, of);
  }
}

/** What contradicts the log, by the item that does. */
interface Contradicting {
  kind: Contradiction;
  item: ItemLocation;
}

const none: readonly Contradicting[] = [];

/**
 * What the items of a vault amount to so far: counts, and times in milliseconds since the epoch; 0
 * for none. Memory grows with the vaults: properties are few, and most are numbers.
 */
export class Vault {
  // What each item changes comes first, on the same lines of the CPU cache. Of the last item:
  lastTime = 0;
  items = 0;
  /** The ring of the newest events, and the number of events that it was given. */
  ring = 0;
  count = 0;
  /** Of a vault that is locked or deleted. */
  ending: Ending | undefined;
  /** Kinds of the events, each the bit of its code. */
  kinds = 0;
  /** Unacknowledged starts and consecutive failed attempts, with those that only may count. */
  unackedStarts = 0;
  failedAttempts = 0;
  /** Lower bounds of both, which no item of unknown meaning raises. */
  surelyUnacked = 0;
  surelyFailed = 0;
  /** The open exchange, 1 for a read, 2 for an update; and the time of the last start. */
  pending = 0;
  lastStart = 0;
  /** Items that are not understood: since an acknowledgement, and since an accepted call. */
  unclear = 0;
  unclearSinceCall = 0;
  /** Calls since an accepted one: refused for an unknown reason; refused as no such vault. */
  refusals = 0;
  gone = 0;
  /** The oldest start with invalid credentials since an accepted call. */
  invalidStart = 0;
  /** Acknowledgements without a start at the last time of one: the start may stand behind them. */
  earlyAcks = 0;
  earlyAckTime = 0;
  /** One of them may be of the first start that counts. */
  mayBeAcked = false;
  /** The ring of the newest events up to the last lock, and how many events it was given. */
  earlierRing = 0;
  earlierCount = 0;
  /** In lower case. */
  readonly uuid: string;
  /** Number in the table of vaults. */
  readonly number: number;
  readonly firstTime: number;
  contradictions: readonly Contradicting[] = none;
  /** Items that may or may not be the same as another. */
  alike = 0;

  constructor(uuid: string, number: number, firstTime: number, ring: number) {
    this.uuid = uuid;
    this.number = number;
    this.firstTime = firstTime;
    this.ring = ring;
  }

  had(kind: EventKind): boolean {
    return (this.kinds & (1 << eventCodes[kind])) !== 0;
  }

  get hasKnownCounters(): boolean {
    return (["create", "unlock", "ack-read", "ack-update"] as const).some((one) => this.had(one));
  }

  clearStarts(): void {
    this.unackedStarts = 0;
    this.surelyUnacked = 0;
    this.unclear = 0;
    this.pending = 0;
    this.mayBeAcked = false;
  }

  clearFailures(): void {
    this.failedAttempts = 0;
    this.surelyFailed = 0;
    this.refusals = 0;
    this.gone = 0;
    this.invalidStart = 0;
  }

  addContradiction(kind: Contradiction, entry: Entry): void {
    if (this.contradictions.length < maxContradictions)
      this.contradictions = [
        ...this.contradictions,
        { kind, item: Object.assign(new Entry(), entry) },
      ];
  }
}

/** Number of events on a page, about. */
const pageSize = 8192;

/** The newest events of all vaults. */
export class Rings {
  /** Number of events in a ring, and of rings on a page. */
  readonly #size: number;
  readonly #perPage: number;
  readonly #pages: Rows[] = [];
  #count = 0;

  constructor(size: number) {
    this.#size = size;
    this.#perPage = Math.ceil(pageSize / size);
  }

  create(): number {
    if (this.#count === this.#pages.length * this.#perPage)
      this.#pages.push(new Rows(this.#perPage * this.#size));
    return this.#count++;
  }

  /** Adds an event to a ring that was given `count` before. */
  push(ring: number, count: number, entry: Entry): void {
    this.#pageOf(ring).set(this.#rowOf(ring, count), entry);
  }

  /** Returns the newest event of a vault that has any. */
  newest({ ring, count, earlierRing, earlierCount }: Vault): Entry {
    const [of, at] = count > 0 ? [ring, count - 1] : [earlierRing, earlierCount - 1];
    return this.#pageOf(of).get(this.#rowOf(of, at), new Entry());
  }

  /** Returns the events of a ring that was given `count`, oldest first. */
  events(ring: number, count: number): Entry[] {
    const kept = Math.min(count, this.#size);
    return Array.from({ length: kept }, (_, index) =>
      this.#pageOf(ring).get(this.#rowOf(ring, count - kept + index), new Entry()),
    );
  }

  #pageOf(ring: number): Rows {
    return this.#pages[(ring / this.#perPage) | 0] as Rows;
  }

  #rowOf(ring: number, index: number): number {
    return (ring % this.#perPage) * this.#size + (index % this.#size);
  }
}
