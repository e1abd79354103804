import { VaultError, type ErrorFacts } from "../errors.ts";
import type { Answer } from "../protocol/answers.ts";
import { command, noted } from "../way.ts";
import { allowsStart, isLockedBy, spentBy, wouldLock } from "./counting.ts";
import { serviceDetails } from "./dispositions.ts";
import type { Circumstances, Refusal, Wish } from "./next-action.ts";
import { aRead, beforeStart, nextAction } from "./next-action.ts";
import { currentRecord, interruptedBefore, type ExchangeContext } from "./ports.ts";
import type { ExchangeRecord, Generation, VaultRecord } from "./records.ts";
import { importOf, isUndelivered, noCredentials, summarize } from "./records.ts";
import { holdReasons } from "./states.ts";
import { endedAtOnce, finishOf, isStillThere, waysOn } from "./ways.ts";

/** The error of a refusal, with the ways on. Nothing was sent. */
export function refusalError(
  vault: VaultRecord,
  { because, candidates }: Refusal,
  wish: Wish,
  circumstances: Circumstances,
): VaultError {
  const { uuid, open } = vault;
  const { policy } = circumstances;
  const facts = { uuid, next: waysOn(vault, circumstances) };
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
      const before = `the service has refused generation ${candidates[0]?.generation ?? ""} of vault ${uuid} before`;
      const why = explainRefusal(vault);
      return notSent(why === null ? before : `${before}. ${why}`, { next: [importOf(uuid)] });
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
  const first = beforeStart(vault, wish, circumstances);
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
  const next = waysOn(vault, circumstances);
  return new VaultError(code, `${why}${more}`, {
    ...facts,
    next: next.length > 0 ? next : facts.next,
  });
}

/** Why the guard would refuse a plain read, as exit 8 says it; null if it would not. */
export function refusedByGuard(vault: VaultRecord, circumstances: Circumstances): string | null {
  if (!allowsStart(vault, circumstances.policy)) return whyGuarded(vault, circumstances);
  const action = nextAction(vault, aRead, circumstances);
  const isChoice = action.do === "refuse" && action.because === "choice";
  return isChoice ? whyChoice(vault, action.candidates) : null;
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

/** Explains why credentials that have worked are refused; null if none of those that were refused have worked. */
const explainRefusal = ({ provenAt, generations }: VaultRecord): string | null =>
  provenAt !== null && generations.some(({ proven, refused }) => proven && refused)
    ? `another machine or program has probably used this vault since ${provenAt}, when its credentials last worked here`
    : null;

/** Exit 12 for the exchange of a record that is in doubt. */
export const inDoubtError = (
  vault: VaultRecord,
  circumstances: Circumstances,
  answer?: Answer,
): VaultError =>
  new VaultError(
    "in-doubt",
    "the acknowledgement may or may not have arrived; both the old and the new credentials are kept",
    {
      uuid: vault.uuid,
      exchange: exchangeOf(vault),
      service: answer && serviceDetails(answer),
      next: waysOn(vault, circumstances),
    },
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
