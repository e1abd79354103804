import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import type { NextAction, SoFar, Wish } from "../next-action.ts";
import { beforeStart, nextAction } from "../next-action.ts";
import type { Generation, OpenExchange, VaultRecord } from "../records.ts";
import { afterRefusal, refusalError } from "../refusals.ts";
import { bareCredentials } from "../recovery.ts";
import type { ChosenPair } from "./credentials.ts";
import { checkGiven, chosenPair, refusedNow } from "./credentials.ts";
import type { Counted, Start } from "./start.ts";
import { checkStart } from "./start.ts";

/** What a command has sent so far. */
export interface Tries extends SoFar {
  tried: number[];
  /** As which generation a given pair is recorded; null without one. */
  recordedAs: number | null;
  /** The generation that was chosen for the first call; null if all may be tried. */
  only?: number | null;
  /** Calls so far. */
  calls: number;
  /** A call with the present credentials got no answer: it is repeated once. */
  isUnanswered: boolean;
  /** The last refusal of credentials. */
  refusal?: VaultError;
}

export const noTries = (recordedAs: number | null): Tries => ({
  recordedAs,
  tried: [],
  calls: 0,
  isUnanswered: false,
});

/** What a start does next, under the lock, and what that was decided on. */
export interface Decision {
  wish: Wish;
  action: NextAction;
  /** Decides again, on another record of the vault. */
  next: (vault: VaultRecord) => NextAction;
}

/** Decides what a start with a vault of this kind does next. */
export async function decide(
  context: ExchangeContext,
  vault: VaultRecord,
  kind: Kind,
  start: Counted,
  { tried, recordedAs, only, refusal }: Tries,
): Promise<Decision> {
  // An open exchange decides between its two pairs; one that a refusal has put in doubt meanwhile does not.
  const chosen =
    only === undefined ? (start.generation ?? (vault.open === null ? recordedAs : null)) : only;
  // Nor does such a one keep a delete, which began with the refused credentials, from the new ones.
  const discardPending =
    start.discardPending || (start.operation === "delete" && refusal !== undefined);
  const wish = { ...start, discardPending, generation: chosen ?? undefined };
  const refused = await refusedNow(context, vault, kind, start);
  const next = (now: VaultRecord): NextAction => nextAction(now, wish, context, { tried, refused });
  return { wish, action: next(vault), next };
}

/**
 * Checks a start, and records the pair that it is given. Returns the kind of the vault, and the generation of that pair.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
export async function recordGiven(
  context: ExchangeContext,
  start: Counted,
): Promise<{ kind: Kind; recordedAs: number | null }> {
  const { session } = context;
  const vault = await session.read();
  const kind = checkStart(vault, start);
  const { given, hashedPin, device } = start;
  if (given?.type !== "pair") return { kind, recordedAs: null };
  const known = await checkGiven(context, vault, start);
  const credentials = bareCredentials({ ...given.credentials, hashedPin });
  return { kind, recordedAs: known ?? (await session.recordPair({ credentials, kind, device })) };
}

/**
 * The credentials that a decision starts with.
 * @throws the error of a refusal, which says what was sent if `refusal` is the last answer to this command
 */
export function toStartWith(
  context: ExchangeContext,
  vault: VaultRecord,
  wish: Wish,
  action: Exclude<NextAction, { do: "end" }>,
  refusal?: VaultError,
): Generation {
  if (action.do === "start") return action.candidates[0];
  if (action.do === "done") throw new VaultError("internal", "nothing is to be started");
  throw refusal === undefined
    ? refusalError(vault, action, wish, context)
    : afterRefusal(vault, action, refusal, context);
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
  // Once it is taken over, its exchange is acknowledged, and its new pair is the one to send.
  if (given?.type === "recovery")
    return { record, kind: given.document.kind, acknowledges: null, pair: null };
  const kind = checkStart(record, start);
  const recordedAs = await checkGiven(context, record, start);
  if (record === null || (given !== undefined && recordedAs === null)) {
    const first = record && beforeStart(record, start, context);
    if (record !== null && first?.do === "refuse")
      throw refusalError(record, first, start, context);
    return { record, kind, acknowledges: null, pair: null };
  }
  const { wish, action } = await decide(context, record, kind, start, noTries(recordedAs));
  const acknowledges = action.do === "end" ? action.exchange : null;
  const generation =
    action.do === "end"
      ? record.generations.find((g) => g.generation === acknowledges?.newGeneration)
      : toStartWith(context, record, wish, action);
  const pair = generation && (await chosenPair(context, record, kind, generation, start));
  return { record, kind, acknowledges, pair: pair ?? null };
}
