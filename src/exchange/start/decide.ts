import { VaultError } from "../../errors.ts";
import { defined } from "../../defined.ts";
import { command } from "../../way.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { isTokenAlive } from "../context.ts";
import { heldError } from "../end/acknowledge.ts";
import { guardChoice, guardLastStart, guardStart } from "../guard.ts";
import type { Counters } from "../lockout.ts";
import { startRisk } from "../lockout.ts";
import type { OpenExchange, VaultRecord } from "../records.ts";
import type { Circumstances } from "../ways.ts";
import { currentGeneration, liveGenerations } from "./candidates.ts";
import type { ChosenPair } from "./choose-pair.ts";
import { choosePairs } from "./choose-pair.ts";
import type { Start } from "./start.ts";
import { checkStart, waitsForEnd } from "./start.ts";

/**
 * What comes first with a vault: the open exchange that an earlier run left is acknowledged; or the start itself, which discards it (or
 * settles it if it is in doubt); or nothing, because a person must decide on what is held, or the guard refuses a start.
 */
export type First = "acknowledge" | "start" | "held" | "guard";

/**
 * Decides what comes first: an open exchange is acknowledged if an end call may have been sent or if the user had asked for an
 * update.
 */
export function whatFirst(
  vault: Counters & Pick<VaultRecord, "open">,
  { operation, discardPending, force }: Pick<Start, "discardPending" | "force" | "operation">,
  { policy, clock }: Circumstances,
): First {
  const { open } = vault;
  const start = force || startRisk(vault, policy).allows ? "start" : "guard";
  if (open === null) return start;
  if (open.state === "ending") return "acknowledge";
  if (open.state === "in-doubt" || discardPending) return start;
  if (open.state === "held") {
    const isLapsed = open.operation === "get" && !open.saveOwed && !isTokenAlive(open, clock.now());
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
 * Returns the exchange that is acknowledged first, or null for a start that may be sent.
 * @throws `pending` for a held exchange, `guard`
 */
export function checkFirst(
  record: VaultRecord,
  start: Parameters<typeof whatFirst>[1],
  circumstances: Circumstances,
): OpenExchange | null {
  const first = whatFirst(record, start, circumstances);
  if (first === "held" && record.open !== null) throw heldError(record, record.open, circumstances);
  if (first === "guard") guardStart(record, circumstances);
  return first === "acknowledge" ? record.open : null;
}

/** What an exchange does first and starts with: `runExchange` does it, --dry-run shows it. */
export interface Decision {
  /** The vault as it was decided on; null if it is not known. */
  record: VaultRecord | null;
  kind: Kind;
  /** The generation as which the given pair is recorded; null if it is new or none was given. */
  recordedAs: number | null;
  /** What an earlier run left, and is acknowledged first: then it is decided again. */
  acknowledges: OpenExchange | null;
  /** The only generation to start with; undefined for all that may be valid. */
  generation: number | undefined;
  /** The pairs to start with, in order. None before an acknowledgement, and for a pair that is not recorded yet. */
  pairs: ChosenPair[];
}

/**
 * Decides, under the lock, all that can be decided before anything is written or sent. `recordedAs` is known once the given pair was
 * checked.
 * @throws `usage`, `invalid-input`, `no-credentials`, `pending` for a held exchange, `guard`
 */
export async function decide(
  context: ExchangeContext,
  record: VaultRecord | null,
  start: Start,
  checkedAs?: number | null,
): Promise<Decision> {
  const kind = checkStart(record, start);
  const recordedAs = checkedAs === undefined ? await checkGiven(context, record, start) : checkedAs;
  // An open exchange decides between its two pairs.
  const generation =
    start.generation ?? (record?.open === null ? (recordedAs ?? undefined) : undefined);
  const acknowledges = record === null ? null : checkFirst(record, start, context);
  const decision = { record, kind, recordedAs, acknowledges, generation, pairs: [] };
  const isNew = start.given?.type === "pair" && recordedAs === null;
  if (record === null || acknowledges !== null || isNew) return decision;
  const pairs = await choosePairs(context, record, kind, { ...start, generation });
  if (!start.force) {
    if (generation === undefined) guardChoice(record, pairs, context);
    if (waitsForEnd(start)) guardLastStart(record, context.policy);
  }
  return { ...decision, pairs };
}

/** Note of a get without given credentials. */
const stored = "uses the stored credentials";

/**
 * Checks a given pair against the stored ones, before anything is recorded or sent. Returns the generation as which it is
 * recorded, or null for a new pair.
 * @throws `no-credentials` for a superseded pair, and for a new one without --force if a current pair is proven, or while an
 * exchange is open
 */
async function checkGiven(
  { session }: Pick<ExchangeContext, "session">,
  record: VaultRecord | null,
  { given, force }: Pick<Start, "force" | "given">,
): Promise<number | null> {
  if (given?.type !== "pair") return null;
  const { encryptedData, payload } = given.credentials;
  if (await session.isSuperseded(given.credentials)) {
    throw new VaultError(
      "no-credentials",
      "the given credentials were superseded by an exchange of this machine; they are never sent",
      {
        uuid: session.uuid,
        ...(record === null
          ? { hint: "give the credentials that replaced them" }
          : { next: [{ ...command`vault get ${session.uuid}`, note: stored }] }),
      },
    );
  }
  if (record === null) return null;
  for (const { generation } of liveGenerations(record)) {
    const pair = await session.credentials(generation);
    if (pair.encryptedData === encryptedData && pair.payload === payload) return generation;
  }
  const { open } = record;
  if (open !== null && open.state !== "in-doubt") {
    throw new VaultError(
      "no-credentials",
      "the given credentials are not those of the open exchange",
      {
        uuid: session.uuid,
        next: [
          { ...command`vault ack ${session.uuid}`, note: "finishes it" },
          {
            ...command`vault import ${session.uuid} --credentials @FILE`,
            note: "keeps them for later",
          },
        ],
      },
    );
  }
  if (currentGeneration(record)?.proven === true && !force) {
    throw new VaultError(
      "no-credentials",
      "the given credentials differ from the stored current ones",
      {
        uuid: session.uuid,
        next: [
          { ...command`vault get ${session.uuid}`, note: stored },
          {
            ...command`vault import ${session.uuid} --credentials @FILE`,
            note: "if the stored ones no longer work",
          },
        ],
      },
    );
  }
  return null;
}

/** A decision as --dry-run shows it. */
export interface Preview extends Decision {
  /** What an earlier run left. */
  open: OpenExchange | null;
  /** Why the guard refuses the start; null where it allows it. */
  refusal: VaultError | null;
}

/**
 * Decides as `runExchange` would, and writes and sends nothing: an acknowledgement that comes first, and a recovery document, are taken
 * as done. What the guard refuses is shown as with --force.
 * @throws what `decide` throws, but for the guard's errors
 */
export async function previewStart(context: ExchangeContext, asked: Start): Promise<Preview> {
  const known = await context.session.read();
  const start = afterAdoption(asked);
  const recordedAs =
    start === asked ? undefined : await checkGiven(context, known, { ...start, force: true });
  const decided = await withRefusal(context, known, start, recordedAs);
  const { acknowledges } = decided;
  const chosen =
    acknowledges === null || known === null
      ? decided
      : await withRefusal(context, acknowledged(known), start, decided.recordedAs);
  return { ...chosen, acknowledges, open: known?.open ?? null };
}

async function withRefusal(
  context: ExchangeContext,
  record: VaultRecord | null,
  start: Start,
  recordedAs: number | null | undefined,
): Promise<Decision & Pick<Preview, "refusal">> {
  try {
    return { ...(await decide(context, record, start, recordedAs)), refusal: null };
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== "guard") throw error;
    const forced = { ...start, force: true };
    return { ...(await decide(context, record, forced, recordedAs)), refusal: error };
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
function acknowledged(record: VaultRecord): VaultRecord {
  const generations = record.generations.map((g) =>
    g.generation === record.open?.newGeneration
      ? { ...g, standing: "current" as const, proven: true }
      : { ...g, standing: "superseded" as const },
  );
  return { ...record, generations, unackedStarts: 0, open: null };
}
