import { VaultError } from "../../errors.ts";
import { defined } from "../../defined.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { carried } from "../breaker.ts";
import type { ChosenPair, PairChoice } from "./choose-pair.ts";
import { choosePairs } from "./choose-pair.ts";
import type { ExchangeContext } from "../context.ts";
import { circumstances, currentRecord } from "../context.ts";
import { explainRefusal } from "../guard.ts";
import type { Handover } from "../handover.ts";
import { judge, mustPersonChoose } from "../lockout.ts";
import { choices, hintOf, importOf, unlockedOf, waysOn } from "../ways.ts";
import type { StartCall } from "../ports.ts";
import type { Prepared } from "./prepare.ts";
import type { Attempts, RunPart, VaultRecord } from "../records.ts";
import type { SentStart } from "./send.ts";
import { sendStart } from "./send.ts";

export interface StartRequest extends PairChoice {
  operation: Operation;
  /** By default contains the exchange's id, so that audit items can be matched with the journal. */
  externalRef?: string | undefined;
  /** Updates only: the new contents, `newVault` of the interface. */
  newVault?: Record<string, unknown> | undefined;
  handover: Handover;
  /** The part that the exchange has in a run of many vaults. */
  run?: RunPart | undefined;
  /** Hold the exchange after the delivery. */
  noAck: boolean;
}

export interface StartedWith {
  /** The vault's record before the start. */
  before: VaultRecord;
  pair: ChosenPair;
  sent: SentStart;
}

/** Number of pairs that one command tries at most: a refusal of the first makes the second likely to be valid. */
const triesAtMost = 2;

/**
 * Starts with the candidates in order, which are determined anew after each refusal.
 * @throws what `choosePairs` and `sendStart` throw; and `guard`, or `rejected` after a refusal, if a person must choose among
 * several candidates because one failed attempt is left before the last
 */
export async function startWith(
  context: ExchangeContext,
  first: VaultRecord,
  request: StartRequest,
  { endpoint, kind }: Prepared,
): Promise<StartedWith> {
  let refusal: VaultError | undefined;
  const tried = new Set<number>();
  for (let tries = 1; ; tries += 1) {
    const before = refusal === undefined ? first : await currentRecord(context);
    const { force } = request;
    const pairs = (
      await choosePairs(context, before, kind, request).catch((error: unknown) => {
        throw refusal === undefined ? error : allRefused(context, before, refusal);
      })
    ).filter(({ generation }) => !tried.has(generation));
    const [pair] = pairs;
    // Nothing more is sent to a vault that the last refusal has locked, by our count.
    if (refusal !== undefined && (pair === undefined || isLocked(context, before)))
      throw allRefused(context, before, refusal);
    if (pair === undefined) throw new VaultError("internal", "no credentials were chosen");
    const isChoice =
      refusal === undefined &&
      likely(before, pairs).length > 1 &&
      request.generation === undefined &&
      !force &&
      mustPersonChoose(before, context.policy);
    // The guard's own refusal would not say that something was sent.
    const isStopped =
      refusal !== undefined &&
      (tries > triesAtMost || (!force && !judge(before, context.policy).allows));
    if (isChoice || isStopped) throw toChoose(context, before, pairs, refusal);
    const call = (exchangeId: string): StartCall => ({
      step: "start",
      uuid: context.session.uuid,
      kind,
      operation: request.operation,
      externalRef: request.externalRef ?? `vault-${exchangeId}`,
      credentials: pair.credentials,
      device: pair.device,
      newVault: request.newVault,
    });
    // Counters travel only with a document that leaves this state; no other start needs to read them.
    const recordAttempts = async (isSending: boolean): Promise<void> => {
      if (request.handover.leavesState)
        await request.handover.recordAttempts(await attemptsOf(context, pair.sole, isSending));
    };
    tried.add(pair.generation);
    try {
      const sent = await sendStart(context, before, {
        ...pair,
        endpoint,
        call,
        recordAttempts: async () => await recordAttempts(true),
        force,
        waitsForEnd: request.noAck || request.handover.takesTime === true,
        run: request.run,
      });
      // For an exchange in doubt, its reported outcome says so.
      if (refusal !== undefined && before.open?.state !== "in-doubt") {
        context.emit({
          type: "warning",
          message: `${refusal.message}; generation ${pair.generation} was accepted`,
        });
      }
      return { before, pair, sent };
    } catch (error) {
      // Best effort: a document that could not be rewritten counts too much at worst.
      await recordAttempts(false).catch(() => undefined);
      if (!(error instanceof VaultError) || error.code !== "rejected") throw error;
      if (request.generation !== undefined) {
        const after = await currentRecord(context);
        throw isLocked(context, after) ? allRefused(context, after, error) : error;
      }
      refusal = error;
    }
  }
}

/** The pairs that are equally likely to be valid: neither older nor void ones. */
const likely = (
  { generations }: VaultRecord,
  pairs: readonly ChosenPair[],
): readonly ChosenPair[] =>
  pairs.filter(({ generation }) => {
    const found = generations.find((g) => g.generation === generation);
    return found?.placed !== "older" && found?.standing !== "void";
  });

async function attemptsOf(
  context: ExchangeContext,
  sole: boolean,
  isSending: boolean,
): Promise<Attempts> {
  const { unackedStarts, unansweredStarts, quietStarts, failedAttempts, possiblyFailed } =
    await currentRecord(context);
  const breaker = carried(context.breaker.known, isSending ? context.breaker.now() : null);
  const refused = await context.session.refusals();
  return {
    unackedStarts,
    unansweredStarts,
    quietStarts,
    failedAttempts,
    possiblyFailed,
    refused,
    sole,
    ...defined({ breaker }),
  };
}

/** Whether the vault has had its last failed attempt, as only --force sends it. */
const isLocked = (
  { policy }: ExchangeContext,
  { failedAttempts, possiblyFailed }: VaultRecord,
): boolean => failedAttempts - possiblyFailed >= policy.failedAttempts;

/** The last refusal, when nothing is left to try. */
function allRefused(
  context: ExchangeContext,
  record: VaultRecord,
  refusal: VaultError,
): VaultError {
  const { uuid, provenAt } = record;
  const why =
    provenAt === null ? refusal.message : `${explainRefusal(provenAt)}: ${refusal.message}`;
  const locked = isLocked(context, record) ? `; by the counters, the vault is locked now` : "";
  const ways = locked === "" ? [importOf(uuid)] : [unlockedOf(uuid), importOf(uuid)];
  return new VaultError(refusal.code, why + locked, { ...refusal.facts, hint: hintOf(ways) });
}

/** Exit 8, or 6 after a refusal, with the candidates among which a person must choose. */
function toChoose(
  context: ExchangeContext,
  record: VaultRecord,
  pairs: readonly ChosenPair[],
  refusal: VaultError | undefined,
): VaultError {
  const { uuid, failedAttempts } = record;
  const given = circumstances(context);
  const left = pairs.flatMap(({ generation }) =>
    record.generations.filter((g) => g.generation === generation),
  );
  const ways = judge(record, context.policy).allows
    ? choices(uuid, given.file, left)
    : waysOn(record, given);
  const why = `${failedAttempts} failed ${failedAttempts === 1 ? "attempt is" : "attempts are"} on record, and several credentials may be valid: generations ${left
    .map((g) => `${g.generation} (${g.standing})`)
    .join(", ")}`;
  return new VaultError(
    refusal?.code ?? "guard",
    refusal === undefined ? `not sent: ${why}` : `${refusal.message}. ${why}`,
    {
      ...refusal?.facts,
      uuid,
      hint: hintOf(ways),
    },
  );
}
