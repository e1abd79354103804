import type { ExchangeSummary } from "../errors.ts";
import { VaultError } from "../errors.ts";
import type { SingleOperation } from "../protocol/endpoints.ts";
import type { ServiceBreaker } from "./breaker.ts";
import type { Policy } from "./counting.ts";
import type { Clock, Reply, Service, VaultSession } from "./ports.ts";
import type { ErrorNote, ExchangeRecord, OpenExchange, VaultRecord } from "./records.ts";
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
  /** The circuit breaker is open: a trial is waited for, longer if the vault has unanswered starts itself. */
  | { type: "waiting"; cause: string; waitMs: number; unansweredStarts: number };

/** Everything an exchange needs while it has its vault locked. */
export interface ExchangeContext {
  session: VaultSession;
  service: Service;
  breaker: ServiceBreaker;
  clock: Clock;
  policy: Policy;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, or when a run of many vaults ends early: nothing new begins. */
  signal: AbortSignal;
  /** Aborted by the second signal, which abandons the call under way. */
  killed: AbortSignal;
  /** The time limit for waiting and retrying, on `Clock.elapsed`. */
  deadline: number;
  emit(event: ExchangeEvent): void;
  /** What was settled so far of what earlier runs left, by the id of the exchange: `withVault` collects it from the events. */
  settled: Map<string, Settled>;
  /** Replaces secrets in what the state stores in plain text. */
  redact(text: string): string;
  /** Registers a secret for redaction, as soon as the program learns it. */
  learnSecret(secret: string): void;
}

/**
 * Reads the locked vault again.
 * @throws `internal` if it is not in the state
 */
export async function currentRecord(context: ExchangeContext): Promise<VaultRecord> {
  const record = await context.session.read();
  if (record === null)
    throw new VaultError("internal", `vault ${context.session.uuid} vanished while it was in use`);
  return record;
}

/** @throws `internal` if the exchange is not the open one */
export function openExchange({ open }: VaultRecord, id: string): OpenExchange {
  if (open?.id !== id)
    throw new VaultError("internal", `exchange ${id} is not the open one of this vault`);
  return open;
}

/** A read whose contents nobody may have seen. */
export const isUndelivered = ({
  operation,
  delivered,
}: Pick<ExchangeRecord, "delivered" | "operation">): boolean => operation === "get" && !delivered;

/** Such a read of a limited vault: acknowledging it uses it up. */
export const isUnread = (
  exchange: Pick<ExchangeRecord, "delivered" | "limited" | "operation">,
): boolean => exchange.limited && isUndelivered(exchange);

export function summarize(exchange: ExchangeRecord): ExchangeSummary {
  return {
    id: exchange.id,
    operation: exchange.operation,
    state: exchange.state,
    externalRef: exchange.externalRef,
    startedAt: exchange.startedAt,
    tokenExpiry: exchange.tokenExpiry,
    generation: exchange.newGeneration,
    by: exchange.by,
  };
}

/**
 * When a token expires, in milliseconds since the epoch by the clock of the state: good enough to choose words and to stop waiting, never
 * to settle anything. A token of unknown lifetime is assumed to live for a day.
 */
export function tokenExpiresAt({
  tokenExpiry,
  startedAt,
}: Pick<ExchangeRecord, "tokenExpiry" | "startedAt">): number {
  return tokenExpiry === null ? Date.parse(startedAt) + 86_400_000 : Date.parse(tokenExpiry);
}

export function note(context: ExchangeContext, code: string, message: string): ErrorNote {
  return { code, message: context.redact(message) };
}

/**
 * Returns how long to wait before a call is repeated, after a 429 as after a lost response: as long as the service asks
 * (`Retry-After`, at least 50 ms), else doubling from 200 ms to 10 s; and whether that ends before the deadline, with a chance of another
 * outcome. What waits is start/send, end and single; service/client waits before a call, so that no 429 comes.
 */
export function nextTry(
  { clock, deadline }: { clock: Clock; deadline: number },
  attempt: number,
  reply?: Reply,
): { waitMs: number; inTime: boolean } {
  const retryAfter = reply?.type === "answer" ? reply.answer.retryAfter : undefined;
  const waitMs =
    retryAfter === undefined
      ? Math.min(10_000, 200 * 2 ** Math.min(attempt, 6))
      : Math.max(retryAfter * 1000, 50);
  const lasts = reply?.type === "not-sent" && reply.lasts === true;
  return { waitMs, inTime: !lasts && clock.elapsed() + waitMs < deadline };
}
