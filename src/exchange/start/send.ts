import { VaultError } from "../../errors.ts";
import type { StartSuccess } from "../../protocol/answers.ts";
import { readStartSuccess } from "../../protocol/answers.ts";
import type { Endpoint } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import type { Seen } from "../breaker.ts";
import { circumstances, currentRecord, interrupted, note, pause } from "../context.ts";
import { guardLastStart, guardStart } from "../guard.ts";
import { allowsRetry } from "../lockout.ts";
import { refusesCredentials } from "../dispositions.ts";
import { nextTry } from "../next-try.ts";
import type { Reply, StartCall } from "../ports.ts";
import type { Intent, RunPart, VaultRecord } from "../records.ts";
import { serviceDetails } from "../service-errors.ts";
import { letOut, noteStart, trialDue, withdraw } from "./breaker-gate.ts";
import type { Repeat } from "./refused.ts";
import { refusedBy } from "./refused.ts";

/** A start that is to be sent. */
interface PlannedStart {
  endpoint: Endpoint;
  /** Makes the call from the id of the exchange that ① records for it. */
  call(exchangeId: string): StartCall;
  generation: number;
  combination: string;
  /** Nobody else can have made the credentials stale: a start that gets no answer may be repeated once. */
  sole: boolean;
  /** Its acknowledgement waits for something else: it must not be the last start that is allowed. */
  waitsForEnd: boolean;
  /** Called between ① and the call. If it rejects, nothing is sent. */
  recordAttempts(): Promise<void>;
  /** Sends it whatever the guard says. */
  force: boolean;
  run: RunPart | undefined;
}

export interface SentStart {
  exchangeId: string;
  success: StartSuccess;
}

/** Outcome of one attempt: success, or a wait before the next one. Everything else is thrown. */
type Attempt = { success: StartSuccess } | Repeat;

/**
 * Sends a start, with the retries that DESIGN allows. Each is guarded and recorded as a start of its own (①). `first` is the
 * vault as it is before the first one.
 * @throws `guard`, `network`, `rate-limited`, `unauthorized`, `rejected`, `locked`, `service`, `interrupted`; the journal then
 * says what the attempt counted
 */
export async function sendStart(
  context: ExchangeContext,
  first: VaultRecord,
  planned: PlannedStart,
): Promise<SentStart> {
  let unanswered = 0;
  for (let attempt = 0; ; attempt += 1) {
    const record = attempt === 0 ? first : await currentRecord(context);
    if (!planned.force) {
      guardStart(record, circumstances(context));
      if (planned.waitsForEnd) guardLastStart(record, context.policy);
    }
    const exchangeId = context.ids.next(record.last?.id);
    const call = planned.call(exchangeId);
    const seen = await letOut(
      context,
      record,
      planned,
      async (seen) => await context.session.recordIntent(intentOf(exchangeId, call, seen, planned)),
    );
    await recordAttemptsOrRevert(context, exchangeId, planned, seen);
    context.emit({
      type: "starting",
      operation: call.operation,
      generation: planned.generation,
      attempt,
    });
    const reply = await context.service.call(call, context.signal);
    await noteStart(context.breaker, seen, reply, planned.endpoint);
    const result = await judgeReply(context, planned, exchangeId, reply, attempt, unanswered);
    if ("success" in result) return { exchangeId, success: result.success };
    if (reply.type === "no-answer") unanswered += 1;
    context.emit({ type: "retrying", step: "start", cause: result.cause, waitMs: result.waitMs });
    const left = reply.type === "no-answer" ? (await currentRecord(context)).last : null;
    await pause(context, result.waitMs, left ?? undefined);
  }
}

async function recordAttemptsOrRevert(
  context: ExchangeContext,
  exchangeId: string,
  planned: PlannedStart,
  seen: Seen | null,
): Promise<void> {
  try {
    await planned.recordAttempts();
  } catch (error) {
    await context.session.revertIntent(
      exchangeId,
      note(context, "state", (error as Error).message),
    );
    await withdraw(context.breaker, seen);
    throw error;
  }
}

const intentOf = (
  exchangeId: string,
  call: StartCall,
  seen: Seen | null,
  { generation, sole, run }: PlannedStart,
): Intent => ({
  exchangeId,
  operation: call.operation,
  kind: call.kind,
  externalRef: call.externalRef,
  generation,
  sole,
  seen,
  run,
});

async function judgeReply(
  context: ExchangeContext,
  planned: PlannedStart,
  exchangeId: string,
  reply: Reply,
  attempt: number,
  unanswered: number,
): Promise<Attempt> {
  const answer = reply.type === "not-sent" ? undefined : reply.answer;
  const success = answer && readStartSuccess(planned.endpoint, context.session.uuid, answer);
  if (success !== undefined) return { success };
  if (reply.type === "not-sent") return await notSent(context, exchangeId, reply, attempt);
  if (reply.type === "no-answer" && !refusesCredentials(reply, planned.endpoint)) {
    return await noAnswer(context, planned, exchangeId, reply, attempt, unanswered);
  }
  return await refusedBy(context, exchangeId, planned, reply.answer, attempt);
}

/**
 * Reverts what ① counted. Returns the wait before the next attempt.
 * @throws `network` at the deadline, `interrupted`
 */
export async function notSent(
  context: ExchangeContext,
  exchangeId: string,
  reply: Reply & { type: "not-sent" },
  attempt: number,
): Promise<Repeat> {
  await context.session.revertIntent(exchangeId, note(context, "network", reply.cause));
  if (context.signal.aborted) throw interrupted(context);
  const { waitMs, inTime } = nextTry(context, attempt);
  if (inTime) return { waitMs, cause: reply.cause };
  throw new VaultError("network", `no connection to the service: ${reply.cause}`, {
    uuid: context.session.uuid,
    hint: reply.hint ?? "nothing was sent; run it again when the service is available",
  });
}

async function noAnswer(
  context: ExchangeContext,
  planned: PlannedStart,
  exchangeId: string,
  reply: Reply & { type: "no-answer" },
  attempt: number,
  unanswered: number,
): Promise<Attempt> {
  const { session, policy } = context;
  await session.noteUnanswered(
    exchangeId,
    note(context, reply.tooLarge ? "service" : "network", reply.cause),
  );
  const record = await currentRecord(context);
  if (context.signal.aborted) throw interrupted(context, record.last ?? undefined);
  if (reply.tooLarge) {
    throw new VaultError(
      "service",
      `the start was sent, but its response is too large: ${reply.cause}`,
      {
        uuid: session.uuid,
        hint: `the stored credentials are still valid; it counts as a start, and so does each repetition; vault status ${session.uuid}`,
      },
    );
  }
  const { waitMs, inTime } = nextTry(context, attempt);
  const mayRetry = planned.sole && unanswered === 0 && allowsRetry(record, policy);
  if (mayRetry && inTime) return { waitMs, cause: reply.cause };
  throw new VaultError(
    "network",
    `the start was sent, but no complete response came back: ${reply.cause}`,
    {
      uuid: session.uuid,
      retry: "after-status",
      service: reply.answer && serviceDetails(reply.answer),
      hint: `the stored credentials are kept; it counts as an unacknowledged start${planned.sole ? "" : " and a possibly failed attempt"}; ${trialDue(context.breaker, record)}; vault status ${session.uuid} (then run it again)`,
    },
  );
}
