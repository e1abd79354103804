import { isOnline, type Kind } from "../protocol/endpoints.ts";
import type { Credentials } from "../protocol/requests.ts";
import type { Way } from "../way.ts";
import type { GivenCredentials, RecoveryDocument } from "./credentials.ts";
import type { ExchangeContext } from "./ports.ts";
import type { AdoptedExchange, OpenExchange, Settled, VaultRecord } from "./records.ts";
import { isUnread } from "./records.ts";
import type { HoldReason } from "./states.ts";

/** The format that documents are written in. */
export const format: RecoveryDocument["format"] = 2;

export function pairsOf(given: GivenCredentials | undefined): Credentials[] {
  if (given === undefined) return [];
  return given.type === "pair" ? [given.credentials] : [given.document.old, given.document.new];
}

/** Reads the recovery document of an exchange after ② from the state. */
export async function recoveryDocument(
  context: Pick<ExchangeContext, "session">,
  record: VaultRecord,
  exchange: OpenExchange,
): Promise<RecoveryDocument> {
  const { session } = context;
  const { id, operation, kind: of, startedAt, tokenExpiry, newGeneration: generation } = exchange;
  const base = record.generations.find((g) => g.generation === exchange.baseGeneration);
  const externalRef = exchange.externalRef === "" ? null : exchange.externalRef;
  return {
    format,
    uuid: session.uuid,
    label: record.label,
    kind: of,
    exchange: { id, operation, externalRef, startedAt, tokenExpiry, generation },
    status: "pending",
    old: await session.credentials(exchange.baseGeneration),
    new: await session.credentials(generation),
    token: await session.token(id),
    ...(isOnline(of) && base?.device ? { device: base.device } : {}),
    ...(isUnread(exchange) ? { unread: true } : {}),
  };
}

/** What a state needs of a recovery document, to adopt its exchange. */
export const adoptable = (document: RecoveryDocument): AdoptedExchange => ({
  ...document,
  ...document.exchange,
  exchangeId: document.exchange.id,
});

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
  replaces?: string | undefined;
  /**
   * Resolves when everything is delivered and files are durable; only then may an end call be sent.
   * @throws HandoverFailure if a part could not be delivered, `interrupted` if the user stopped it
   */
  deliver(delivery: Delivery): Promise<void>;
  /** Receives, after ④, what has the credentials that are valid now. A failure loses nothing and becomes a warning. */
  confirm(delivery: Delivery): Promise<void>;
}

/** A failed handover, for which the exchange is held. */
export class HandoverFailure extends Error {
  override readonly name = "HandoverFailure";
  readonly reason: HoldReason;
  /** What another start of the same command line needs beside --discard-pending; null if it would fail again. */
  readonly needs: readonly string[] | null;

  constructor(reason: HoldReason, message: string, needs: readonly string[] | null = []) {
    super(message);
    this.reason = reason;
    this.needs = needs;
  }

  /** The contents were delivered whole: --credentials-out and --save-cmd come after them. */
  get delivered(): boolean {
    return this.reason === "credentials-out" || this.reason === "save-cmd";
  }
}
