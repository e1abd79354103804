import { isCreditCard } from "../protocol/endpoints.ts";
import { command, noted, withWords, type Way } from "../way.ts";
import {
  allowsStart,
  isLockedBy,
  mustPersonChoose,
  withoutUnanswered,
  wouldLock,
} from "./counting.ts";
import type { Circumstances } from "./next-action.ts";
import { aRead, beforeStart, isRestored, nextAction, unrefused } from "./next-action.ts";
import type { ExchangeRecord, Generation, OpenExchange, VaultRecord } from "./records.ts";
import { importOf, isUndelivered, isUnread, tokenExpiresAt, unlockedOf } from "./records.ts";

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
    const right = importOf(uuid, "--kind", "KIND");
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

/** A person chooses among these credentials: each is one command. */
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
export const endedAtOnce = ({ uuid, open }: VaultRecord): Way =>
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
 * The ways on from an exchange that waits for its acknowledgement: that alone where a read begins
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
    const anew = noted(again, "starts again with the old credentials");
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
  const anew = withWords(
    againOf(uuid, open),
    ...discarding(open),
    ...(open.holdReason === "masked" ? ["--reveal"] : []),
  );
  return open.saveOwed ? saving(anew) : anew;
}

/** The way with a command that saves the new credentials, which a person fills in. */
const saving = (way: Way): Way => ({
  ...withWords(way, "--save-cmd", "CMD"),
  fill: [...(way.fill ?? []), "CMD"],
});

/** After a delete that may have arrived, only the service can tell. */
export const isStillThere = (uuid: string): Way =>
  noted(command`vault info ${uuid}`, "is the vault still there? then run it again");

export const noneArrived = (uuid: string, then = ""): Way =>
  noted(
    command`vault guard ${uuid} --reset --unanswered`,
    `if the audit log shows none of the unanswered starts${then}`,
  );

/** A person says what the audit log shows. */
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
