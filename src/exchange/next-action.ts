import type { Operation } from "../protocol/endpoints.ts";
import type { Way } from "../way.ts";
import { isUnread, tokenExpiresAt } from "./records.ts";
import type { Counters, Policy } from "./counting.ts";
import { allowsStart, isLastToWait, isLockedBy, mustPersonChoose } from "./counting.ts";
import type { Clock } from "./ports.ts";
import type { Generation, OpenExchange, VaultRecord } from "./records.ts";

/** What is asked for with a vault, as far as it decides what comes next. A delete is a start with another call: it does what an update does. */
export interface Wish {
  operation: Operation | "delete" | "ack";
  /** Drop what is held or left, and start again with the old credentials. */
  discardPending: boolean;
  /** Send it whatever the guard says. */
  force: boolean;
  /** The stored credentials to send, in place of all that may be valid. */
  generation?: number | undefined;
  /** Hold the exchange after the delivery. */
  noAck?: boolean;
  /** Another program has a part in the delivery, and the end call waits for it. */
  takesTime?: boolean | undefined;
  /** `ack`: also a read of a limited vault that may not have been delivered. */
  unread?: boolean;
  /** `ack`: nothing is owed to --save-cmd or --credentials-out any more, because the user has saved the new credentials. */
  saved?: boolean;
  /** Starts a held exchange again, in place of a plain read or update. */
  again?: Way;
}

export const aRead: Wish = { operation: "get", discardPending: false, force: false };

/** What decides, beside the vault and the wish. */
export interface Circumstances {
  policy: Policy;
  /** That of the state. */
  clock: Pick<Clock, "now">;
  /** Generations that the service has refused to this very command. */
  tried?: readonly number[];
  /** Those that it has refused as they would be sent now (pin, device, kind); by default those that it has refused as stored. */
  refused?: ReadonlySet<number>;
}

/** Why nothing is done. */
export type Reason =
  /** Somebody must decide on an exchange that waits: held, or with a save owed; a read that may be unseen. */
  | "held"
  | "unread"
  | "in-doubt"
  /** One more start could lock the vault; or would be the last that cannot, and is not acknowledged at once. */
  | "guard"
  | "last-start"
  /** Several credentials may be valid, and only a person may choose among them. */
  | "choice"
  /** The service has refused all that may be valid: before, or now. */
  | "refused"
  /** There are no credentials; or all, or the chosen ones, are superseded or not kept. */
  | "no-credentials"
  | "superseded";

/** A refusal; `candidates` are those among which a person chooses. */
export interface Refusal {
  do: "refuse";
  because: Reason;
  candidates: readonly Generation[];
}

/** What may be done with a vault now. */
export type NextAction =
  /** Nothing is pending that could be acknowledged. */
  | { do: "done" }
  /** Acknowledge this exchange, and then ask again. */
  | { do: "end"; exchange: OpenExchange }
  /** Start with the first of these, which are in the order in which they are tried; never empty. */
  | { do: "start"; candidates: readonly [Generation, ...Generation[]] }
  | Refusal;

const refuse = (because: Reason, candidates: readonly Generation[] = []): Refusal => ({
  do: "refuse",
  because,
  candidates,
});

/**
 * Decides what may be done with a vault now (docs/design.md, One decision). Whatever shows, counts or carries out what comes next asks
 * here.
 * `guard` comes before all that is about the choice of credentials, unless something was sent and refused already.
 */
export function nextAction(
  vault: VaultRecord,
  wish: Wish,
  circumstances: Circumstances,
): NextAction {
  const { tried = [] } = circumstances;
  if (tried.length > 0 && untried(vault, wish, circumstances).length === 0)
    return refuse("refused");
  return beforeStart(vault, wish, circumstances) ?? choose(vault, wish, circumstances);
}

/** The part of the decision that needs no credentials; null for a start. */
export function beforeStart(
  vault: Counters & Pick<VaultRecord, "open">,
  wish: Wish,
  { policy, clock }: Circumstances,
): Exclude<NextAction, { do: "start" }> | null {
  const { open } = vault;
  const isAllowed = wish.force || allowsStart(vault, policy);
  if (open !== null) {
    const first = withOpen(open, wish, isAllowed, clock.now());
    if (first === "end") return { do: "end", exchange: open };
    if (first !== "start") return refuse(first);
  } else if (wish.operation === "ack") return { do: "done" };
  return isAllowed ? null : refuse("guard");
}

/** Refuses the last start before a lock if its acknowledgement waits for something else. */
export const lastStart = (
  vault: Counters,
  wish: Wish,
  { policy }: Circumstances,
): Refusal | null =>
  !wish.force && (wish.noAck === true || wish.takesTime === true) && isLastToWait(vault, policy)
    ? refuse("last-start")
    : null;

/** What comes first while an exchange is open. A start drops it, or settles it if it is in doubt. */
function withOpen(
  open: OpenExchange,
  { operation, discardPending, force, unread, saved }: Wish,
  mayStart: boolean,
  now: number,
): "end" | "start" | Reason {
  if (operation === "ack") {
    if (open.state === "in-doubt") return "in-doubt";
    if (open.state === "ending") return "end";
    if (isUnread(open) && unread !== true) return "unread";
    return open.saveOwed && saved !== true ? "held" : "end";
  }
  if (open.state === "ending") return "end";
  if (open.state === "in-doubt") return "start";
  if (open.state === "held") {
    // A read does not drop an update that somebody may be about to finish.
    const isOther = open.operation === "update" && operation === "get" && !force;
    if (discardPending) return isOther ? "held" : "start";
    const isLapsed = open.operation === "get" && !open.saveOwed && tokenExpiresAt(open) <= now;
    return isLapsed && operation === "get" ? "start" : "held";
  }
  if (discardPending) return "start";
  // The state has lost what came next, as after a failover: the service is asked by the end call.
  if (open.endsUnanswered > 0 && !open.limited) return "end";
  if (operation !== "get") return "start";
  // That is what the user had asked for.
  if (open.operation === "update") return "end";
  // Acknowledging an undelivered read of a limited vault would use it up unseen.
  return mayStart || open.limited ? "start" : "end";
}

/** Most credentials that one command tries: a refusal of the first makes the second likely to be valid. */
const triesAtMost = 2;

function choose(vault: VaultRecord, wish: Wish, circumstances: Circumstances): NextAction {
  const { policy, tried = [] } = circumstances;
  const { generation, force } = wish;
  if (sendable(vault, wish).length === 0) {
    const isEmpty = generation === undefined && vault.generations.length === 0;
    return refuse(isEmpty ? "no-credentials" : "superseded");
  }
  const left = untried(vault, wish, circumstances);
  const [first, ...others] = left;
  if (first === undefined) return refuse("refused", sendable(vault, wish));
  if (tried.length > 0 && isLockedBy(vault, policy)) return refuse("guard", left);
  if (generation === undefined) {
    const isClear = likely(left).length < 2 || !mustPersonChoose(vault, policy);
    // If nothing is proven since a restore, the machine that has the right ones must still have its turn.
    const mostTries = isRestored(vault) ? 1 : triesAtMost;
    if ((!force && !isClear) || tried.length >= mostTries) return refuse("choice", left);
  }
  return lastStart(vault, wish, circumstances) ?? { do: "start", candidates: [first, ...others] };
}

/** Only a restore or a failover takes its proof from the current credentials. */
export const isRestored = ({ generations }: VaultRecord): boolean =>
  generations.some(({ standing, proven }) => standing === "current" && !proven);

/** What may be sent at all, refused or not, in order. */
function sendable(vault: VaultRecord, { generation, force }: Wish): Generation[] {
  if (generation === undefined) return candidates(vault);
  return vault.generations.filter(
    (g) => g.generation === generation && (force || g.standing !== "superseded"),
  );
}

/** What is left to send: without what was refused, or that last with --force. */
function untried(
  vault: VaultRecord,
  wish: Wish,
  { refused, tried = [] }: Circumstances,
): Generation[] {
  const isRefused = (g: Generation): boolean => refused?.has(g.generation) ?? g.refused;
  const all = sendable(vault, wish).filter((g) => !tried.includes(g.generation));
  const fresh = all.filter((g) => !isRefused(g));
  return wish.force ? [...fresh, ...all.filter(isRefused)] : fresh;
}

/**
 * The credentials that may be valid (docs/design.md, Candidates), in the order in which they are tried: imported since the last proof, a
 * successor of the current ones first; those of an exchange in doubt, the new ones first if an end call may have been sent; the current
 * ones; older ones. While an exchange waits for its acknowledgement those that it began with are the only ones: any other would discard
 * it.
 */
export function candidates({ generations, open }: VaultRecord): Generation[] {
  const isBase = ({ generation }: Generation): boolean => generation === open?.baseGeneration;
  if (open !== null && open.state !== "in-doubt") return generations.filter(isBase);
  const mayBeEnded = open !== null && open.endsUnanswered > 0;
  const placeOf = (one: Generation): number => {
    const isImported = one.standing === "imported";
    if (isImported && one.placed === "successor") return 0;
    // Those of an adopted exchange in doubt are imported too, but the exchange decides their order.
    const isNew = one.generation === open?.newGeneration;
    if (one.placed !== "older" && (isNew || isBase(one))) return isNew === mayBeEnded ? 2 : 3;
    if (isImported) return one.placed === null ? 1 : 5;
    return one.standing === "current" ? 4 : 6;
  };
  const kept = generations.filter(({ standing }) => standing !== "superseded");
  return kept.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** The candidates that the service has not refused. */
export const unrefused = (vault: VaultRecord): Generation[] =>
  candidates(vault).filter(({ refused }) => !refused);

/** Those that are equally likely to be valid: neither older nor void. */
export const likely = (generations: readonly Generation[]): Generation[] =>
  generations.filter(({ placed, standing }) => placed !== "older" && standing !== "void");
