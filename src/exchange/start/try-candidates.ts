import { VaultError } from "../../errors.ts";
import { defined } from "../../defined.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import { carried } from "../breaker.ts";
import type { ChosenPair, PairChoice } from "./choose-pair.ts";
import { choosePairs } from "./choose-pair.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord } from "../context.ts";
import { mustPersonChoose, explainRefusal } from "../guard.ts";
import type { Handover } from "../handover.ts";
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
    // --force lets one request through; the guard judges the next pair again.
    const force = request.force && tries === 1;
    const pairs = await choosePairs(context, before, kind, { ...request, force }).catch((error: unknown) => {
      throw refusal === undefined ? error : allRefused(before, refusal);
    });
    if (refusal !== undefined && pairs.every(({ generation }) => tried.has(generation))) throw allRefused(before, refusal);
    const [pair] = pairs as [ChosenPair, ...ChosenPair[]];
    const isChoice =
      likely(before, pairs).length > 1 && request.generation === undefined && !force && mustPersonChoose(before, context.policy);
    if (isChoice || (refusal !== undefined && tries > triesAtMost)) throw toChoose(before, pairs, refusal);
    const call = (exchangeId: string): StartCall => ({
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
      if (request.handover.leavesState) await request.handover.recordAttempts(await attemptsOf(context, isSending));
    };
    tried.add(pair.generation);
    try {
      const sent = await sendStart(context, before, {
        ...pair,
        endpoint,
        call,
        recordAttempts: async () => await recordAttempts(true),
        force,
        run: request.run,
      });
      // For an exchange in doubt, its reported outcome says so.
      if (refusal !== undefined && before.open?.state !== "in-doubt") {
        context.emit({ type: "warning", message: `${refusal.message}; generation ${pair.generation} was accepted` });
      }
      return { before, pair, sent };
    } catch (error) {
      // Best effort: a document that could not be rewritten counts too much at worst.
      await recordAttempts(false).catch(() => undefined);
      if (!(error instanceof VaultError) || error.code !== "rejected" || request.generation !== undefined) throw error;
      refusal = error;
    }
  }
}

/** The pairs that are equally likely to be valid: neither older nor void ones. */
const likely = ({ generations }: VaultRecord, pairs: readonly ChosenPair[]): readonly ChosenPair[] =>
  pairs.filter(({ generation }) => {
    const found = generations.find((g) => g.generation === generation);
    return found?.placed !== "older" && found?.standing !== "void";
  });

async function attemptsOf(context: ExchangeContext, isSending: boolean): Promise<Attempts> {
  const { unackedStarts, failedAttempts, possiblyFailed } = await currentRecord(context);
  const breaker = carried(context.breaker.known, isSending ? context.breaker.now() : null);
  return { unackedStarts, failedAttempts, possiblyFailed, refused: await context.session.refusals(), ...defined({ breaker }) };
}

/** The last refusal, when nothing is left to try. */
const allRefused = (record: VaultRecord, refusal: VaultError): VaultError =>
  new VaultError(refusal.code, record.provenAt === null ? refusal.message : `${explainRefusal(record.provenAt)}: ${refusal.message}`, {
    ...refusal.facts,
    hint: `vault import ${record.uuid} --credentials @FILE (the right credentials)`,
  });

/** Exit 8, or 6 after a refusal, with the candidates among which a person must choose. */
function toChoose(record: VaultRecord, pairs: readonly ChosenPair[], refusal: VaultError | undefined): VaultError {
  const { uuid, failedAttempts } = record;
  const listed = pairs.map(({ generation }) => `${generation} (${record.generations.find((g) => g.generation === generation)?.standing})`);
  const left = `${failedAttempts} failed ${failedAttempts === 1 ? "attempt is" : "attempts are"} on record, and several credentials may be valid: generations ${listed.join(", ")}`;
  return new VaultError(refusal?.code ?? "guard", refusal === undefined ? `not sent: ${left}` : `${refusal.message}. ${left}`, {
    ...refusal?.facts,
    uuid,
    hint: `vault status ${uuid} --history (lists them); vault get ${uuid} --generation N (sends these)`,
  });
}
