import { VaultError } from "../../errors.ts";
import type { StartSuccess } from "../../protocol/answers.ts";
import { readStartSuccess } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord, pause } from "../context.ts";
import { outcomeOf } from "../dispositions.ts";
import { explainRefusal, guardLastStart, guardStart, personChooses } from "../guard.ts";
import { isLockedBy, startRisk } from "../lockout.ts";
import type { StartCall } from "../ports.ts";
import type { VaultRecord } from "../records.ts";
import { importOf, unlockedOf, waysOn } from "../ways.ts";
import { letOut, noteStart } from "./breaker-gate.ts";
import type { ChosenPair } from "./choose-pair.ts";
import { choosePairs } from "./choose-pair.ts";
import type { Decision } from "./decide.ts";
import { repeatAfter } from "./repeat.ts";
import type { Start } from "./start.ts";
import { waitsForEnd } from "./start.ts";

/** A start that the service has accepted; `record` is the vault as it was before. */
export interface Accepted {
  record: VaultRecord;
  pair: ChosenPair;
  exchangeId: string;
  success: StartSuccess;
}

/** Number of pairs that one command tries at most: a refusal of the first makes the second likely to be valid. */
const triesAtMost = 2;

/**
 * Starts with the pairs in order, which are chosen anew after each refusal.
 * @throws what `sendStart` throws; `rejected` after a refusal, also where nothing is left to try, or a person must choose among several
 * candidates because one failed attempt is left before the last
 */
export async function startWith(
  context: ExchangeContext,
  start: Start,
  decision: Decision,
): Promise<Accepted> {
  const { kind, generation } = decision;
  let { record, pairs } = decision;
  let refusal: VaultError | undefined;
  const tried = new Set<number>();
  for (let tries = 1; ; tries += 1) {
    const [pair] = pairs;
    if (record === null || pair === undefined)
      throw new VaultError("internal", "no credentials were chosen");
    try {
      const accepted = await sendStart(context, start, { record, kind, pair });
      // For an exchange in doubt, its reported outcome says so.
      if (refusal !== undefined && record.open?.state !== "in-doubt") {
        context.emit({
          type: "warning",
          message: `${refusal.message}; generation ${pair.generation} was accepted`,
        });
      }
      return accepted;
    } catch (error) {
      if (!(error instanceof VaultError) || error.code !== "rejected") throw error;
      refusal = error;
    }
    record = await currentRecord(context);
    const isLocked = isLockedBy(record, context.policy);
    if (generation !== undefined) {
      if (isLocked) throw allRefused(context, record, refusal);
      const ways = waysOn(record, context);
      const next = ways.length > 0 ? ways : refusal.facts.next;
      throw new VaultError(refusal.code, refusal.message, { ...refusal.facts, next });
    }
    tried.add(pair.generation);
    try {
      pairs = await choosePairs(context, record, kind, start);
    } catch {
      throw allRefused(context, record, refusal);
    }
    pairs = pairs.filter((left) => !tried.has(left.generation));
    // Nothing more is sent to a vault that the last refusal has locked, by our count.
    if (pairs.length === 0 || isLocked) throw allRefused(context, record, refusal);
    // The guard's own refusal would not say that something was sent.
    if (tries >= triesAtMost || (!start.force && !startRisk(record, context.policy).allows))
      throw personChooses(record, pairs, context, refusal);
  }
}

/** The last refusal, when nothing is left to try. */
function allRefused(
  context: ExchangeContext,
  record: VaultRecord,
  refusal: VaultError,
): VaultError {
  const { uuid } = record;
  const why = [explainRefusal(record), refusal.message].filter((part) => part !== null).join(": ");
  const isLocked = isLockedBy(record, context.policy);
  return new VaultError(
    refusal.code,
    isLocked ? `${why}; by the counters, the vault is locked now` : why,
    {
      ...refusal.facts,
      next: [...(isLocked ? [unlockedOf(uuid)] : []), importOf(uuid)],
    },
  );
}

/**
 * Sends a start that was allowed, and repeats it as `repeat.ts` allows. Each is recorded as a start of its own (①), and each retry is
 * guarded again.
 * @throws `guard`, `network`, `rate-limited`, `unauthorized`, `rejected`, `locked`, `service`, `interrupted`; the journal then
 * says what the attempt counted
 */
async function sendStart(
  context: ExchangeContext,
  start: Start,
  { record: before, kind, pair }: { record: VaultRecord; kind: Kind; pair: ChosenPair },
): Promise<Accepted> {
  const { uuid } = context.session;
  let record = before;
  const { operation, force, newVault, run } = start;
  const { generation, credentials, device, sole } = pair;
  let wasUnanswered = false;
  for (let attempt = 0; ; attempt += 1) {
    // A retry is a start of its own.
    if (attempt > 0 && !force) {
      guardStart(record, context);
      if (waitsForEnd(start)) guardLastStart(record, context.policy);
    }
    const exchangeId = context.ids.next(record.last?.id);
    const externalRef = start.externalRef ?? `vault-${exchangeId}`;
    const seen = await letOut(
      context,
      record,
      { exchangeId, operation, kind, externalRef, generation, sole, run },
      force,
    );
    context.emit({ type: "starting", operation, generation, attempt });
    const call: StartCall = {
      step: "start",
      uuid,
      kind,
      operation,
      externalRef,
      credentials,
      device,
      newVault,
    };
    const reply = await context.service.call(call, context.signal);
    const answer = reply.type === "not-sent" ? undefined : reply.answer;
    const outcome = outcomeOf(reply, call, answer && readStartSuccess(call, answer));
    await noteStart(context.breaker, seen, reply, outcome);
    if (outcome.type === "accepted") return { exchangeId, success: outcome.success, pair, record };
    const sent = { exchangeId, pair, attempt };
    const { cause, waitMs } = await repeatAfter(context, start, sent, outcome, wasUnanswered);
    if (reply.type === "no-answer") wasUnanswered = true;
    context.emit({ type: "retrying", step: "start", cause, waitMs });
    record = await currentRecord(context);
    await pause(context, waitMs, (reply.type === "no-answer" ? record.last : null) ?? undefined);
  }
}
