import { VaultError } from "../../errors.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, interrupted, note, nextTry } from "../context.ts";
import type { CallOutcome, Refused } from "../dispositions.ts";
import { refusal, serviceDetails, whatCame, wording } from "../dispositions.ts";
import { command } from "../../way.ts";
import { allowsRetry } from "../lockout.ts";
import type { Reply } from "../ports.ts";
import { trialDue } from "./breaker-gate.ts";
import type { ChosenPair } from "./choose-pair.ts";
import { previewStart } from "./decide.ts";
import type { Start } from "./start.ts";

/** A start, or a delete, that was recorded (①) and sent. */
export interface Sent {
  exchangeId: string;
  pair: ChosenPair;
  /** Calls before it. */
  attempt: number;
}

/** A start that may be sent again, after a wait. */
export interface Repeat {
  waitMs: number;
  cause: string;
}

/**
 * Records what a start counts that was not accepted, and decides whether it may be sent again. `wasUnanswered`: an earlier start
 * with this pair was. Returns the wait before the next one, which the breaker must let out.
 * @throws the error of a start that may not be repeated, or not in time
 */
export async function repeatAfter(
  context: ExchangeContext,
  start: Start,
  sent: Sent,
  outcome: Exclude<CallOutcome, { type: "accepted" }>,
  wasUnanswered: boolean,
): Promise<Repeat> {
  switch (outcome.type) {
    case "not-sent":
      return await notSent(context, sent, outcome);
    case "no-answer":
      return await noAnswer(context, start, sent, outcome, wasUnanswered);
    case "refused":
      return await refused(context, sent, outcome, "start");
  }
}

/**
 * Reverts what ① counted. Returns the wait before the next attempt.
 * @throws `network` at the deadline, `interrupted`
 */
export async function notSent(
  context: ExchangeContext,
  { exchangeId, attempt }: Sent,
  reply: Reply & { type: "not-sent" },
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
  start: Start,
  { exchangeId, pair, attempt }: Sent,
  reply: Reply & { type: "no-answer" },
  wasUnanswered: boolean,
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
        hint: "the stored credentials are still valid; it counts as a start, and so does each repetition",
        next: [command`vault status ${session.uuid}`],
      },
    );
  }
  const { waitMs, inTime } = nextTry(context, attempt);
  const mayRetry = pair.sole && !wasUnanswered && allowsRetry(record, policy);
  if (mayRetry && inTime) return { waitMs, cause: reply.cause };
  const counts = `the stored credentials are kept; it counts as an unacknowledged start${pair.sole ? "" : " and a possibly failed attempt"}`;
  // A time is named only where the same command goes through at it.
  const { refusal: refused } = await previewStart(context, start).catch(() => ({ refusal: null }));
  const due =
    refused !== null
      ? "; the lockout guard refuses another start"
      : start.force
        ? ""
        : `; ${trialDue(context.breaker, record)}`;
  throw new VaultError("network", `the start was sent, but ${whatCame(reply)}`, {
    uuid: session.uuid,
    retry: "after-status",
    service: reply.answer && serviceDetails(reply.answer),
    hint: counts + due,
    next:
      refused === null
        ? [{ ...command`vault status ${session.uuid}`, note: "then run it again" }]
        : refused.facts.next,
  });
}

/**
 * Settles what ① counted by a whole answer that is not an accepted SUCCESS. Returns the wait after a 429.
 * @throws the error of every other answer, and of a 429 whose wait would pass the deadline
 */
export async function refused(
  context: ExchangeContext,
  { exchangeId, pair, attempt }: Sent,
  outcome: Refused,
  counted: "start" | "delete",
): Promise<Repeat> {
  const { answer, is, code, start } = outcome;
  const { session } = context;
  const { uuid } = session;
  const said = wording(answer);
  if (isSuccess(answer)) {
    await session.noteUnanswered(
      exchangeId,
      note(context, "service", "SUCCESS without usable credentials"),
    );
    throw new VaultError(
      "service",
      "the service responded SUCCESS without credentials, a token and the UUID of this vault; nothing was stored",
      {
        uuid,
        service: serviceDetails(answer),
        hint: "the stored credentials are still valid, and it counts as a start",
        next: [command`vault status ${uuid}`],
      },
    );
  }
  const noted = note(context, is === "gone" ? is : code, said);
  if (start === "not-counted") await session.revertIntent(exchangeId, noted);
  else if (start === "unknown") await session.noteUnanswered(exchangeId, noted);
  else
    await session.reject(exchangeId, start === "failed-attempt" ? pair.combination : null, noted);
  if (is !== "rate") throw refusal(outcome, { uuid, counted, generation: pair.generation });
  const { waitMs, inTime } = nextTry(context, attempt, { type: "answer", answer });
  if (inTime) return { waitMs, cause: "rate limited" };
  throw refusal(outcome, { uuid, counted, waitMs });
}
