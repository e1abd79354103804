import { VaultError } from "../../errors.ts";
import { isSuccess, object } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { command } from "../../way.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, interrupted, nextTry, note, pause } from "../context.ts";
import type { Refused } from "../dispositions.ts";
import { outcomeOf, refusal, serviceDetails, whatCame, wording } from "../dispositions.ts";
import { allowsRetry } from "../lockout.ts";
import type { Seen } from "../breaker.ts";
import type { SoFar } from "../next-action.ts";
import type { DeleteCall, Reply, StartCall } from "../ports.ts";
import type { Generation, VaultRecord } from "../records.ts";
import { refusalError } from "../refusals.ts";
import { letOut, noteStart, trialDue } from "./breaker-gate.ts";
import type { ChosenPair } from "./credentials.ts";
import { chosenPair } from "./credentials.ts";
import type { Decision } from "./decide.ts";
import type { Counted } from "./start.ts";

/** What a command has sent so far. */
export interface Tries extends SoFar {
  tried: number[];
  /** The generation that was chosen for the first call; null if all may be tried. */
  only?: number | null;
  /** Calls so far. */
  calls: number;
  /** A call with the present credentials got no answer: it is repeated once. */
  isUnanswered: boolean;
  /** The last refusal of credentials. */
  refusal?: VaultError;
}

export const noTries = (): Tries => ({ tried: [], calls: 0, isUnanswered: false });

/** The error of a command that has sent something before, if this one says that nothing was sent. */
function afterSending(error: unknown, uuid: string, tries: Tries): unknown {
  const saysNothingSent = ["guard", "invalid-input", "usage"];
  if (!(error instanceof VaultError) || !saysNothingSent.includes(error.code)) return error;
  const { refusal, isUnanswered } = tries;
  const why = `then ${error.message}`;
  if (refusal !== undefined)
    return new VaultError(refusal.code, `${refusal.message}; ${why}`, refusal.facts);
  if (!isUnanswered) return error;
  return new VaultError(
    "network",
    `the start was sent, but no complete response came back; ${why}`,
    {
      uuid,
      retry: "after-status",
      hint: error.facts.hint,
      next: [{ ...command`vault status ${uuid}`, note: "then run it again" }],
    },
  );
}

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
  { start, decision, tries }: Omit<Sent, "exchangeId" | "pair">,
  read: Read<Success>,
): Promise<Accepted<Success> | null> {
  const { kind, wish } = decision;
  const { operation, run } = start;
  const { generation } = chosen;
  const exchangeId = context.ids.next(before.last?.id);
  const externalRef = start.externalRef ?? `vault-${exchangeId}`;
  const goesOut = async (): Promise<{ pair: ChosenPair; seen: Seen }> => {
    const pair = await chosenPair(context, before, kind, chosen, start);
    const { sole } = pair;
    const intent = { exchangeId, operation, kind, externalRef, generation, sole, run };
    return { pair, seen: await letOut(context, before, intent, wish.force) };
  };
  const { pair, seen } = await goesOut().catch((error: unknown) => {
    throw afterSending(error, before.uuid, tries);
  });
  if (operation !== "delete")
    context.emit({ type: "starting", operation, generation, attempt: tries.calls });
  const call = callOf(start, kind, pair, externalRef);
  const reply = await context.service.call(call, context.signal);
  const outcome = outcomeOf(reply, call, read(call, reply));
  await noteStart(context.breaker, seen, reply, outcome);
  if (outcome.type === "accepted")
    return { before, kind, exchangeId, externalRef, pair, success: outcome.success };
  const sent = { exchangeId, pair, start, decision, tries };
  const again =
    outcome.type === "not-sent"
      ? await notSent(context, sent, outcome)
      : outcome.type === "refused"
        ? await refused(context, sent, outcome, before)
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
  start: Counted;
  decision: Decision;
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
  throw new VaultError("network", `no connection to the service: ${reply.cause}`, {
    uuid: context.session.uuid,
    hint: reply.hint ?? "nothing was sent; run it again when the service is available",
  });
}

async function unanswered(
  context: ExchangeContext,
  { exchangeId, pair, start, decision: { wish, next: decide }, tries }: Sent,
  reply: Reply & { type: "no-answer" },
): Promise<Again> {
  const { uuid } = context.session;
  const code = reply.tooLarge ? "service" : "network";
  await context.session.noteUnanswered(exchangeId, note(context, code, reply.cause));
  const vault = await currentRecord(context);
  const { aborted } = context.signal;
  const service = reply.answer && serviceDetails(reply.answer);
  // A delete that may have arrived is never repeated.
  if (start.operation === "delete") {
    const what = aborted
      ? "interrupted while the delete was in progress"
      : `the delete was sent, but ${whatCame(reply)}`;
    const info = {
      ...command`vault info ${uuid}`,
      note: "is the vault still there? then run it again",
    };
    throw new VaultError(
      aborted ? "interrupted" : code,
      `${what}; the vault may have been deleted; its credentials are kept`,
      { uuid, retry: "after-status", service, next: [info] },
    );
  }
  if (aborted) throw interrupted(context, vault.last ?? undefined);
  if (reply.tooLarge) {
    throw new VaultError(
      "service",
      `the start was sent, but its response is too large: ${reply.cause}`,
      {
        uuid,
        hint: "the stored credentials are still valid; it counts as a start, and so does each repetition",
        next: [command`vault status ${uuid}`],
      },
    );
  }
  const { waitMs, inTime } = nextTry(context, tries.calls);
  if (pair.sole && !tries.isUnanswered && allowsRetry(vault, context.policy) && inTime) {
    tries.isUnanswered = true;
    return { waitMs, cause: reply.cause };
  }
  const counts = `the stored credentials are kept; it counts as an unacknowledged start${pair.sole ? "" : " and a possibly failed attempt"}`;
  // A time is named only if the same command goes through at it.
  const next = decide(vault);
  const due =
    next.do === "refuse"
      ? "; the lockout guard refuses another start"
      : wish.force
        ? ""
        : `; ${trialDue(context.breaker, vault)}`;
  throw new VaultError("network", `the start was sent, but ${whatCame(reply)}`, {
    uuid,
    retry: "after-status",
    service,
    hint: counts + due,
    next:
      next.do === "refuse"
        ? refusalError(vault, next, wish, context).facts.next
        : [{ ...command`vault status ${uuid}`, note: "then run it again" }],
  });
}

/** Settles what ① counted by a whole answer that is not an accepted SUCCESS. */
async function refused(
  context: ExchangeContext,
  { exchangeId, pair, start: asked, tries }: Sent,
  outcome: Refused,
  before: VaultRecord,
): Promise<Again | null> {
  const { answer, is, code, start } = outcome;
  const { session } = context;
  const { uuid } = session;
  const said = wording(answer);
  if (isSuccess(answer)) {
    const named = object(answer.body["vault"])?.["uuid"];
    const isOthers = typeof named === "string" && named.toLowerCase() !== uuid.toLowerCase();
    await session.noteUnanswered(
      exchangeId,
      note(context, "service", "SUCCESS without usable credentials"),
      !isOthers,
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
  const isDelete = asked.operation === "delete";
  if (isDelete && is === "missing" && isUnansweredDelete(before)) throw maybeDeleted(uuid, outcome);
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

const isUnansweredDelete = ({ last }: VaultRecord): boolean =>
  last?.operation === "delete" && last.state === "intent";

/** An earlier, unanswered delete may have taken effect. Its endpoint is an extended one: only a read says for certain whether the vault is there. */
const maybeDeleted = (uuid: string, { what, answer }: Refused): VaultError =>
  new VaultError(
    "service",
    `${what} (${wording(answer)}); an earlier delete without a response may have taken effect`,
    {
      uuid,
      service: serviceDetails(answer),
      next: [{ ...command`vault get ${uuid}`, note: "reads the vault if it is still there" }],
    },
  );
