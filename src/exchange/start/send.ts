import { VaultError } from "../../errors.ts";
import { readStartSuccess, type StartSuccess } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { command, noted } from "../../way.ts";
import { allowsRetry } from "../counting.ts";
import { settleInterrupted, throwIfInterrupted } from "../end.ts";
import type { Seen } from "../breaker.ts";
import { nextAction, type NextAction } from "../next-action.ts";
import type { ExchangeContext, Reply, StartCall } from "../ports.ts";
import { currentRecord, nextTry } from "../context.ts";
import { bareCredentials, newId, type Generation } from "../records.ts";
import type { OpenExchange, VaultRecord } from "../records.ts";
import { acceptedBy, letOut, noteStart, trialDue } from "./breaker-gate.ts";
import type { ChosenPair, Counted, Start } from "./start.ts";
import { chosenPair, recordedAs, refusedNow, checkStart } from "./start.ts";

/** A call that the service has accepted. */
export interface Accepted {
  /** The vault as it was before. */
  before: VaultRecord;
  pair: ChosenPair;
  exchangeId: string;
  externalRef: string;
  /** Null of a delete. */
  success: StartSuccess | null;
}

/** What one command has done with a vault so far, until a start or a delete is accepted. */
interface SoFar {
  kind: Kind;
  /** As which generation a given pair is recorded; null without one. */
  recordedAs: number | null;
  /** The generation that was chosen for the first call; undefined if all may be tried. */
  only?: number | undefined;
  /** Generations that the service has refused to this command, and its last refusal. */
  tried: number[];
  refusal?: VaultError;
  /** Those that it would refuse as they would be sent now, by what is on record. */
  refused?: ReadonlySet<number>;
  /** Calls with the present credentials. */
  calls: number;
  /** One of them got no answer: it is repeated once. */
  isUnanswered: boolean;
}

/** With credentials that nothing was sent with. */
const soFarNothing = { calls: 0, isUnanswered: false } as const;

/**
 * Decides what comes next with the vault.
 * @throws the error of a refusal, which says what was sent if the service has refused something
 */
async function decide(
  context: ExchangeContext,
  start: Counted,
  vault: VaultRecord,
  soFar: SoFar,
): Promise<Extract<NextAction, { do: "end" | "start" }>> {
  const { tried, refusal } = soFar;
  // An open exchange decides between its two pairs; one that a refusal has put in doubt meanwhile does not.
  const given = vault.open === null ? soFar.recordedAs : null;
  if (soFar.calls === 0 && tried.length === 0) soFar.only = start.generation ?? given ?? undefined;
  const wish = { ...start, generation: soFar.only };
  soFar.refused = await refusedNow(context, vault, soFar.kind, start);
  const action = nextAction(vault, wish, { ...context, ...soFar });
  if (action.do === "end" || action.do === "start") return action;
  if (action.do === "done") throw new VaultError("internal", "nothing is to be started");
  const { afterRefusal, refusalError } = await import("../refusals.ts");
  throw refusal === undefined
    ? refusalError(vault, action, wish, context)
    : afterRefusal(vault, action, refusal, context);
}

/**
 * Decides and sends, until the service accepts a call, which has then counted.
 * @throws as `runExchange`
 */
export async function untilAccepted(context: ExchangeContext, start: Counted): Promise<Accepted> {
  const soFar: SoFar = { ...(await recordGiven(context, start)), ...soFarNothing, tried: [] };
  for (;;) {
    const vault = await currentRecord(context);
    const action = await decide(context, start, vault, soFar);
    if (action.do === "end") {
      await settleInterrupted(context, action.exchange);
      // That may have superseded the given pair.
      Object.assign(soFar, await recordGiven(context, start));
      continue;
    }
    await throwIfInterrupted(context);
    const accepted = await sendStart(context, start, vault, action.candidates[0], soFar);
    if (accepted !== null) return accepted;
  }
}

/**
 * Sends one call (① POST), as the breaker and the rate limit let it out, and records what it counts. Returns what was accepted; null
 * if the decision is to be made again: after a refusal of these credentials, or a wait for a repetition.
 * @throws `network`, `rate-limited`, `unauthorized`, `locked`, `service`, `interrupted`; the state then says what it counted
 */
async function sendStart(
  context: ExchangeContext,
  start: Counted,
  before: VaultRecord,
  chosen: Generation,
  soFar: SoFar,
): Promise<Accepted | null> {
  const { clock, session, signal } = context;
  const { uuid, operation, run, newVault } = start;
  const { kind } = soFar;
  const exchangeId = newId(clock, before.last?.id);
  const externalRef = start.externalRef ?? `vault-${exchangeId}`;
  const pair = await chosenPair(context, before, kind, chosen, start);
  const { generation, credentials, device, sole } = pair;
  const intent = { exchangeId, operation, kind, externalRef, generation, sole, run };
  const { force } = start;
  const record = async (seen: Seen): Promise<void> =>
    await session.recordIntent({ ...intent, seen: force ? null : seen });
  const seen = await letOut(context, before, { kind, force, record });
  if (operation !== "delete")
    context.emit({ type: "starting", operation, generation, attempt: soFar.calls });
  const about = { uuid, kind, operation, externalRef, credentials, device };
  const call: StartCall = { step: "start", ...about, newVault };
  const reply = await context.service.call(call, signal);
  const success =
    operation === "delete"
      ? acceptedBy(reply) && null
      : reply.answer && readStartSuccess({ uuid, kind, operation }, reply.answer);
  if (success !== undefined) {
    await noteStart(context.breaker, seen, reply);
    return { before, exchangeId, externalRef, pair, success };
  }
  const { meaningOf, refusal } = await import("../dispositions.ts");
  const meaning = meaningOf(reply, call);
  const { is, code, cause } = meaning;
  await noteStart(context.breaker, seen, reply, meaning);
  const error = { code: is === "gone" ? is : code, message: context.redact(cause) };
  await session.noteOutcome(exchangeId, meaning.start, error, pair.combination);
  if (code === "rejected") {
    soFar.tried.push(generation);
    Object.assign(soFar, soFarNothing, { refusal: refusal(meaning, uuid, generation) });
    return null;
  }
  const vault = await currentRecord(context);
  const left = reply.type === "no-answer" ? (vault.last ?? undefined) : undefined;
  if (reply.type !== "answer") await throwIfInterrupted(context, left);
  // A delete that may have arrived is never repeated.
  const mayRepeat =
    left === undefined
      ? is === "rate" || is === "not-sent"
      : sole && operation !== "delete" && !soFar.isUnanswered && allowsRetry(vault, context.policy);
  const { waitMs, inTime } = nextTry(context, soFar.calls, reply);
  if (!mayRepeat || !inTime)
    throw reply.type === "no-answer"
      ? await unansweredStart(context, start, vault, soFar, sole, reply)
      : refusal(meaning, uuid, generation);
  soFar.isUnanswered ||= left !== undefined;
  soFar.calls += 1;
  context.emit({ type: "retrying", step: stepOf(start), cause, waitMs });
  await throwIfInterrupted(context, left, clock.sleep(waitMs, signal));
  return null;
}

async function unansweredStart(
  context: ExchangeContext,
  start: Counted,
  vault: VaultRecord,
  soFar: SoFar,
  sole: boolean,
  reply: Reply & { type: "no-answer" },
): Promise<VaultError> {
  const { uuid } = vault;
  const counts = `the stored credentials are kept; it counts as an unacknowledged start${sole ? "" : " and a possibly failed attempt"}`;
  // A time is named only if the same command goes through at it.
  const wish = { ...start, generation: soFar.only };
  const action = nextAction(vault, wish, { ...context, ...soFar });
  const { isStillThere, refusalError } = await import("../refusals.ts");
  const refused = action.do === "refuse" && refusalError(vault, action, wish, context);
  const due = start.force ? "" : trialDue(context.breaker, vault);
  const { unansweredError } = await import("../dispositions.ts");
  const so = "the vault may have been deleted; its credentials are kept";
  const isDelete = start.operation === "delete";
  const again = [noted(command`vault status ${uuid}`, "then run it again")];
  const facts = {
    uuid,
    hint: counts + (refused ? "; the lockout guard refuses another start" : due),
    next: isDelete ? [isStillThere(uuid)] : refused ? refused.facts.next : again,
  };
  return unansweredError(context, stepOf(start), reply, facts, isDelete ? so : undefined);
}

const stepOf = ({ operation }: Counted) => (operation === "delete" ? operation : "start");

/**
 * Checks a start, and records the pair that it is given.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
async function recordGiven(
  context: ExchangeContext,
  start: Counted,
): Promise<Pick<SoFar, "kind" | "recordedAs">> {
  const { session } = context;
  const vault = await session.read();
  const kind = checkStart(vault, start);
  const { given, hashedPin, device } = start;
  if (given?.type !== "pair") return { kind, recordedAs: null };
  const known = await recordedAs(context, vault, start);
  const credentials = bareCredentials({ ...given.credentials, hashedPin });
  return { kind, recordedAs: known ?? (await session.recordPair({ credentials, kind, device })) };
}

/** A decision as --dry-run shows it. */
export interface Preview {
  /** The vault as it was decided on; null if it is not known. */
  record: VaultRecord | null;
  kind: Kind;
  /** What an earlier run left, if it is acknowledged first. */
  acknowledges: OpenExchange | null;
  /** What would be sent; null for a given pair that is not recorded yet, and for a recovery document. */
  pair: ChosenPair | null;
}

/**
 * Decides as `runExchange` would, and writes and sends nothing: an acknowledgement that comes first is taken as done.
 * @throws what `recordGiven` throws, and refusals
 */
export async function previewStart(context: ExchangeContext, start: Start): Promise<Preview> {
  const record = await context.session.read();
  const { given } = start;
  const kind = checkStart(record, start);
  // Once it is taken over, its exchange is acknowledged, and its new pair is the one to send.
  if (given?.type === "recovery") return { record, kind, acknowledges: null, pair: null };
  const known = await recordedAs(context, record, start);
  if (record === null || (given !== undefined && known === null)) {
    if (record !== null) (await import("../refusals.ts")).throwIfRefused(record, start, context);
    return { record, kind, acknowledges: null, pair: null };
  }
  const soFar: SoFar = { kind, recordedAs: known, ...soFarNothing, tried: [] };
  const action = await decide(context, start, record, soFar);
  const acknowledges = action.do === "end" ? action.exchange : null;
  const generation =
    action.do === "end"
      ? record.generations.find((g) => g.generation === action.exchange.newGeneration)
      : action.candidates[0];
  const pair = generation && (await chosenPair(context, record, kind, generation, start));
  return { record, kind, acknowledges, pair: pair ?? null };
}
