import type { LockRule } from "../../documents/audit.ts";
import type { Entry, ItemLocation } from "../read/item.ts";
import { type Contradiction, eventCodes, type EventKind } from "./events.ts";

/** Maximum number of contradictions of a vault that are kept: the first ones tell most. */
const maxContradictions = 20;

/** How a vault came to be locked or deleted. */
export class Ending {
  state: "locked" | "deleted" = "locked";
  /** Time at which it was, in milliseconds since the epoch. */
  since = 0;
  /** What did it, or showed it, and its place among the vault's events. */
  event: EventKind = "lock";
  at = 0;
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

  constructor(of: Pick<Ending, "since" | "event" | "at"> & Partial<Ending>) {
    Object.assign(this, of);
  }
}

/** What contradicts the log, by the item that does. */
interface Contradicting {
  kind: Contradiction;
  item: ItemLocation;
}

/** What a vault's items amount to: counts, and times in milliseconds since the epoch; 0: none. */
export class Vault {
  /** In lower case. */
  readonly uuid: string;
  /** Number in the table of vaults. */
  readonly number: number;
  items = 0;
  firstTime = 0;
  lastTime = 0;
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
  readonly contradictions: Contradicting[] = [];
  /** As in `Tally`. */
  duplicates = 0;
  alike = 0;

  constructor(uuid: string, number: number) {
    this.uuid = uuid;
    this.number = number;
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
      this.contradictions.push({ kind, item: entry });
  }
}
