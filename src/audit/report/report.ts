import type { Selected } from "../selection.ts";
import type { EventKind } from "../fold/events.ts";
import type { Columns } from "../read/item.ts";
import type { Rules } from "../fold/rules.ts";

export const verdicts = ["locked", "at-risk", "open-exchange", "deleted", "ok"] as const;

export type Verdict = (typeof verdicts)[number];

/** Whether a verdict needs action. */
export const isProblem = (verdict: Verdict): boolean =>
  verdict === "locked" || verdict === "at-risk" || verdict === "open-exchange";

/** Certainty of a verdict or a cause, which has a reason beside it. */
export type Certainty = "certain" | "likely" | "unknown";

export type LockRule =
  /** `rules.limits.failedAttempts` consecutive failed attempts. */
  | "failed-attempts"
  /** `rules.limits.unackedStarts` starts without acknowledgement. */
  | "unacknowledged-starts"
  /** A start with invalid credentials whose transaction expired (releases up to 1.2.22). */
  | "expired-invalid-start"
  /** No successful start for `rules.autoLockAfterMs`. */
  | "auto-lock"
  /** A lock in the console, which an item records. */
  | "administrator"
  /** A lock that the log does not show, but calls were refused because of it. */
  | "unseen";

/** The exchange of this machine that an item belongs to, by its external reference. */
export interface OwnExchange {
  id: string;
  operation: string;
  /** Generation of the credentials that it sent. */
  generation: number;
  state: string;
  startedAt: string;
  /** Time at which these credentials were superseded, in ISO 8601. */
  supersededAt?: string;
}

/** An item in a report. Its text is that of the export, and not safe on a terminal. */
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

/** What the log shows of credentials whose refusals locked the vault. */
export interface Refused {
  /** The acknowledged exchange that replaced them. Its start is absent if the log begins after it. */
  replacedBy?: { start?: ItemReference; acknowledgement: ItemReference };
  /** The last accepted start of the client that sent them: the one with its reference, else with its address. */
  lastAccepted?: ItemReference;
  /** Description in sentences, whose values come from the items. */
  text: string;
}

export interface Cause {
  rule: LockRule;
  /** The item that locked the vault; absent for a lock by time or one that the log does not show. */
  item?: ItemReference;
  /** The shortest sequence of items that leads to the lock, oldest first, with `item` as the last one. */
  chain: ItemReference[];
  certainty: Certainty;
  reason: string;
  /** Description in a sentence, whose values come from the items. */
  text: string;
  /** Absent if the lock has another cause, or the inputs were not read again. */
  refused?: Refused;
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
    /** An item says that it locked the vault, but by the rules another one did. */
    | "locked-at-another-moment";
  text: string;
  item: ItemReference;
}

export interface TimelineEvent {
  item: ItemReference;
  /** Counters after this event. */
  unackedStarts: number;
  failedAttempts: number;
  state: VaultState;
  /** Whether the event is part of the cause of the lock. */
  isCause: boolean;
  /** Whether the event locked the vault. */
  locks: boolean;
}

export type VaultState = "active" | "exchange-open" | "locked" | "deleted";

export interface Tally {
  value: string;
  count: number;
}

export interface VaultReport {
  uuid: string;
  /** Label on this machine. */
  label: string | null;
  verdict: Verdict;
  certainty: Certainty;
  /** Reason of the certainty. */
  reason: string;
  state: VaultState;
  /** Time since which the vault is in this state, in ISO 8601, if the log shows it. */
  since?: string;
  lockedAt?: string;
  cause?: Cause;
  /** The open exchange. */
  exchange?: {
    operation: "get" | "update";
    externalRef: string | null;
    startedAt: string;
    tokenExpiry: string;
    expired: boolean;
    /** The item of its start. */
    item: ItemReference;
  };
  unackedStarts: number;
  failedAttempts: number;
  /** Number of items, and times of the first and the last one. */
  items: number;
  firstAt: string;
  lastAt: string;
  /** Origins of the items in `cause.chain` or `counting`, most frequent first. */
  who: { addresses: Tally[]; externalRefs: Tally[]; endpoints: Tally[]; applications: Tally[] };
  /** Items that count toward lockout, oldest first, if the vault is not locked. */
  counting: ItemReference[];
  contradictions: Contradiction[];
  /** Number of further contradictions, which are not listed. */
  moreContradictions: number;
  advice: { support: string; developer: string };
  /** The newest events, with --timeline or --html. */
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

/** Origin of locks. `rule` is set only if the origin is not a client: `auto-lock`, `administrator` or `unseen`. */
export interface Origin {
  /** Number of vaults. */
  vaults: number;
  rule?: LockRule;
  externalRef?: string;
  address?: string;
  application?: string;
}

/** The answer first: what is wrong, and who caused it. */
export interface Found {
  /** Sentences with values from items. */
  text: string;
  /** Origins of the locks or, if no vault is locked, of the risks; most vaults first. */
  by: Origin[];
}

/** Result of a replay, without the vaults. */
export interface ReplaySummary {
  found: Found;
  /** With --where: only these vaults are counted and reported. */
  selected?: Selected;
  /** Number of items read. */
  items: number;
  /** Time of the verdicts: --until, else that of the last item. */
  asOf: string | null;
  inputs: InputReport[];
  rules: Rules;
  /** Columns of the first input; `inputs` has all. */
  columns: Columns;
  vaults: number;
  verdicts: Record<Verdict, number>;
  /** Lines that are not items: their number, and the first ones. */
  skippedLines: number;
  skipped: { input: string; line: number; reason: string }[];
  /** Unknown actions, most frequent first. */
  otherActions: Tally[];
  /** Number of items about the application, and of items that name no vault. */
  applicationItems: number;
  withoutVault: number;
  duplicates: number;
  /** Number of items out of order: those that were sorted, and those that were too late. */
  reordered: number;
  late: number;
  notes: string[];
}

/** Differences that a hypothetical change would make. */
export interface WhatIfReport {
  change: string;
  vaults: { uuid: string; before: VaultReport; after: VaultReport }[];
  unchanged: number;
  /** Number of vaults that differ and are not listed. */
  moreChanged: number;
  /** Number of items removed or exchanges acknowledged by the change; absent for a change of rules. */
  touched?: number;
  /** Notes: the change had no effect, or came too late. */
  notes: string[];
}

/** Comparison of the replay with the emulated service. */
export interface ReenactmentReport {
  vaults: number;
  agree: number;
  /** Vaults whose items could not be re-enacted, with the reason. */
  notPerformed: { uuid: string; reason: string }[];
  differences: {
    uuid: string;
    /** "active", "locked", "deleted" */
    replayed: string;
    emulated: string;
    /** Time and line of the first item at which the two disagree. */
    at?: string;
    line?: number;
    text: string;
  }[];
}
