import { defined } from "../../defined.ts";
import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import type { NextAction, SoFar, Wish } from "../next-action.ts";
import { beforeStart, nextAction } from "../next-action.ts";
import type { Generation, OpenExchange, VaultRecord } from "../records.ts";
import { afterRefusal, refusalError } from "../refusals.ts";
import { checkGiven, chosenPair, refusedNow } from "./credentials.ts";
import type { ChosenPair } from "./credentials.ts";
import type { Counted, Start } from "./start.ts";
import { checkStart } from "./start.ts";

/** What a start does next, under the lock, and what that was decided on. */
export interface Decision {
  kind: Kind;
  wish: Wish;
  /** Null if the given pair is recorded first, and then it is decided again. */
  action: NextAction | null;
  /** Decides again, on another record of the vault. */
  next: (vault: VaultRecord) => NextAction;
}

/**
 * Decides all that can be decided before anything is written or sent. `checkedAs`: as which generation a given pair is recorded, once it was checked.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
export async function decide(
  context: ExchangeContext,
  vault: VaultRecord | null,
  start: Counted,
  soFar: SoFar & { only?: number | null; refusal?: VaultError },
  checkedAs?: number | null,
): Promise<Decision> {
  const kind = checkStart(vault, start);
  const recordedAs = checkedAs === undefined ? await checkGiven(context, vault, start) : checkedAs;
  // An open exchange decides between its two pairs; one that a refusal has put in doubt meanwhile does not.
  const chosen =
    soFar.only === undefined
      ? (start.generation ?? (vault?.open === null ? recordedAs : null))
      : soFar.only;
  // Nor does such a one keep a delete, which began with the refused credentials, from the new ones.
  const discardPending =
    start.discardPending || (start.operation === "delete" && soFar.refusal !== undefined);
  const wish = { ...start, discardPending, generation: chosen ?? undefined };
  const isNew = start.given?.type === "pair" && recordedAs === null;
  const refused =
    vault === null || isNew ? undefined : await refusedNow(context, vault, kind, start);
  const next = (now: VaultRecord): NextAction =>
    nextAction(now, wish, context, { tried: soFar.tried, ...defined({ refused }) });
  const action = vault === null ? null : isNew ? beforeStart(vault, wish, context) : next(vault);
  return { kind, wish, action, next };
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
 * @throws what `decide` throws, and refusals
 */
export async function previewStart(context: ExchangeContext, start: Start): Promise<Preview> {
  const record = await context.session.read();
  const { given } = start;
  // Once it is taken over, its exchange is acknowledged, and its new pair is the one to send.
  if (given?.type === "recovery")
    return { record, kind: given.document.kind, acknowledges: null, pair: null };
  const { kind, wish, action } = await decide(context, record, start, { tried: [] });
  const shown = { record, kind, acknowledges: action?.do === "end" ? action.exchange : null };
  if (record === null || action === null) return { ...shown, pair: null };
  const generation =
    action.do === "end"
      ? record.generations.find((g) => g.generation === action.exchange.newGeneration)
      : toStartWith(context, record, wish, action);
  const pair = generation && (await chosenPair(context, record, kind, generation, start));
  return { ...shown, pair: pair ?? null };
}
