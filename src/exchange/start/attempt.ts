import { VaultError } from "../../errors.ts";
import { isSuccess, object } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { command, noted } from "../../way.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, interrupted, nextTry, note, pause } from "../context.ts";
import type { Refused } from "../dispositions.ts";
import {
  notSentError,
  outcomeOf,
  refusal,
  serviceDetails,
  unansweredError,
  wording,
} from "../dispositions.ts";
import { allowsRetry } from "../counting.ts";
import type { DeleteCall, Reply, StartCall } from "../ports.ts";
import type { Generation, VaultRecord } from "../records.ts";
import { refusalError } from "../refusals.ts";
import { newId } from "../ulid.ts";
import { letOut, noteStart, trialDue } from "./breaker-gate.ts";
import type { ChosenPair } from "./credentials.ts";
import { chosenPair } from "./credentials.ts";
import type { Decision, Tries } from "./decide.ts";
import type { Counted } from "./start.ts";

/** A call that the service has accepted. */
export interface Accepted<Success> {
  /** The vault as it was before. */
  before: VaultRecord;
  kind: Kind;
  pair: ChosenPair;
  exchangeId: string;
  externalRef: string;
  success: Success;
}

/** Reads a reply that accepts a call; undefined for any other. */
export type Read<Success> = (call: DeleteCall | StartCall, reply: Reply) => Success | undefined;

/** The call with these credentials. */
function callOf(
  { uuid, operation, newVault }: Counted,
  kind: Kind,
  { credentials, device }: ChosenPair,
  externalRef: string,
): DeleteCall | StartCall {
  const call = { uuid, kind, externalRef, credentials, device };
  return operation === "delete"
    ? { step: "delete", ...call }
    : { step: "start", ...call, operation, newVault };
}

/**
 * Sends one call (① POST), as the breaker and the rate limit let it out, and records what it counts. Returns what was accepted; null
 * if the decision is to be made again: after a refusal of these credentials, or a wait for a repetition.
 * @throws `network`, `rate-limited`, `unauthorized`, `locked`, `service`, `interrupted`; the state then says what it counted
 */
export async function attempt<Success>(
  context: ExchangeContext,
  before: VaultRecord,
  chosen: Generation,
  { kind, start, decision: { wish, next }, tries }: Omit<Sent, "exchangeId" | "pair">,
  read: Read<Success>,
): Promise<Accepted<Success> | null> {
  const { operation, run } = start;
  const { generation } = chosen;
  const exchangeId = newId(context.clock, before.last?.id);
  const externalRef = start.externalRef ?? `vault-${exchangeId}`;
  const pair = await chosenPair(context, before, kind, chosen, start);
  const intent = { exchangeId, operation, kind, externalRef, generation, sole: pair.sole, run };
  const seen = await letOut(context, before, intent, wish.force);
  if (operation !== "delete")
    context.emit({ type: "starting", operation, generation, attempt: tries.calls });
  const call = callOf(start, kind, pair, externalRef);
  const reply = await context.service.call(call, context.signal);
  const outcome = outcomeOf(reply, call, read(call, reply));
  await noteStart(context.breaker, seen, reply, outcome);
  if (outcome.type === "accepted")
    return { before, kind, exchangeId, externalRef, pair, success: outcome.success };
  const sent = { exchangeId, pair, kind, start, decision: { wish, next }, tries };
  const again =
    outcome.type === "not-sent"
      ? await notSent(context, sent, outcome)
      : outcome.type === "refused"
        ? await refused(context, sent, outcome)
        : await unanswered(context, sent, outcome);
  if (again === null) return null;
  tries.calls += 1;
  context.emit({ type: "retrying", step: call.step, ...again });
  const left = reply.type === "no-answer" ? (await currentRecord(context)).last : null;
  await pause(context, again.waitMs, left ?? undefined);
  return null;
}

interface Sent {
  exchangeId: string;
  pair: ChosenPair;
  kind: Kind;
  start: Counted;
  decision: Pick<Decision, "next" | "wish">;
  tries: Tries;
}

/** A wait before the call is repeated. What records the end of a call returns it, or throws where that is not done. */
interface Again {
  waitMs: number;
  cause: string;
}

async function notSent(
  context: ExchangeContext,
  { exchangeId, tries }: Sent,
  reply: Reply & { type: "not-sent" },
): Promise<Again> {
  await context.session.revertIntent(exchangeId, note(context, "network", reply.cause));
  if (context.signal.aborted) throw interrupted(context);
  const { waitMs, inTime } = nextTry(context, tries.calls, reply);
  if (inTime) return { waitMs, cause: reply.cause };
  throw notSentError(reply, context.session.uuid);
}

async function unanswered(
  context: ExchangeContext,
  { exchangeId, pair, start, decision: { wish, next: decide }, tries }: Sent,
  reply: Reply & { type: "no-answer" },
): Promise<Again> {
  const { uuid } = context.session;
  await context.session.noteUnanswered(exchangeId, note(context, "network", reply.cause));
  const vault = await currentRecord(context);
  // A delete that may have arrived is never repeated.
  if (start.operation === "delete") {
    const kept = "the vault may have been deleted; its credentials are kept";
    const info = noted(command`vault info ${uuid}`, "is the vault still there? then run it again");
    throw unansweredError(context, "delete", reply, kept, { uuid, next: [info] });
  }
  if (context.signal.aborted) throw interrupted(context, vault.last ?? undefined);
  const { waitMs, inTime } = nextTry(context, tries.calls);
  if (pair.sole && !tries.isUnanswered && allowsRetry(vault, context.policy) && inTime) {
    tries.isUnanswered = true;
    return { waitMs, cause: reply.cause };
  }
  const counts = `the stored credentials are kept; it counts as an unacknowledged start${pair.sole ? "" : " and a possibly failed attempt"}`;
  // A time is named only if the same command goes through at it.
  const next = decide(vault);
  const isGuarded = next.do === "refuse";
  const due = wish.force ? "" : `; ${trialDue(context.breaker, vault)}`;
  throw unansweredError(context, "start", reply, null, {
    uuid,
    hint: counts + (isGuarded ? "; the lockout guard refuses another start" : due),
    next: isGuarded
      ? refusalError(vault, next, wish, context).facts.next
      : [noted(command`vault status ${uuid}`, "then run it again")],
  });
}

/** Settles what ① counted by a whole answer that is not an accepted SUCCESS. */
async function refused(
  context: ExchangeContext,
  { exchangeId, pair, start: asked, tries }: Sent,
  outcome: Refused,
): Promise<Again | null> {
  const { answer, is, code, start } = outcome;
  const { session } = context;
  const { uuid } = session;
  const said = wording(answer);
  if (isSuccess(answer)) {
    const named = object(answer.body["vault"])?.["uuid"];
    const isOthers = typeof named === "string" && named.toLowerCase() !== uuid.toLowerCase();
    const lacks = note(context, "service", "SUCCESS without usable credentials");
    await session.noteUnanswered(exchangeId, lacks, !isOthers);
    const message =
      "the service responded SUCCESS without credentials, a token and the UUID of this vault; nothing was stored";
    throw new VaultError("service", message, {
      uuid,
      service: serviceDetails(answer),
      hint: "the stored credentials are still valid, and it counts as a start",
      next: [command`vault status ${uuid}`],
    });
  }
  const noted = note(context, is === "gone" ? is : code, said);
  if (start === "not-counted") await session.revertIntent(exchangeId, noted);
  else if (start === "unknown") await session.noteUnanswered(exchangeId, noted);
  else
    await session.reject(exchangeId, start === "failed-attempt" ? pair.combination : null, noted);
  const isDelete = asked.operation === "delete";
  const about = { uuid, counted: isDelete ? "delete" : "start", generation: pair.generation };
  if (code === "rejected") {
    tries.tried.push(pair.generation);
    Object.assign(tries, { calls: 0, isUnanswered: false });
    tries.refusal = refusal(outcome, about);
    return null;
  }
  if (is !== "rate") throw refusal(outcome, about);
  const { waitMs, inTime } = nextTry(context, tries.calls, { type: "answer", answer });
  if (inTime) return { waitMs, cause: "rate limited" };
  throw refusal(outcome, { ...about, waitMs });
}
