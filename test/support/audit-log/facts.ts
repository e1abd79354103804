import type { Kind } from "../../../src/protocol/endpoints.ts";

/** What truly happened, whatever an export calls it. */
export type What =
  | "create"
  | "read"
  | "update"
  | "ack-read"
  | "ack-update"
  | "delete"
  /** By the service: its expiryDate, or no uses remain. */
  | "expired"
  | "used-up"
  /** Bad credentials: a failed access. */
  | "failed-read"
  | "failed-update"
  | "failed-delete"
  /** The start that is one too many without acknowledgement. */
  | "locking-read"
  | "locking-update"
  /** Of a locked vault. */
  | "refused-read"
  | "refused-update"
  /** An end call that was refused: a wrong token. */
  | "failed-ack-read"
  | "failed-ack-update"
  /** An administrator. */
  | "lock"
  | "unlock"
  /** A failed check of the application's key: no matter of any vault, even where the item names one. */
  | "key-check";

/** One thing that happened; `mark` where the truth refers to it. */
export interface Fact {
  what: What;
  id: string;
  /** Milliseconds since the epoch. */
  time: number;
  uuid: string | null;
  kind: Kind;
  application: string;
  externalRef: string | null;
  /** Null for what the service does by itself. */
  address: string | null;
  /** The failed access that locks. */
  locks: boolean;
  /** False: the export does not show it. */
  recorded: boolean;
  mark: TruthItem | null;
}

/** Where an item is that the truth speaks of. */
export interface TruthItem {
  id: string;
  time: number;
  /** Its place in the order of time, from 0; negative: it happened before the log begins. */
  index: number;
  /** Which file, from 0. */
  part: number;
  /** In that file: the line in which it begins, or in a JSON array its number; from 1. 0: it is not in the log. */
  line: number;
}

export type TruthVerdict = "locked" | "at-risk" | "open-exchange" | "deleted" | "ok";

export interface VaultTruth {
  uuid: string;
  kind: Kind;
  /** The script of how it ended. */
  ending: string;
  verdict: TruthVerdict;
  state: "active" | "exchange-open" | "locked" | "deleted";
  /** Milliseconds since the epoch. */
  lockedAt?: number;
  rule?: "failed-attempts" | "unacknowledged-starts" | "administrator";
  /** The item that locked. */
  causeItem?: TruthItem;
  /** The items that led to the lock or to the risk, oldest first; the last one of a lock is `causeItem`. */
  chain: TruthItem[];
  /** The last start that nobody acknowledged, where one is open. */
  pending?: TruthItem;
  /** Both at the end; of a locked vault as they were when it locked. Of a deleted one they mean nothing. */
  unackedStarts: number;
  failedAttempts: number;
  /** Items of this vault in the log, without repetitions and without failed key checks that name it. */
  items: number;
  firstAt: number;
  lastAt: number;
  /** False: the log begins in the middle of this vault's life. */
  baselineKnown: boolean;
  /** An administrator unlocked it once, of which the log has no item: there is simply activity afterwards. */
  unlockedUnseen: boolean;
}

export interface Truth {
  files: string[];
  /** Different items in the log, and how many of them are about the application only. */
  items: number;
  applicationItems: number;
  /** Items as they are in the files: repetitions counted. */
  written: number;
  /** What is no item, and a last line that was cut off. */
  garbage: { part: number; line: number }[];
  /** Of the first and the last item. */
  firstAt: number;
  asOf: number;
  /** Only vaults of which the log has an item. */
  vaults: Map<string, VaultTruth>;
  verdicts: Record<TruthVerdict, number>;
}
