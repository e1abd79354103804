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
  /** The generation as which the given pair is recorded; null if it is new or none was given. */
  recordedAs: number | null;
  wish: Wish;
  /** Null if the given pair is recorded first, and then it is decided again. */
  action: NextAction | null;
  /** Decides again, on another record of the vault. */
  next: (vault: VaultRecord) => NextAction;
}

/**
 * Decides all that can be decided before anything is written or sent. `checkedAs` is `recordedAs` once the given pair was checked.
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
  return { kind, recordedAs, wish, action, next };
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
  recordedAs: number | null;
  /** What an earlier run left. */
  open: OpenExchange | null;
  /** That one, if it is acknowledged first. */
  acknowledges: OpenExchange | null;
  /** What would be sent; null for a given pair that is not recorded yet. */
  pair: ChosenPair | null;
  /** Why the guard refuses the start; null if it allows it. */
  refusal: VaultError | null;
}

/**
 * Decides as `runExchange` would, and writes and sends nothing: an acknowledgement that comes first, and a recovery document, are taken
 * as done. What the guard refuses is shown as with --force.
 * @throws what `decide` throws, and other refusals than the guard's
 */
export async function previewStart(context: ExchangeContext, asked: Start): Promise<Preview> {
  const known = await context.session.read();
  const start = afterAdoption(asked);
  const checkedAs =
    start === asked ? undefined : await checkGiven(context, known, { ...start, force: true });
  const soFar = { tried: [] };
  const { kind, recordedAs, ...first } = await decide(context, known, start, soFar, checkedAs);
  const acknowledges = first.action?.do === "end" ? first.action.exchange : null;
  const record = known === null || acknowledges === null ? known : acknowledged(known);
  const pairTo = async (force: boolean): Promise<ChosenPair | null> => {
    const forced = { ...start, force };
    const { wish, action } = await decide(context, record, forced, soFar, recordedAs);
    if (record === null || action === null) return null;
    if (action.do === "end") throw new VaultError("internal", "an exchange is acknowledged twice");
    const generation = toStartWith(context, record, wish, action);
    return await chosenPair(context, record, kind, generation, forced);
  };
  const shown = { record, kind, recordedAs, open: known?.open ?? null, acknowledges };
  try {
    return { ...shown, pair: await pairTo(start.force), refusal: null };
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== "guard") throw error;
    return { ...shown, pair: await pairTo(true), refusal: error };
  }
}

/** Once a recovery document is taken over, its new pair is the one to send. */
function afterAdoption(start: Start): Start {
  if (start.given?.type !== "recovery") return start;
  const { document } = start.given;
  const { hashedPin } = document.old;
  return {
    ...start,
    device: start.device ?? document.device,
    given: { type: "pair", credentials: { ...document.new, ...defined({ hashedPin }) } },
  };
}

/** The vault as it would be once its open exchange is acknowledged. */
function acknowledged(vault: VaultRecord): VaultRecord {
  const generations = vault.generations.map((g) =>
    g.generation === vault.open?.newGeneration
      ? { ...g, standing: "current" as const, proven: true }
      : { ...g, standing: "superseded" as const },
  );
  return { ...vault, generations, unackedStarts: 0, open: null };
}
