import { VaultError } from "../../errors.ts";
import type { StartSuccess } from "../../protocol/answers.ts";
import { readStartSuccess } from "../../protocol/answers.ts";
import type { Endpoint } from "../../protocol/endpoints.ts";
import { defined } from "../../defined.ts";
import { carried } from "../breaker.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, interrupted, note, pause } from "../context.ts";
import type { Handover } from "../delivery.ts";
import { guardLastStart, guardStart } from "../guard.ts";
import { allowsRetry } from "../lockout.ts";
import { circumstances } from "../ways.ts";
import { refusesCredentials } from "../dispositions.ts";
import { nextTry } from "../next-try.ts";
import type { Reply, StartCall } from "../ports.ts";
import type { VaultRecord } from "../records.ts";
import { serviceDetails } from "../service-errors.ts";
import { letOut, noteStart, trialDue, withdraw } from "./breaker-gate.ts";
import type { ChosenPair } from "./choose-pair.ts";
import type { Allowed } from "./decide.ts";
import { waitsForEnd } from "./decide.ts";
import type { Repeat } from "./refused.ts";
import { refusedBy } from "./refused.ts";
import type { Start } from "./start.ts";

/** A pair that is to be sent, to a vault as it was before. */
interface Sending extends Pick<Allowed, "endpoint" | "kind" | "record"> {
  pair: ChosenPair;
}

/** A start that the service has accepted. */
export interface Accepted extends Pick<Sending, "pair" | "record"> {
  exchangeId: string;
  success: StartSuccess;
}

/**
 * Sends a start that was allowed, with the retries that DESIGN allows. Each is recorded as a start of its own (①), and each retry is
 * guarded again.
 * @throws `guard`, `network`, `rate-limited`, `unauthorized`, `rejected`, `locked`, `service`, `interrupted`; the journal then
 * says what the attempt counted
 */
export async function sendStart(
  context: ExchangeContext,
  start: Start,
  handover: Handover,
  { record: before, kind, endpoint, pair }: Sending,
): Promise<Accepted> {
  let unanswered = 0;
  for (let attempt = 0; ; attempt += 1) {
    const record = attempt === 0 ? before : await guardedAgain(context, start);
    const exchangeId = context.ids.next(record.last?.id);
    const call: StartCall = {
      step: "start",
      uuid: context.session.uuid,
      kind,
      operation: start.operation,
      externalRef: start.externalRef ?? `vault-${exchangeId}`,
      credentials: pair.credentials,
      device: pair.device,
      newVault: start.newVault,
    };
    const { operation, externalRef } = call;
    const { generation, sole } = pair;
    const intent = { exchangeId, operation, kind, externalRef, generation, sole, run: start.run };
    const seen = await letOut(
      context,
      record,
      { force: start.force, endpoint },
      async (seen) => await context.session.recordIntent({ ...intent, seen }),
    );
    try {
      await recordAttempts(context, handover, pair, true);
    } catch (error) {
      const told = note(context, "state", (error as Error).message);
      await context.session.revertIntent(exchangeId, told);
      await withdraw(context.breaker, seen);
      throw error;
    }
    context.emit({ type: "starting", operation, generation, attempt });
    const reply = await context.service.call(call, context.signal);
    const answer = reply.type === "not-sent" ? undefined : reply.answer;
    const success = answer && readStartSuccess(endpoint, context.session.uuid, answer);
    await noteStart(context.breaker, seen, reply, endpoint, success !== undefined);
    if (success !== undefined) return { exchangeId, success, pair, record };
    const refusable = { ...pair, endpoint };
    const result = await judgeFailure(context, refusable, exchangeId, reply, attempt, unanswered);
    if (reply.type === "no-answer") unanswered += 1;
    context.emit({ type: "retrying", step: "start", cause: result.cause, waitMs: result.waitMs });
    const left = reply.type === "no-answer" ? (await currentRecord(context)).last : null;
    await pause(context, result.waitMs, left ?? undefined);
  }
}

/** The vault before a retry. */
async function guardedAgain(context: ExchangeContext, start: Start): Promise<VaultRecord> {
  const record = await currentRecord(context);
  if (start.force) return record;
  guardStart(record, circumstances(context));
  if (waitsForEnd(start)) guardLastStart(record, context.policy);
  return record;
}

/** Counters travel only with a document that leaves this state; no other start needs to read them. */
export async function recordAttempts(
  context: ExchangeContext,
  handover: Handover,
  { sole }: Pick<ChosenPair, "sole">,
  isSending: boolean,
): Promise<void> {
  if (!handover.leavesState) return;
  const { unackedStarts, unansweredStarts, quietStarts, failedAttempts, possiblyFailed } =
    await currentRecord(context);
  const breaker = carried(context.breaker.known, isSending ? context.breaker.now() : null);
  await handover.recordAttempts({
    unackedStarts,
    unansweredStarts,
    quietStarts,
    failedAttempts,
    possiblyFailed,
    refused: await context.session.refusals(),
    sole,
    ...defined({ breaker }),
  });
}

/** Returns the wait before the next attempt; everything else is thrown. */
async function judgeFailure(
  context: ExchangeContext,
  planned: ChosenPair & { endpoint: Endpoint },
  exchangeId: string,
  reply: Reply,
  attempt: number,
  unanswered: number,
): Promise<Repeat> {
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
  const { waitMs, inTime } = nextTry(context, attempt, reply);
  if (inTime) return { waitMs, cause: reply.cause };
  throw new VaultError("network", `no connection to the service: ${reply.cause}`, {
    uuid: context.session.uuid,
    hint: reply.hint ?? "nothing was sent; run it again when the service is available",
  });
}

async function noAnswer(
  context: ExchangeContext,
  planned: ChosenPair & { endpoint: Endpoint },
  exchangeId: string,
  reply: Reply & { type: "no-answer" },
  attempt: number,
  unanswered: number,
): Promise<Repeat> {
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
