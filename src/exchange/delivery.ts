import type { Kind } from "../protocol/endpoints.ts";
import type { OpenExchange } from "./records.ts";
import type { RecoveryDocument } from "./recovery.ts";
import type { Credentials } from "../protocol/requests.ts";
import type { HoldReason, Settled } from "./states.ts";
import type { Way } from "../way.ts";

/** What the user receives between ② and ③; with the outcome of the exchange, once it is known. */
export interface Delivery {
  uuid: string;
  label: string | null;
  kind: Kind;
  /** The service's own object, untouched. */
  vault: Record<string, unknown>;
  exchange: OpenExchange;
  /** The new pair. */
  credentials: Credentials;
  settled: readonly Settled[];
  /** This may be the last read of a limited vault: an output that masks the contents does not deliver them. */
  lastRead: boolean;
  /** Makes the recovery document, until the end call. */
  recovery(): Promise<RecoveryDocument>;
}

/** The consumer of an exchange: stdout, --credentials-out, --save-cmd. */
export interface Handover {
  /** The recovery document leaves this state before the end call, so that somebody else may acknowledge the exchange. */
  readonly leavesState: boolean;
  /** --with-credentials: who receives the contents receives the new credentials, too. */
  readonly passesCredentials?: boolean;
  /** The command line of this run, which a held exchange can be started again with. */
  readonly line?: Way;
  /** Hash of the document that --save-cmd replaces: what was read at first, then what it has saved last. Undefined without one. */
  readonly replaces?: string | undefined;
  /**
   * Resolves when everything is delivered and files are durable; only then may an end call be sent.
   * @throws HandoverFailure if a part could not be delivered, `interrupted` if the user stopped it
   */
  deliver(delivery: Delivery): Promise<void>;
  /** Receives, after ④, the credentials that are valid now. A failure loses nothing and becomes a warning. */
  confirm(credentials: Credentials): Promise<void>;
}

/** A failed handover, for which the exchange is held. */
export class HandoverFailure extends Error {
  readonly reason: HoldReason;
  /** --credentials-out and --save-cmd have received the new credentials all the same. */
  readonly isSaved: boolean;
  /** The contents were delivered whole: --credentials-out and --save-cmd come after them. */
  readonly delivered: boolean;
  /** What another start of the same command line needs beside --discard-pending. */
  readonly needs: readonly string[];

  constructor(
    reason: HoldReason,
    message: string,
    {
      isSaved = false,
      delivered = reason === "credentials-out" || reason === "save-cmd",
      needs = [],
    }: { isSaved?: boolean; delivered?: boolean; needs?: readonly string[] } = {},
  ) {
    super(message);
    this.name = "HandoverFailure";
    this.reason = reason;
    this.isSaved = isSaved;
    this.delivered = delivered;
    this.needs = needs;
  }
}
