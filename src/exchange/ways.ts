import { isTokenAlive, isUndelivered, isUnread } from "./context.ts";
import { withoutUnanswered, isLockedBy, mustPersonChoose, startRisk } from "./counting.ts";
import { isCreditCard } from "../protocol/endpoints.ts";
import type { Way } from "../way.ts";
import { command, noted, withWords } from "../way.ts";
import type { ExchangeRecord, Generation, OpenExchange, VaultRecord } from "./records.ts";
import type { Circumstances, Refusal } from "./next-action.ts";
import { aRead, isRestored, nextAction, unrefused } from "./next-action.ts";

/**
 * The ways on for a vault, the best first; none if nothing is to be done. Messages, `status`, `guard` and the JSON take `next` from
 * it. A way never leads back to the same refusal with nothing changed.
 */
export function waysOn(vault: VaultRecord, circumstances: Circumstances): Way[] {
  const { uuid, lastError, open, last } = vault;
  if (lastError?.code === "locked")
    return [unlockedOf(uuid), ...(open?.state === "ending" ? [command`vault ack ${uuid}`] : [])];
  if (lastError?.code === "gone") return goneWays(vault);
  if (vault.generations.length === 0) return [importOf(uuid, "--kind", "KIND")];
  if (open?.state === "held") return heldWays(vault, circumstances);
  if (open !== null && open.state !== "in-doubt") return leftWays(vault, open, circumstances);
  const action = nextAction(vault, aRead, circumstances);
  if (action.do === "refuse") return refusalWays(vault, action, circumstances);
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

function refusalWays(
  vault: VaultRecord,
  { because, candidates }: Refusal,
  circumstances: Circumstances,
): Way[] {
  if (because === "guard") return guardedWays(vault, circumstances);
  return because === "choice" ? choices(vault, candidates, circumstances) : [importOf(vault.uuid)];
}

function goneWays({ uuid, usesRemaining, open }: VaultRecord): Way[] {
  const isUsedUp = usesRemaining !== null && usesRemaining <= 1;
  const forget = command`vault forget ${uuid} ${open === null ? [] : ["--discard-pending"]}`;
  const again = noted(
    command`vault get ${uuid}`,
    "asks the service again, once --base-url and --kind are right",
  );
  return isUsedUp ? [noted(forget, "its last read has probably used it up"), again] : [again];
}

/** The command for a vault that is locked: the counters begin anew once an administrator has unlocked it. */
export const unlockedOf = (uuid: string): Way =>
  noted(command`vault guard ${uuid} --reset`, "after an administrator has unlocked the vault");

/** The command that finds or takes the right credentials, if those that are known do not work. */
export const importOf = (uuid: string, ...more: readonly string[]): Way =>
  noted(command`vault import ${uuid} ${more} --credentials @FILE`, "the right credentials");

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

/** What a get needs to start although an exchange is held. */
const discarding = (open: OpenExchange | null): string[] =>
  open?.state === "held" ? ["--discard-pending"] : [];

/** The command that starts an exchange again. */
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
 * The ways out of a held exchange: its acknowledgement, or another start, by `again` if given, and if the guard allows one. What nobody
 * has received is read again first.
 */
export function heldWays(vault: VaultRecord, circumstances: Circumstances, again?: Way): Way[] {
  const { uuid, open } = vault;
  if (open === null) return [];
  const { allows } = startRisk(vault, circumstances.policy);
  const anew = allows
    ? [noted(again ?? discardOf(uuid, open), "starts again with the old credentials")]
    : guardedWays(vault, circumstances);
  const unread = isUnread(open);
  const notes = [
    ...(unread ? ["uses the read up"] : []),
    ...(open.saveOwed ? ["or --saved, if the new credentials are saved elsewhere"] : []),
  ];
  const ack: Way = {
    ...command`vault ack ${uuid} ${unread ? ["--unread"] : []}`,
    note: notes.join(", ") || undefined,
  };
  const finished = open.saveOwed ? saving(ack) : ack;
  return unread || (allows && isUndelivered(open)) ? [...anew, finished] : [finished, ...anew];
}

function discardOf(uuid: string, open: OpenExchange): Way {
  const anew = withWords(
    againOf(uuid, open),
    "--discard-pending",
    ...(open.holdReason === "masked" ? ["--reveal"] : []),
  );
  return open.saveOwed ? saving(anew) : anew;
}

/** The way with a command that saves the new credentials, which a person fills in. */
const saving = (way: Way): Way => ({
  ...withWords(way, "--save-cmd", "CMD"),
  fill: [...(way.fill ?? []), "CMD"],
});

/** What leads on from ② and ③. */
function leftWays(vault: VaultRecord, open: OpenExchange, circumstances: Circumstances): Way[] {
  const { uuid } = vault;
  if (open.state === "ending" || !isUnread(open)) return [command`vault ack ${uuid}`];
  const ack = noted(command`vault ack ${uuid} --unread`, "uses the read up");
  if (startRisk(vault, circumstances.policy).allows)
    return [noted(command`vault get ${uuid}`, "reads it again with the old credentials"), ack];
  return isTokenAlive(open, circumstances.clock.now()) ? [ack] : guardedWays(vault, circumstances);
}

export const noneArrived = (uuid: string, then = ""): Way =>
  noted(
    command`vault guard ${uuid} --reset --unanswered`,
    `if the audit log shows none of the unanswered starts${then}`,
  );

/** A person says what the audit log shows. */
export const shownBy = (uuid: string): Way =>
  noted(
    command`vault guard ${uuid} --reset --failed N --starts N`,
    "what the audit log shows since the last success and acknowledgement, as vault audit-replay FILE prints it",
  );

/** The ways past the guard, of which only a person can know which one is right. */
function guardedWays(vault: VaultRecord, { policy }: Circumstances): Way[] {
  const { uuid, unackedStarts, open } = vault;
  const { unackedWouldLock, onlyUnanswered } = startRisk(vault, policy);
  const shown = shownBy(uuid);
  if (isLockedBy(vault, policy)) return [unlockedOf(uuid), shown];
  const usable = unrefused(vault);
  const right = importOf(uuid);
  // Refused ones never lead on, whatever the counters are; of the others a person can say which are right.
  if (usable.length === 0) return [right];
  if (onlyUnanswered) return [noneArrived(uuid), shown];
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
