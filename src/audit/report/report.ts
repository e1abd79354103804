import type { EventKind } from "../fold/events.ts";
import type { Columns } from "../read/item.ts";
import type { Rules } from "../fold/rules.ts";

export const verdicts = ["locked", "at-risk", "open-exchange", "deleted", "ok"] as const;

export type Verdict = (typeof verdicts)[number];

/** What somebody must do something about. */
export const isProblem = (verdict: Verdict): boolean => verdict === "locked" || verdict === "at-risk" || verdict === "open-exchange";

/** How sure a claim is. The reason stands beside it. */
export type Certainty = "certain" | "likely" | "unknown";

export type LockRule =
  /** As many failed accesses in a row as `rules.lockAfterFailed`. */
  | "failed-accesses"
  /** As many starts without acknowledgement as `rules.lockAfterUnacked`. */
  | "unacknowledged-starts"
  /** Releases up to 1.2.22: a start with invalid credentials whose transaction expired. */
  | "expired-invalid-start"
  /** No successful start for `rules.autoLockAfterMs`. */
  | "auto-lock"
  /** An item says so. */
  | "administrator"
  /** Calls were refused because the vault was locked, and the log does not show why. */
  | "unseen";

/** An exchange of this machine that an item belongs to, by its external reference. */
export interface OwnExchange {
  id: string;
  operation: string;
  /** Of the credentials that it sent. */
  generation: number;
  state: string;
  startedAt: string;
  /** ISO 8601; when these credentials were superseded, if they were. */
  supersededAt?: string;
}

/** Where an item stands, and what it says of who caused it. Text as the export has it: not fit for a terminal as it is. */
export interface ItemReference {
  input: string;
  line: number;
  /** ISO 8601, UTC. */
  at: string;
  event: EventKind;
  /** As written. */
  action: string;
  outcome?: string;
  description?: string;
  id?: string;
  address?: string;
  externalRef?: string;
  endpoint?: string;
  application?: string;
  own?: OwnExchange;
}

export interface Cause {
  rule: LockRule;
  /** The item that locked; none where time alone did, or where the log does not show it. */
  item?: ItemReference;
  /** The shortest sequence of items that leads to the lock, oldest first; the last one is `item`. */
  chain: ItemReference[];
  certainty: Certainty;
  reason: string;
  /** In one sentence, of which each value comes from the items. */
  text: string;
}

export interface Contradiction {
  at: string;
  kind:
    | "acknowledgement-without-start"
    | "acknowledgement-after-expiry"
    | "acknowledgement-of-other-operation"
    | "activity-after-deletion"
    | "activity-while-locked"
    | "activity-before-creation"
    | "created-twice"
    | "refused-while-open"
    /** An item says that it locked the vault, where the rules have another moment for it. */
    | "locked-at-another-moment";
  text: string;
  item: ItemReference;
}

export interface TimelineEvent {
  item: ItemReference;
  /** Both after this event. */
  unackedStarts: number;
  failedAttempts: number;
  state: VaultState;
  /** Of the chain that leads to the lock. */
  isCause: boolean;
  /** This one locked the vault. */
  locks: boolean;
}

export type VaultState = "active" | "exchange-open" | "locked" | "deleted";

export interface Tally {
  value: string;
  count: number;
}

export interface VaultReport {
  uuid: string;
  verdict: Verdict;
  certainty: Certainty;
  /** Why it is no more certain than that, or what makes it certain. */
  reason: string;
  state: VaultState;
  /** ISO 8601; since when it is in this state, where the log shows it. */
  since?: string;
  lockedAt?: string;
  cause?: Cause;
  /** The exchange that nobody acknowledged. */
  pending?: { operation: "read" | "update"; item: ItemReference; expiresAt: string; expired: boolean };
  unackedStarts: number;
  failedAttempts: number;
  /** Items of this vault, and the time of the first and the last one. */
  items: number;
  firstAt: string;
  lastAt: string;
  /** Of the items in `cause.chain`, or for an open exchange or a risk of the items that count; most frequent first. */
  who: { addresses: Tally[]; externalRefs: Tally[]; endpoints: Tally[]; applications: Tally[] };
  /** Of a vault that is not locked: the items that count toward a lock, oldest first. */
  counting: ItemReference[];
  contradictions: Contradiction[];
  /** What could not be listed in `contradictions` because there were too many. */
  moreContradictions: number;
  advice: { support: string; developer: string };
  /** With --timeline, or for --html; the newest where there are too many. */
  timeline?: TimelineEvent[];
  timelineOmitted?: number;
}

export interface InputReport {
  name: string;
  format: "ndjson" | "json" | "csv" | "tsv" | "journal";
  gzip: boolean;
  order: "oldest-first" | "newest-first";
  items: number;
  columns: Columns;
}

/** All that a replay found, without the vaults, which may be many. */
export interface ReplaySummary {
  /** Items that were read. */
  items: number;
  /** The moment that the verdicts are about: --until, else the time of the last item. */
  asOf: string | null;
  inputs: InputReport[];
  rules: Rules;
  /** Of the first input; others are in `inputs`. */
  columns: Columns;
  vaults: number;
  verdicts: Record<Verdict, number>;
  /** Lines that are no items: how many, and the first ones. */
  skippedLines: number;
  skipped: { input: string; line: number; reason: string }[];
  /** Actions that this program does not know, most frequent first. */
  otherActions: Tally[];
  /** Items about the application, and items that name no vault. */
  applicationItems: number;
  withoutVault: number;
  duplicates: number;
  /** Items out of order: put right, and too late to be. */
  reordered: number;
  late: number;
  notes: string[];
}

/** What would differ. */
export interface WhatIfReport {
  change: string;
  vaults: { uuid: string; before: VaultReport; after: VaultReport }[];
  unchanged: number;
  /** Vaults that differ and are not listed. */
  moreChanged: number;
  /** Items left out, or exchanges acknowledged, by the change; none of it where the rules are another. */
  touched?: number;
  /** What a reader should know: that there was nothing to be changed, or that it was too late. */
  notes: string[];
}

/** How the emulated service took the same sequence. */
export interface ReenactmentReport {
  vaults: number;
  agree: number;
  /** Vaults whose sequence could not be performed, with why. */
  notPerformed: { uuid: string; reason: string }[];
  differences: {
    uuid: string;
    /** "active", "locked", "deleted" */
    replayed: string;
    emulated: string;
    /** The first item at which the two disagree. */
    at?: string;
    line?: number;
    text: string;
  }[];
}
