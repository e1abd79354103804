import type { LockRule } from "../../documents/audit.ts";
import type { Contradiction, EventKind, ItemLocation } from "../read/item.ts";
import { Entry, eventCodes } from "../read/item.ts";
import { Entries } from "./order.ts";

/** Maximum number of contradictions of a vault that are kept: the first ones tell most. */
const maxContradictions = 20;

/** How a vault came to be locked or deleted. */
export class Ending {
  state: "locked" | "deleted" = "locked";
  /** Time at which it was, in milliseconds since the epoch. */
  since = 0;
  /** What did it, or showed it. */
  event: EventKind = "lock";
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

interface Contradicting {
  kind: Contradiction;
  item: ItemLocation;
}

const none: readonly Contradicting[] = [];

/** The newest events of a vault: so many, `size`, in rows of a page from `start` on. */
class Ring {
  readonly #page: Entries;
  readonly #start: number;
  readonly #size: number;
  /** Number of events that it was given. */
  #count = 0;

  constructor(page: Entries, start: number, size: number) {
    this.#page = page;
    this.#start = start;
    this.#size = size;
  }

  push(entry: Entry): void {
    this.#page.set(this.#start + (this.#count++ % this.#size), entry);
  }

  /** Returns so many of the newest events, oldest first. */
  events(most = this.#size): Entry[] {
    const length = Math.min(this.#count, this.#size, most);
    return Array.from({ length }, (_, index) =>
      this.#page.get(this.#start + ((this.#count - length + index) % this.#size), new Entry()),
    );
  }
}

const ringsOnPage = 256;

/** Makes the rings of all vaults on pages: an array for each would take more time and memory. */
export class Rings {
  readonly #size: number;
  #page = new Entries(0);
  #count = 0;

  /** `size`: number of events to keep of a vault. */
  constructor(size: number) {
    this.#size = size;
  }

  create(): Ring {
    const at = this.#count++ % ringsOnPage;
    if (at === 0) this.#page = new Entries(ringsOnPage * this.#size, { withVault: false });
    return new Ring(this.#page, at * this.#size, this.#size);
  }
}

/**
 * What the items of a vault amount to so far: counts, and times in milliseconds since the epoch; 0
 * for none. Memory grows with the vaults: properties are few, and most are numbers.
 */
export class Vault {
  // What each item changes comes first, on the same lines of the CPU cache. Of the last item:
  lastTime = 0;
  items = 0;
  ring: Ring;
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
  /** The newest events up to the last lock. */
  earlier: Ring | undefined;
  /** In lower case. */
  readonly uuid: string;
  /** Number in the table of vaults. */
  readonly number: number;
  readonly firstTime: number;
  contradictions: readonly Contradicting[] = none;
  /** Items that may or may not be the same as another. */
  alike = 0;

  readonly #rings: Rings;

  constructor(uuid: string, number: number, firstTime: number, rings: Rings) {
    this.uuid = uuid;
    this.number = number;
    this.firstTime = firstTime;
    this.#rings = rings;
    this.ring = rings.create();
  }

  /** Keeps the events that led to a lock, whatever comes after it. */
  freeze(): void {
    if (this.earlier === undefined) this.earlier = this.ring;
    else for (const seen of this.ring.events()) this.earlier.push(seen);
    this.ring = this.#rings.create();
  }

  /** The newest event of a vault that has any. */
  get newest(): Entry {
    return (this.ring.events(1)[0] ?? this.earlier?.events(1)[0]) as Entry;
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
    const item = Object.assign(new Entry(), entry);
    if (this.contradictions.length < maxContradictions)
      this.contradictions = [...this.contradictions, { kind, item }];
  }
}
