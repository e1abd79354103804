/** States of an exchange, as `status` and the JSON documents name them (DESIGN, The exchange). */
export const exchangeStates = [
  /** ① about to start, or a start whose outcome is unknown. */
  "intent",
  /** ② the new pair and its token are durable; the end call has surely not been sent. */
  "started",
  /** Waits for a decision: --no-ack, or contents or credentials that could not be handed over. */
  "held",
  /** ③ an end call may have been sent. */
  "ending",
  /** ④ the new pair is current. */
  "acknowledged",
  /** One of two pairs is valid; only a start can tell which. */
  "in-doubt",
  /** The token died before an acknowledgement arrived: the old pair is current. */
  "expired",
  /** Dropped for a new start with the old pair, or nothing had been sent. */
  "discarded",
  /** The service refused the credentials. */
  "rejected",
] as const;

export type ExchangeState = (typeof exchangeStates)[number];

/** Why an exchange is held, and so what finishes it. */
export type HoldReason =
  /** --no-ack: the contents were delivered. */
  | "no-ack"
  /** The contents could not be written whole. */
  | "delivery"
  /** The last read of a limited vault, with an output that masks or omits the contents. */
  | "masked"
  /** --credentials-out could not be written. */
  | "credentials-out"
  /** --save-cmd failed. */
  | "save-cmd";

/** States in which a new pair is waiting for its acknowledgement, or may have got it. */
export const openStates: readonly ExchangeState[] = ["started", "held", "ending", "in-doubt"];

/**
 * How a left exchange ended, in `settled` of the JSON documents: `acknowledged` a read, `applied` an update,
 * `not-applied` the old pair stays current.
 */
export interface Settled {
  exchange: string;
  operation: "get" | "update";
  outcome: "applied" | "not-applied" | "acknowledged" | "in-doubt";
}
