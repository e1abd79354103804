import type { Kind, Operation } from "../protocol/endpoints.ts";
import type { RecoveryDocument } from "./recovery/document.ts";
import type { Attempts, Credentials } from "./records.ts";
import type { HoldReason, Settled } from "./states.ts";

/** What is handed to the user between ② and ③: the contents, and the recovery document. */
export interface Delivery {
  /** The service's own object, untouched. */
  vault: Record<string, unknown>;
  kind: Kind;
  exchange: {
    id: string;
    operation: Operation;
    externalRef: string;
    startedAt: string;
    tokenExpiry: string | null;
    generation: number;
  };
  /** Of the new pair, as `status --history` shows it. */
  fingerprint: string;
  settled: readonly Settled[];
  /** This is, as far as can be told, the last read of a limited vault: an output that masks the contents is no delivery. */
  lastRead: boolean;
  recovery: RecoveryDocument;
}

/** The consumer of an exchange: stdout, --credentials-out, --save-cmd. */
export interface Handover {
  /** The recovery document leaves this state before the end call: somebody else may acknowledge the exchange. */
  readonly leaves: boolean;
  /**
   * Called between ① and each start that is sent, and after each outcome that changes the counts. Where the counts travel with
   * the credentials they are durable when it resolves; if it rejects, nothing is sent.
   */
  counted(attempts: Attempts): Promise<void>;
  /**
   * Resolves when everything is handed over and, where it is a file, durable; only then may an end call be sent.
   * Rejects with a HandoverFailure if a part could not be; with `interrupted` if the user stopped it.
   */
  deliver(delivery: Delivery): Promise<void>;
  /** After ④: the pair that is valid now. A failure here loses nothing and is told as a warning. */
  confirm(credentials: Credentials): Promise<void>;
}

/** Why a handover failed; the exchange is held for it. */
export class HandoverFailure extends Error {
  readonly reason: HoldReason;
  /** The contents had been delivered whole before it failed. */
  readonly delivered: boolean;
  /** A --credentials-out or --save-cmd has not been served. */
  readonly saveOwed: boolean;
  readonly hint: string | undefined;

  constructor(reason: HoldReason, message: string, facts: { delivered: boolean; saveOwed: boolean; hint?: string }) {
    super(message);
    this.name = "HandoverFailure";
    this.reason = reason;
    this.delivered = facts.delivered;
    this.saveOwed = facts.saveOwed;
    this.hint = facts.hint;
  }
}
