import type { SingleOperation } from "../protocol/endpoints.ts";
import type { Settled } from "./states.ts";

/** Progress of an exchange, to be shown to the user. Holds no secret. */
export type ExchangeEvent =
  /** A deviation from the interface, or something the user should know. Always shown. */
  | { type: "warning"; message: string }
  /** An exchange that an earlier run left was settled. Always shown. */
  | { type: "settled"; settled: Settled }
  | { type: "starting"; operation: "get" | "update"; generation: number; attempt: number }
  | { type: "stored"; generation: number }
  | { type: "acknowledging"; attempt: number }
  | { type: "acknowledged"; generation: number }
  /** Interrupted while an end call is under way, which still has a little time. */
  | { type: "finishing"; atMostMs: number }
  /** A call is repeated after a failure that allows it. */
  | { type: "retrying"; step: "start" | "end" | SingleOperation; cause: string; waitMs: number }
  /**
   * The circuit breaker is open: a trial is waited for, longer if the vault has unanswered starts itself; or not at all, because it
   * is not due `inTime`.
   */
  | { type: "waiting"; cause: string; waitMs: number; unansweredStarts: number; inTime: boolean };
