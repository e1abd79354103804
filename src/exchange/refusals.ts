import { VaultError, type ErrorFacts } from "../errors.ts";
import { isCreditCard } from "../protocol/endpoints.ts";
import { command, noted, withWords, type Way } from "../way.ts";
import {
  allowsStart,
  isLockedBy,
  mustPersonChoose,
  spentBy,
  withoutUnanswered,
  wouldLock,
} from "./counting.ts";
import type { Circumstances, Refusal, Wish } from "./next-action.ts";
import { aRead, beforeStart, isRestored, lastStart, nextAction, unrefused } from "./next-action.ts";
import { currentRecord, interruptedBefore } from "./context.ts";
import type { ExchangeContext } from "./ports.ts";
import type { ExchangeRecord, Generation, OpenExchange, VaultRecord } from "./records.ts";
import { importOf, isLive, isUndelivered, isUnread, noCredentials } from "./records.ts";
import { summarize, tokenExpiresAt, unlockedOf } from "./records.ts";
import { holdReasons } from "./states.ts";

/** The error of a refusal, with the ways on. Nothing was sent. */
export function refusalError(
  vault: VaultRecord,
  { because, candidates }: Refusal,
  wish: Wish,
  circumstances: Circumstances,
): VaultError {
  const { uuid, open } = vault;
  const { policy } = circumstances;
  // A read drops no update.
  const again = wish.operation === "get" && open?.operation === "update" ? undefined : wish.again;
  const facts = { uuid, next: waysOn(vault, circumstances, again) };
  const notSent = (why: string, more: ErrorFacts = {}): VaultError =>
    new VaultError("guard", `not sent: ${why}`, { ...facts, ...more });
  const pending = (what: string, next = facts.next): VaultError =>
    new VaultError("pending", what, { uuid, exchange: exchangeOf(vault), next });
  switch (because) {
    case "held": {
      const held = `an exchange of this vault is held (${holdReasons[open?.holdReason ?? "no-ack"]})`;
      if (!wish.discardPending || open?.operation !== "update") return pending(held);
      const next = [
        // Its acknowledgement, with what that needs.
        ...facts.next.slice(0, 1),
        noted(
          command`vault get ${uuid} --discard-pending --force`,
          "drops the update, and reads the vault with the old credentials",
        ),
      ];
      return pending(`${held}: an update, which a read drops only with --force`, next);
    }
    case "unread":
      return pending(
        "this read of a limited vault may not have been delivered, and acknowledging it uses it up",
      );
    case "in-doubt":
      return inDoubtError(vault, circumstances);
    case "guard":
      return notSent(whyGuarded(vault, circumstances), {
        spent: spentBy(vault, policy),
        by: vault.last?.by ?? undefined,
      });
    case "last-start":
      return notSent(
        `${vault.unackedStarts} of ${policy.unackedStarts} unacknowledged starts used; the last that cannot lock the vault must be acknowledged at once`,
        { next: [endedAtOnce(vault)], spent: spentBy(vault, policy) },
      );
    case "choice":
      return notSent(whyChoice(vault, candidates));
    case "refused": {
      const next = [...plainRead(vault, circumstances), importOf(uuid)];
      return notSent(whyRefused(vault, candidates), { next });
    }
    case "no-credentials":
      return noCredentials(uuid);
    case "superseded": {
      const which =
        wish.generation === undefined ? "every generation" : `generation ${wish.generation}`;
      const isForced = wish.force && wish.generation !== undefined;
      const or = isForced ? "" : ", or was superseded and is sent only with --generation N --force";
      const next = [command`vault status ${uuid} --history`, importOf(uuid)];
      const why = `${which} of vault ${uuid} is not kept${or}`;
      return new VaultError("no-credentials", why, { uuid, next });
    }
  }
}

/** @throws the error of a refusal that is certain, whatever the credentials are */
export function throwIfRefused(vault: VaultRecord, wish: Wish, circumstances: Circumstances): void {
  const first = beforeStart(vault, wish, circumstances) ?? lastStart(vault, wish, circumstances);
  if (first?.do === "refuse") throw refusalError(vault, first, wish, circumstances);
}

const exchangeOf = ({ open }: VaultRecord): ErrorFacts["exchange"] =>
  open === null ? undefined : summarize(open);

/**
 * The error of a command whose last start was refused, once nothing more is done by itself. Something was sent, and the refusal of the
 * guard alone would not say so.
 */
export function afterRefusal(
  vault: VaultRecord,
  { because, candidates }: Refusal,
  { code, message, facts }: VaultError,
  circumstances: Circumstances,
): VaultError {
  const why = [explainRefusal(vault), message].filter((part) => part !== null).join(": ");
  const isLocked = isLockedBy(vault, circumstances.policy);
  const more =
    because === "choice"
      ? `. ${whyChoice(vault, candidates)}`
      : isLocked
        ? "; by the counters, the vault is locked now"
        : "";
  const next = [...plainRead(vault, circumstances), ...waysOn(vault, circumstances)];
  return new VaultError(code, `${why}${more}`, {
    ...facts,
    next: next.length > 0 ? next : facts.next,
  });
}

/** The way on if credentials that have worked were refused with something else beside them. */
function plainRead(vault: VaultRecord, { policy, clock, refused }: Circumstances): Way[] {
  const isBeside = vault.generations.some((g) => refused?.has(g.generation) && !g.refused);
  return isBeside && nextAction(vault, aRead, { policy, clock }).do === "start"
    ? [noted(command`vault get ${vault.uuid}`, "without --hashed-pin, --device and --kind")]
    : [];
}

/** Why the guard would refuse a plain read, as exit 8 says it; null if it would not. */
export function refusedByGuard(vault: VaultRecord, circumstances: Circumstances): string | null {
  if (!allowsStart(vault, circumstances.policy)) return whyGuarded(vault, circumstances);
  const action = nextAction(vault, aRead, circumstances);
  if (action.do !== "refuse") return null;
  if (action.because === "choice") return whyChoice(vault, action.candidates);
  return action.because === "refused" ? whyRefused(vault, action.candidates) : null;
}

function whyGuarded(vault: VaultRecord, { policy }: Circumstances): string {
  const { uuid, failedAttempts, possiblyFailed, unackedStarts, unansweredStarts } = vault;
  const part = (counted: number, unanswered: number, limit: number, what: string): string[] => {
    const uncertain = unanswered === 0 ? "" : ` (${unanswered} of them unanswered)`;
    return wouldLock(counted, limit) ? [`${counted} of ${limit} ${what} used${uncertain}`] : [];
  };
  const used = [
    ...part(failedAttempts, possiblyFailed, policy.failedAttempts, "failed attempts"),
    ...part(unackedStarts, unansweredStarts, policy.unackedStarts, "unacknowledged starts"),
  ].join(" and ");
  return isLockedBy(vault, policy)
    ? `by the counters, vault ${uuid} is locked: ${used}`
    : `it could lock vault ${uuid}: ${used}; one more locks the vault`;
}

function whyChoice({ failedAttempts }: VaultRecord, left: readonly Generation[]): string {
  const named = left.map(({ generation, standing }) => `${generation} (${standing})`).join(", ");
  return `${failedAttempts} failed ${failedAttempts === 1 ? "attempt is" : "attempts are"} on record, and ${left.length === 1 ? "others may be valid: generation" : "several credentials may be valid: generations"} ${named}`;
}

function whyRefused(vault: VaultRecord, [one]: readonly Generation[]): string {
  const before = `the service has refused generation ${one?.generation ?? ""} of vault ${vault.uuid} before`;
  const why = explainRefusal(vault);
  return why === null ? before : `${before}; ${why}`;
}

/** Explains why credentials that have worked are refused; null if none of them have, or others may be valid. */
const explainRefusal = ({ provenAt, generations }: VaultRecord): string | null =>
  provenAt !== null &&
  generations.some((one) => one.proven && one.refused && isLive(one)) &&
  !generations.some((one) => !one.refused && isLive(one))
    ? `another machine or program has probably used this vault since ${provenAt}, when its credentials last worked here`
    : null;

/** Exit 12 for the exchange of a record that is in doubt. */
export const inDoubtError = (
  vault: VaultRecord,
  circumstances: Circumstances,
  service?: ErrorFacts["service"],
): VaultError =>
  new VaultError(
    "in-doubt",
    "the acknowledgement may or may not have arrived; both the old and the new credentials are kept",
    { uuid: vault.uuid, exchange: exchangeOf(vault), service, next: waysOn(vault, circumstances) },
  );

/**
 * Checks that a vault may be forgotten: its credentials are known, and no exchange is open unless it is to be dropped.
 * @throws `no-credentials`, `pending`, `in-doubt`
 */
export function checkForget(
  uuid: string,
  vault: VaultRecord | null | undefined,
  discardPending: boolean,
): void {
  if (!vault || vault.generations.length === 0) throw noCredentials(uuid);
  const { open } = vault;
  if (open === null || discardPending) return;
  const isInDoubt = open.state === "in-doubt";
  const message = `not forgotten, which could lose it: an exchange of this vault is ${open.state}`;
  const finishes = isInDoubt ? command`vault get ${uuid}` : finishOf(uuid, open);
  throw new VaultError(isInDoubt ? "in-doubt" : "pending", message, {
    uuid,
    exchange: summarize(open),
    next: [
      noted(finishes, finishes.note ?? "finishes it"),
      noted(command`vault forget ${uuid} --discard-pending`, "forgets the vault anyway"),
    ],
  });
}

/** Exit 130, with the state in which the exchange is left. */
export async function interrupted(
  context: ExchangeContext,
  exchange?: ExchangeRecord,
): Promise<VaultError> {
  const { uuid } = context.session;
  if (exchange === undefined) return interruptedBefore(uuid);
  const isStart = exchange.state === "intent";
  const isDelete = exchange.operation === "delete";
  const what = isStart
    ? ` while the ${isDelete ? "delete" : "start"} was in progress; it may have reached the service, and counts; the stored credentials are kept`
    : "; the new credentials are stored, but not acknowledged";
  const ways = isStart
    ? [isDelete ? isStillThere(uuid) : command`vault status ${uuid}`]
    : waysOn(await currentRecord(context), context);
  // Whoever stops a read has not got what it reads.
  const again = noted(command`vault get ${uuid}`, "starts again with the old credentials");
  const isRead = exchange.state === "started" && isUndelivered(exchange) && !exchange.limited;
  return new VaultError("interrupted", `interrupted${what}`, {
    uuid,
    exchange: summarize(exchange),
    next: isRead ? [again, ...ways] : ways,
  });
}

/**
 * The ways on for a vault, the best first; none if nothing is to be done. Messages, `status`, `guard` and the JSON take `next` from
 * it. A way never leads back to the same refusal with nothing changed. `again` starts a held exchange again.
 */
export function waysOn(vault: VaultRecord, circumstances: Circumstances, again?: Way): Way[] {
  const { uuid, lastError, open, last } = vault;
  if (lastError?.code === "locked")
    return [unlockedOf(uuid), ...(open?.state === "ending" ? [command`vault ack ${uuid}`] : [])];
  if (lastError?.code === "gone")
    return [noted(command`vault get ${uuid}`, "asks again, once --base-url and --kind are right")];
  if (vault.generations.length === 0) {
    const right = importOf(uuid, "--kind", vault.kind);
    // The counters outlive the credentials.
    return allowsStart(vault, circumstances.policy) ? [right] : [right, shownBy(uuid)];
  }
  if (open !== null && open.state !== "in-doubt")
    return openWays(vault, open, circumstances, again);
  const action = nextAction(vault, aRead, circumstances);
  if (action.do === "refuse") {
    const { because, candidates } = action;
    if (because === "guard") return guardedWays(vault, circumstances);
    return because === "choice" ? choices(vault, candidates, circumstances) : [importOf(uuid)];
  }
  if (open !== null)
    return [noted(command`vault get ${uuid}`, "finds out which credentials are valid")];
  if (isRestored(vault)) {
    const adds = "on each machine that has used it: adds what that has kept, and sends nothing";
    return [
      noted(command`vault status`, adds),
      noted(command`vault get ${uuid}`, "tries the restored credentials"),
    ];
  }
  return last?.state === "intent" ? [command`vault get ${uuid}`] : [];
}

function choices(
  vault: VaultRecord,
  generations: readonly Generation[],
  { policy }: Circumstances,
): Way[] {
  const answered = { ...vault, ...withoutUnanswered(vault) };
  return [
    ...(mustPersonChoose(answered, policy) ? [] : [noneArrived(vault.uuid)]),
    ...generations.map(({ generation, standing }) =>
      noted(command`vault get ${vault.uuid} --generation ${generation}`, standing),
    ),
    importOf(vault.uuid),
  ];
}

/** The last start that is allowed goes out if it is acknowledged at once. */
const endedAtOnce = ({ uuid, open }: VaultRecord): Way =>
  open?.state === "held" && open.operation === "update"
    ? command`vault ack ${uuid}`
    : command`vault get ${uuid} ${discarding(open)}`;

/** What a start needs although an exchange is held. */
const discarding = (open: OpenExchange | null): string[] =>
  open?.state === "held" ? ["--discard-pending"] : [];

export const againOf = (
  uuid: string,
  { operation, kind }: Pick<ExchangeRecord, "kind" | "operation">,
): Way => {
  if (operation !== "update") return command`vault ${operation} ${uuid}`;
  return isCreditCard(kind)
    ? command`vault update ${uuid} --card @FILE`
    : command`vault update ${uuid} --content @FILE`;
};

/**
 * The ways on from an exchange that waits for its acknowledgement: that alone if a read begins
 * with it, or nothing is used up by it at ②; else also another start, by `again` if given, and if the
 * guard allows one. What nobody has received is read again first.
 */
function openWays(
  vault: VaultRecord,
  open: OpenExchange,
  circumstances: Circumstances,
  again: Way = anewOf(vault.uuid, open),
): Way[] {
  const ack = command`vault ack ${vault.uuid}`;
  const unread = isUnread(open);
  const isLeft = open.state === "started";
  if ((isLeft && !unread) || beforeStart(vault, aRead, circumstances)?.do === "end") return [ack];
  const finished = finishOf(vault.uuid, open);
  if (allowsStart(vault, circumstances.policy)) {
    const way = open.saveOwed ? saving(again) : again;
    const anew = noted(way, "starts again with the old credentials");
    return isUndelivered(open) ? [anew, finished] : [finished, anew];
  }
  if (isLeft && tokenExpiresAt(open) > circumstances.clock.now()) return [finished];
  const guarded = guardedWays(vault, circumstances);
  if (!unread) return [finished, ...guarded];
  // A read is used up before the vault is locked.
  const isForced = ({ argv }: Way): boolean => argv.includes("--force");
  return [...guarded.filter((way) => !isForced(way)), finished, ...guarded.filter(isForced)];
}

/** The acknowledgement of an exchange, with what that needs. */
export function finishOf(uuid: string, open: OpenExchange): Way {
  const ack = command`vault ack ${uuid}`;
  if (open.state === "ending") return ack;
  const unread = isUnread(open);
  const notes = [
    ...(unread ? ["uses the read up"] : []),
    ...(open.saveOwed ? ["or --saved, if the new credentials are saved elsewhere"] : []),
  ];
  const note = notes.join(", ") || undefined;
  const finishes = { ...withWords(ack, ...(unread ? ["--unread"] : [])), note };
  return open.saveOwed ? saving(finishes) : finishes;
}

function anewOf(uuid: string, open: OpenExchange): Way {
  return withWords(
    againOf(uuid, open),
    ...discarding(open),
    ...(open.holdReason === "masked" ? ["--reveal"] : []),
  );
}

/** The way with a command that saves the new credentials, which a person fills in if it has none. */
const saving = (way: Way): Way =>
  way.argv.includes("--save-cmd")
    ? way
    : { ...withWords(way, "--save-cmd", "CMD"), fill: [...(way.fill ?? []), "CMD"] };

/** After a delete that may have arrived, only the service can tell. */
export const isStillThere = (uuid: string): Way =>
  noted(command`vault info ${uuid}`, "is the vault still there? then run it again");

export const noneArrived = (uuid: string, then = ""): Way =>
  noted(
    command`vault guard ${uuid} --reset --unanswered`,
    `if the audit log shows none of the unanswered starts${then}`,
  );

const shownBy = (uuid: string): Way =>
  noted(
    command`vault guard ${uuid} --reset --failed N --starts N`,
    "what the audit log shows since the last success and acknowledgement, as vault audit-replay FILE prints it",
  );

/** The ways past the guard, of which only a person can know which one is right. */
function guardedWays(vault: VaultRecord, { policy }: Circumstances): Way[] {
  const { uuid, unackedStarts, open } = vault;
  const unackedWouldLock = wouldLock(unackedStarts, policy.unackedStarts);
  const shown = shownBy(uuid);
  if (isLockedBy(vault, policy)) return [unlockedOf(uuid), shown];
  const usable = unrefused(vault);
  const right = importOf(uuid);
  // Refused ones never lead on, whatever the counters are; of the others a person can say which are right.
  if (usable.length === 0) return [right, shown];
  if (allowsStart(withoutUnanswered(vault), policy)) return [noneArrived(uuid), shown];
  const effect = unackedWouldLock
    ? `locks the vault if the audit log shows ${unackedStarts} starts, and an administrator must unlock it then`
    : "one more refusal locks the vault";
  const forced = usable.map(({ generation, standing }) =>
    noted(
      command`vault get ${uuid} --generation ${generation} --force ${discarding(open)}`,
      `sends the ${standing} credentials: ${effect}`,
    ),
  );
  return [shown, ...(unackedWouldLock ? [] : [right]), ...forced];
}
