import { VaultError } from "../../errors.ts";
import { readStartSuccess, type StartSuccess } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { command, noted } from "../../way.ts";
import { allowsRetry } from "../counting.ts";
import { settleInterrupted, throwIfInterrupted } from "../end.ts";
import type { Seen } from "../breaker.ts";
import { nextAction, type Wish } from "../next-action.ts";
import type { ExchangeContext, Reply } from "../ports.ts";
import { currentRecord, nextTry } from "../context.ts";
import { bareCredentials, type OpenExchange, type VaultRecord } from "../records.ts";
import { acceptedBy, letOut, noteStart, trialDue } from "./breaker-gate.ts";
import type { ChosenStart, Counted, Start } from "./start.ts";
import { checkStart, chosenStart, recordedAs, refusedNow } from "./start.ts";

/** A start that the service has accepted. */
export interface Accepted {
  /** The vault as it was before. */
  before: VaultRecord;
  start: ChosenStart;
  /** Null of a delete. */
  success: StartSuccess | null;
}

/** What one command has done with a vault so far, until a start or a delete is accepted. */
interface SoFar {
  kind: Kind;
  /** What is asked for; with a given pair, this is the generation. */
  wish: Wish;
  /** Generations that the service has refused to this command, and its last refusal. */
  tried: number[];
  refusal?: VaultError;
  /** Those that it would refuse as they would be sent now, by what is on record. */
  refused?: ReadonlySet<number>;
  /** Calls with the present credentials. */
  calls: number;
  /** The outcome of one of them that got no answer: it is repeated once. */
  lost?: Unanswered | undefined;
}

/** With credentials that nothing was sent with. */
const soFarNothing = { calls: 0, lost: undefined };

type Unanswered = Reply & { type: "no-answer" };

/**
 * Decides what comes next with the vault: the exchange to acknowledge first, or the start to send.
 * @throws the error of a refusal, which says what was sent if the service has refused something
 */
async function decide(
  context: ExchangeContext,
  start: Counted,
  vault: VaultRecord,
  soFar: SoFar,
): Promise<OpenExchange | ChosenStart> {
  const { kind, wish, refusal } = soFar;
  soFar.refused = await refusedNow(context, vault, kind, start);
  const action = nextAction(vault, wish, { ...context, ...soFar });
  if (action.do === "end") return action.exchange;
  if (action.do === "start")
    return await chosenStart(context, vault, kind, action.candidates[0], start);
  if (action.do === "done") throw new VaultError("internal", "nothing is to be started");
  const { afterRefusal, refusalError } = await import("../refusals.ts");
  const circumstances = { ...context, refused: soFar.refused };
  throw refusal === undefined
    ? refusalError(vault, action, wish, circumstances)
    : afterRefusal(vault, action, refusal, circumstances);
}

/**
 * Decides and sends, until the service accepts a start, which has then counted.
 * @throws as `runExchange`
 */
export async function untilAccepted(context: ExchangeContext, start: Counted): Promise<Accepted> {
  const soFar: SoFar = { ...(await recordGiven(context, start)), ...soFarNothing, tried: [] };
  for (;;) {
    const before = await currentRecord(context);
    const next = await decide(context, start, before, soFar);
    if ("step" in next) {
      const success = await sendStart(context, before, next, soFar);
      if (success !== undefined) return { before, start: next, success };
    } else {
      await settleInterrupted(context, next);
      // That may have superseded the given pair.
      Object.assign(soFar, await recordGiven(context, start));
    }
  }
}

/**
 * Sends a start (① POST), as the breaker and the rate limit let it out, and records what it counts. Returns what was accepted;
 * undefined if the decision is to be made again: after a refusal of these credentials, or a wait for a repetition.
 * @throws `network`, `rate-limited`, `unauthorized`, `locked`, `service`, `interrupted`; the state then says what it counted
 */
async function sendStart(
  context: ExchangeContext,
  before: VaultRecord,
  start: ChosenStart,
  soFar: SoFar,
): Promise<StartSuccess | null | undefined> {
  const { clock, session, signal } = context;
  const { uuid, operation, kind, exchangeId, generation, sole, combination, isAsStored } = start;
  const { force } = soFar.wish;
  const record = async (seen: Seen): Promise<void> =>
    await session.recordIntent({ ...start, seen: force ? null : seen });
  const { lost } = soFar;
  const sent = lost && before.exchanges.find(({ state }) => state === "intent");
  await throwIfInterrupted(context, sent);
  const letting = letOut(context, before, { kind, force, record });
  const seen = await letting.catch(async (error: unknown) => {
    // The call that was sent is the news, not that it is not repeated.
    if (lost === undefined || !(error instanceof VaultError)) throw error;
    if (error.code === "interrupted") await throwIfInterrupted(context, sent);
    throw error.code === "network"
      ? await unansweredStart(context, before, start, soFar, lost)
      : error;
  });
  if (operation !== "delete")
    context.emit({ type: "starting", operation, generation, attempt: soFar.calls });
  const reply = await context.service.call(start, signal);
  const success =
    operation === "delete"
      ? acceptedBy(reply) && null
      : reply.answer && readStartSuccess({ uuid, kind, operation }, reply.answer);
  if (success !== undefined) {
    await noteStart(context.breaker, seen, reply);
    return success;
  }
  const { meaningOf, refusal } = await import("../dispositions.ts");
  const meaning = meaningOf(reply, start);
  const { is, code, cause } = meaning;
  await noteStart(context.breaker, seen, reply, meaning);
  const error = { code: is === "gone" ? is : code, message: context.redact(cause) };
  await session.noteOutcome(exchangeId, meaning.start, error, combination, isAsStored);
  if (code === "rejected") {
    soFar.tried.push(generation);
    Object.assign(soFar, soFarNothing, { refusal: refusal(meaning, uuid, generation) });
    return undefined;
  }
  const vault = await currentRecord(context);
  const left = reply.type === "no-answer" ? (vault.last ?? undefined) : undefined;
  if (reply.type !== "answer") await throwIfInterrupted(context, left ?? sent);
  // A delete that may have arrived is never repeated.
  const mayRepeat =
    left === undefined
      ? is === "rate" || is === "not-sent"
      : sole && operation !== "delete" && lost === undefined && allowsRetry(vault, context.policy);
  const { waitMs, inTime } = nextTry(context, soFar.calls, reply);
  const unanswered = reply.type === "no-answer" ? reply : is === "not-sent" ? lost : undefined;
  if (!mayRepeat || !inTime)
    throw unanswered === undefined
      ? refusal(meaning, uuid, generation)
      : await unansweredStart(context, vault, start, soFar, unanswered);
  soFar.lost = unanswered ?? lost;
  soFar.calls += 1;
  context.emit({ type: "retrying", step: stepOf(start), cause, waitMs });
  await throwIfInterrupted(context, left ?? sent, clock.sleep(waitMs, signal));
  return undefined;
}

async function unansweredStart(
  context: ExchangeContext,
  vault: VaultRecord,
  start: ChosenStart,
  soFar: SoFar,
  reply: Unanswered,
): Promise<VaultError> {
  const { uuid, operation, sole } = start;
  const { wish } = soFar;
  const counts = `the stored credentials are kept; it counts as an unacknowledged start${sole ? "" : " and a possibly failed attempt"}`;
  // A time is named only if the same command goes through at it.
  const action = nextAction(vault, wish, { ...context, ...soFar });
  const { isStillThere, refusalError } = await import("../refusals.ts");
  const refused = action.do === "refuse" && refusalError(vault, action, wish, context);
  const due = wish.force ? "" : trialDue(context.breaker, vault);
  const { unansweredError } = await import("../dispositions.ts");
  const so = "the vault may have been deleted; its credentials are kept";
  const isDelete = operation === "delete";
  const again = [noted(command`vault status ${uuid}`, "then run it again")];
  const facts = {
    uuid,
    hint: counts + (refused ? "; the lockout guard refuses another start" : due),
    next: isDelete ? [isStillThere(uuid)] : refused ? refused.facts.next : again,
  };
  return unansweredError(context, stepOf(start), reply, facts, isDelete ? so : undefined);
}

const stepOf = ({ operation }: ChosenStart) => (operation === "delete" ? operation : "start");

/**
 * Checks a start, and records the pair that it is given. That is the one to send, unless an open exchange decides between its two.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
async function recordGiven(
  context: ExchangeContext,
  start: Counted,
): Promise<Pick<SoFar, "kind" | "wish">> {
  const { session } = context;
  const vault = await session.read();
  const kind = checkStart(vault, start);
  const { given, hashedPin, device } = start;
  if (given?.type !== "pair") return { kind, wish: start };
  const known = await recordedAs(context, vault, start);
  const credentials = bareCredentials({ ...given.credentials, hashedPin });
  const generation = known ?? (await session.recordPair({ credentials, kind, device }));
  return { kind, wish: vault?.open ? start : { ...start, generation } };
}

/** A decision as --dry-run shows it. */
export interface Preview {
  /** The vault as it was decided on; null if it is not known. */
  record: VaultRecord | null;
  kind: Kind;
  /** What an earlier run left, if it is acknowledged first. */
  acknowledges: OpenExchange | null;
  /** What would be sent; null for a given pair that is not recorded yet, and for a recovery document. */
  chosen: ChosenStart | null;
}

/**
 * Decides as `runExchange` would, and writes and sends nothing: an acknowledgement that comes first is taken as done.
 * @throws what `recordGiven` throws, and refusals
 */
export async function previewStart(context: ExchangeContext, start: Start): Promise<Preview> {
  const record = await context.session.read();
  const { given } = start;
  const kind = checkStart(record, start);
  const nothing = { record, kind, acknowledges: null, chosen: null };
  // Once it is taken over, its exchange is acknowledged, and its new pair is the one to send.
  if (given?.type === "recovery") return nothing;
  const known = await recordedAs(context, record, start);
  if (record === null || (given !== undefined && known === null)) {
    if (record !== null) (await import("../refusals.ts")).throwIfRefused(record, start, context);
    return nothing;
  }
  const wish =
    record.open === null ? { ...start, generation: start.generation ?? known ?? undefined } : start;
  const next = await decide(context, start, record, { kind, wish, ...soFarNothing, tried: [] });
  if ("step" in next) return { ...nothing, chosen: next };
  const offered = record.generations.find((g) => g.generation === next.newGeneration);
  const chosen = offered && (await chosenStart(context, record, kind, offered, start));
  return { ...nothing, acknowledges: next, chosen: chosen ?? null };
}
