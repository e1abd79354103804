import type { Operation } from "../../protocol/endpoints.ts";

/** What an item says has happened; the names are those of the replay. */
export type ReenactedEvent =
  | "create"
  | "read"
  | "update"
  | "ack-read"
  | "ack-update"
  | "delete"
  | "failed-read"
  | "failed-update"
  | "failed-delete"
  | "failed-access"
  | "refused"
  | "locking-failure"
  | "locking-start"
  | "refused-locked"
  | "failed-ack"
  | "lock"
  | "unlock"
  | "not-performed"
  | "application"
  | "unanswered-start"
  | "unanswered-ack"
  | "other";

export interface ReenactedStep {
  uuid: string;
  /** Milliseconds since the epoch. */
  time: number;
  event: ReenactedEvent;
  /** Where the item stands. */
  line: number;
  /** The path of its endpoint, where the item has one: it names the vault's kind. */
  kindHint?: string;
}

/** Milliseconds where it says so. */
export interface ReenactmentRules {
  lockAfterFailed: number;
  lockAfterUnacked: number;
  tokenLifetimeMs: number;
  autoLockAfterMs: number;
}

export type ReplayedState = "active" | "exchange-open" | "locked" | "deleted";

export interface ReenactmentResult {
  vaults: number;
  agree: number;
  /** Vaults whose sequence could not be performed, with why. */
  notPerformed: { uuid: string; reason: string }[];
  differences: { uuid: string; replayed: string; emulated: string; at?: string; line?: number; text: string }[];
}

/** What is remembered of a vault beside its state in the service. */
export interface Note {
  /** Of its last item; milliseconds since the epoch. */
  time: number;
  /** Whether the counters are known: its creation, an acknowledgement or an unlock was in the log. */
  isSure: boolean;
  /** The exchange started last, until its acknowledgement. */
  open?: { operation: Operation; time: number; line: number };
  /** A start that locked it in the service, where the item does not say that it was refused. */
  locking?: { time: number; line: number };
  /** The first item at which log and service disagree. */
  difference?: { time: number; line: number; text: string };
  impossible?: string;
}
