/** States of an exchange, as `status` and the JSON documents name them. ① to ④ are its steps (docs/design.md, The exchange). */
export const exchangeStates = [
  /** ① A start is about to be sent, or its outcome is unknown. */
  "intent",
  /** ② The new pair and its token are durable; no end call has been sent. */
  "started",
  /** The exchange waits for a decision: --no-ack, or contents or credentials could not be delivered. */
  "held",
  /** ③ An end call may have been sent. */
  "ending",
  /** ④ The new pair is current. */
  "acknowledged",
  /** One of two pairs is valid; only a start can tell which. */
  "in-doubt",
  /** The token expired before an acknowledgement arrived: the old pair is current. */
  "expired",
  /** Replaced by a new start with the old pair, or nothing had been sent. */
  "discarded",
  /** The service refused the credentials. */
  "rejected",
] as const;

export type ExchangeState = (typeof exchangeStates)[number];

/** Why an exchange is held, which decides how to finish it, and the words for it. */
export const holdReasons = {
  "no-ack": "by --no-ack",
  delivery: "its contents could not be delivered",
  masked: "the contents of a limited vault were not shown",
  "credentials-out": "--credentials-out could not be written",
  "save-cmd": "--save-cmd failed",
  exec: "--exec failed",
  run: "the program of vault run failed",
} as const;

export type HoldReason = keyof typeof holdReasons;

/**
 * Standing of a stored pair. `imported`: given. `offered`: received from a start, not yet acknowledged (or in doubt). `void`: offered by
 * an exchange that was discarded or expired. Only the success of a rival makes a pair `superseded`.
 */
export const standings = ["current", "imported", "offered", "superseded", "void"] as const;
export type Standing = (typeof standings)[number];

/** States in which a new pair waits for its acknowledgement, or may have received it. */
export const openStates: readonly ExchangeState[] = ["started", "held", "ending", "in-doubt"];
