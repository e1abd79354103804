import { VaultError } from "../../errors.ts";
import type { ExchangeContext } from "../context.ts";
import { currentRecord } from "../context.ts";
import type { Handover } from "../delivery.ts";
import { explainRefusal } from "../guard.ts";
import { judge } from "../lockout.ts";
import type { VaultRecord } from "../records.ts";
import { hintOf, importOf, unlockedOf } from "../ways.ts";
import { choosePairs } from "./choose-pair.ts";
import type { Allowed } from "./decide.ts";
import { personChooses } from "./decide.ts";
import type { Accepted } from "./send.ts";
import { recordAttempts, sendStart } from "./send.ts";
import type { Start } from "./start.ts";

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
  handover: Handover,
  decision: Allowed,
): Promise<Accepted> {
  const { kind, generation } = decision;
  let { record, pairs } = decision;
  let refusal: VaultError | undefined;
  const tried = new Set<number>();
  for (let tries = 1; ; tries += 1) {
    const [pair] = pairs;
    if (pair === undefined) throw new VaultError("internal", "no credentials were chosen");
    try {
      const accepted = await sendStart(context, start, handover, { ...decision, record, pair });
      // For an exchange in doubt, its reported outcome says so.
      if (refusal !== undefined && record.open?.state !== "in-doubt") {
        context.emit({
          type: "warning",
          message: `${refusal.message}; generation ${pair.generation} was accepted`,
        });
      }
      return accepted;
    } catch (error) {
      // Best effort: a document that could not be rewritten counts too much at worst.
      await recordAttempts(context, handover, pair, false).catch(() => undefined);
      if (!(error instanceof VaultError) || error.code !== "rejected") throw error;
      refusal = error;
    }
    record = await currentRecord(context);
    if (generation !== undefined)
      throw isLocked(context, record) ? allRefused(context, record, refusal) : refusal;
    tried.add(pair.generation);
    try {
      pairs = await choosePairs(context, record, kind, start);
    } catch {
      throw allRefused(context, record, refusal);
    }
    pairs = pairs.filter((left) => !tried.has(left.generation));
    // Nothing more is sent to a vault that the last refusal has locked, by our count.
    if (pairs.length === 0 || isLocked(context, record)) throw allRefused(context, record, refusal);
    // The guard's own refusal would not say that something was sent.
    if (tries >= triesAtMost || (!start.force && !judge(record, context.policy).allows))
      throw personChooses(context, record, pairs, refusal);
  }
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
