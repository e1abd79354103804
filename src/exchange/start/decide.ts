import { VaultError } from "../../errors.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { isTokenAlive } from "../context.ts";
import { heldError } from "../end/settle.ts";
import { guardStart } from "../guard.ts";
import type { Counters, Policy } from "../lockout.ts";
import { startRisk } from "../lockout.ts";
import type { VaultRecord } from "../records.ts";
import { circumstancesOf } from "../ways.ts";
import { currentGeneration, liveGenerations } from "./candidates.ts";
import type { ChosenPair } from "./choose-pair.ts";
import { choosePairs, guardChoice } from "./choose-pair.ts";
import type { Start } from "./start.ts";
import { checkStart } from "./start.ts";

/**
 * What comes first with a vault: the open exchange that an earlier run left is acknowledged; or the start itself, which discards it (or
 * settles it if it is in doubt); or nothing, because a person must decide on what is held, or the guard refuses a start.
 */
export type First = "acknowledge" | "start" | "held" | "guard";

/**
 * Decides what comes first: an open exchange is acknowledged if an end call may have been sent or if the user had asked for an
 * update. `now` is by the clock of the state.
 */
export function whatFirst(
  vault: Counters & Pick<VaultRecord, "open">,
  { operation, discardPending, force }: Pick<Start, "discardPending" | "force" | "operation">,
  policy: Policy,
  now: number,
): First {
  const { open } = vault;
  const start = force || startRisk(vault, policy).allows ? "start" : "guard";
  if (open === null) return start;
  if (open.state === "ending") return "acknowledge";
  if (open.state === "in-doubt" || discardPending) return start;
  if (open.state === "held") {
    const isLapsed = open.operation === "get" && !open.saveOwed && !isTokenAlive(open, now);
    return isLapsed && operation === "get" ? start : "held";
  }
  // The state has lost what came next, as after a failover: the service is asked by the end call.
  if (open.endsUnanswered > 0 && !open.limited) return "acknowledge";
  if (operation === "update") return start;
  if (open.operation === "update") return "acknowledge";
  // Acknowledging an undelivered read of a limited vault would use it up unseen.
  return start === "start" || open.limited ? start : "acknowledge";
}

/**
 * Refuses a start that is certain to be refused.
 * @throws `pending` for a held exchange, `guard`
 */
export function refuseEarly(
  record: VaultRecord,
  start: Pick<Start, "discardPending" | "force" | "operation">,
  policy: Policy,
  now: number,
): void {
  const first = whatFirst(record, start, policy, now);
  if (first === "held" && record.open !== null) throw heldError(record.uuid, record.open);
  if (first === "guard") guardStart(record, { policy, now });
}

/** What an exchange does first and starts with: `runExchange` does it, --dry-run shows it. */
export interface Decision {
  /** The vault as it was decided on; null if it is not known. */
  record: VaultRecord | null;
  kind: Kind;
  /** The generation as which the given pair is recorded; null if it is new or none was given. */
  recordedAs: number | null;
  first: "acknowledge" | "start";
  /** The only generation to start with; undefined for all that may be valid. */
  generation: number | undefined;
  /** The pairs to start with, in order. None before an acknowledgement, for a pair that is not recorded yet, and where it is refused. */
  pairs: ChosenPair[];
  /** Why the guard refuses it; null where it allows it. */
  refusal: VaultError | null;
}

/**
 * Decides, under the lock, all that can be decided before anything is written or sent. `recordedAs` is known once the given pair was
 * checked.
 * @throws `usage`, `invalid-input`, `no-credentials`, `pending` for a held exchange
 */
export async function decide(
  context: ExchangeContext,
  record: VaultRecord | null,
  start: Start,
  checkedAs?: number | null,
): Promise<Decision> {
  const { policy, clock } = context;
  const kind = checkStart(record, start);
  const recordedAs = checkedAs === undefined ? await checkGiven(context, record, start) : checkedAs;
  // An open exchange decides between its two pairs.
  const generation =
    start.generation ?? (record?.open === null ? (recordedAs ?? undefined) : undefined);
  const decision = { record, kind, recordedAs, generation, pairs: [], refusal: null };
  if (record === null) return { ...decision, first: "start" };
  const first = whatFirst(record, start, policy, clock.now());
  if (first === "acknowledge") return { ...decision, first };
  if (first === "held" && record.open !== null) throw heldError(record.uuid, record.open);
  try {
    if (first === "guard") guardStart(record, circumstancesOf(context));
    if (start.given?.type === "pair" && recordedAs === null) return { ...decision, first: "start" };
    const pairs = await choosePairs(context, record, kind, { ...start, generation });
    if (!start.force) guardChoice(context, record, start, generation, pairs);
    return { ...decision, first: "start", pairs };
  } catch (error) {
    if (error instanceof VaultError && error.code === "guard")
      return { ...decision, first: "start", refusal: error };
    throw error;
  }
}

/**
 * Checks a given pair against the stored ones, before anything is recorded or sent. Returns the generation as which it is
 * recorded, or null for a new pair.
 * @throws `no-credentials` for a superseded pair, and for a new one without --force if a current pair is proven, or while an
 * exchange is open
 */
export async function checkGiven(
  { session }: Pick<ExchangeContext, "session">,
  record: VaultRecord | null,
  { given: document, force }: Pick<Start, "force" | "given">,
): Promise<number | null> {
  if (document?.type !== "pair") return null;
  const given = document.credentials;
  if (await session.isSuperseded(given)) {
    throw new VaultError(
      "no-credentials",
      "the given credentials were superseded by an exchange of this machine; they are never sent",
      {
        uuid: session.uuid,
        hint:
          record === null
            ? "give the credentials that replaced them"
            : `vault get ${session.uuid} (without them: uses the stored credentials)`,
      },
    );
  }
  if (record === null) return null;
  for (const { generation } of liveGenerations(record)) {
    const stored = await session.credentials(generation);
    if (stored.encryptedData === given.encryptedData && stored.payload === given.payload)
      return generation;
  }
  const { open } = record;
  if (open !== null && open.state !== "in-doubt") {
    throw new VaultError(
      "no-credentials",
      "the given credentials are not those of the open exchange",
      {
        uuid: session.uuid,
        hint: `vault ack ${session.uuid} (finishes it); vault import ${session.uuid} --credentials @FILE (keeps them for later)`,
      },
    );
  }
  if (currentGeneration(record)?.proven === true && !force) {
    throw new VaultError(
      "no-credentials",
      "the given credentials differ from the stored current ones",
      {
        uuid: session.uuid,
        hint: `leave them out to use the stored credentials (generation ${currentGeneration(record)?.generation}); vault import ${session.uuid} --credentials @FILE (if those no longer work)`,
      },
    );
  }
  return null;
}
