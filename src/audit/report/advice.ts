import type { Cause, VaultReport } from "./report.ts";
import type { Rules } from "../fold/rules.ts";
import { beforeRelease } from "../fold/rules.ts";

type Known = Pick<VaultReport, "uuid" | "verdict" | "certainty" | "pending" | "unackedStarts" | "failedAttempts"> & { cause?: Cause };

/** Returns the next step for support and for the developer of the client. `now` is in milliseconds since the epoch. */
export function adviceOf(vault: Known, rules: Rules, now: number): VaultReport["advice"] {
  if (vault.certainty === "unknown") {
    return {
      support:
        "Nothing can be said: name the column that holds the actions (--map action=…), or ask for an export that has them in English.",
      developer: "Nothing can be said.",
    };
  }
  switch (vault.verdict) {
    case "locked":
      return lockedAdvice(vault, rules);
    case "at-risk":
      return riskAdvice(vault, now);
    case "open-exchange":
      return openAdvice(vault, now);
    case "deleted":
      return { support: "It is gone, and cannot be brought back: create a new vault.", developer: "Stop using this uuid." };
    case "ok":
      return { support: "Nothing is to be done.", developer: "Nothing is to be done." };
  }
}

function lockedAdvice({ uuid, cause }: Known, rules: Rules): VaultReport["advice"] {
  const reset = `vault guard ${uuid} --reset`;
  const cannot = cause?.rule === "failed-accesses" && beforeRelease(rules.release, "1.2.17");
  const unlock = cannot
    ? `Release ${rules.release} cannot unlock a vault that failed reads have locked: restore its contents from their source into a new vault.`
    : `${before(cause)} Then have an administrator unlock it in the console, and run ${reset} where this program is used.`;
  return { support: unlock, developer: developerAdvice(cause, uuid) };
}

/** Returns what to do before an unlock. */
function before(cause: Cause | undefined): string {
  switch (cause?.rule) {
    case "administrator":
      return "Ask the administrator who locked it for the reason.";
    case "auto-lock":
      return "Find out who still needs it.";
    case "failed-accesses":
    case "unacknowledged-starts":
    case "expired-invalid-start":
    case "unseen":
    case undefined:
      return "Make sure that the client that caused this has stopped, or it locks the vault again.";
  }
}

function developerAdvice(cause: Cause | undefined, uuid: string): string {
  switch (cause?.rule) {
    case "failed-accesses":
    case "expired-invalid-start":
      return (
        "It sent credentials that are not the current ones: most often a pair that an acknowledged exchange has replaced, or two clients " +
        `that share one vault. Send only the newest acknowledged pair, and never the same refused one twice. vault status ${uuid} --history shows what this machine has.`
      );
    case "unacknowledged-starts":
      return (
        "It started exchanges and did not acknowledge them: it fails between start and end. Store the new pair and the token durably, then " +
        "send the end call, again until it is answered; after its token has expired start again with the old pair."
      );
    case "auto-lock":
      return "Read each vault at least once a year, or watch its autoLockDate: vault doctor warns of it.";
    case "administrator":
      return "Nothing is known to be wrong with the client: ask who locked it, and why.";
    case "unseen":
    case undefined:
      return "An export of audit items from the console, or one that begins earlier, would show what locked it.";
  }
}

function riskAdvice({ uuid, unackedStarts, failedAttempts, pending }: Known, now: number): VaultReport["advice"] {
  const next = failedAttempts > 0 && failedAttempts >= unackedStarts ? "one more failed access locks it" : "one more start locks it";
  const alive = isAlive(pending, now);
  return {
    support: `Stop the client now: ${next}.${alive ? ` The open exchange can still be acknowledged until ${pending.expiresAt}, which sets the counters to zero.` : ""}`,
    developer: `Find the pair that is valid before anything is sent: vault status ${uuid} --history, vault guard ${uuid}. A success and its acknowledgement set the counters to zero.`,
  };
}

/** Whether the token is still valid now: an export may be old. */
const isAlive = (pending: VaultReport["pending"], now: number): pending is NonNullable<VaultReport["pending"]> =>
  pending !== undefined && Date.parse(pending.expiresAt) > now;

function openAdvice({ uuid, pending }: Known, now: number): VaultReport["advice"] {
  if (isAlive(pending, now)) {
    return {
      support: `Have the client acknowledge it before ${pending.expiresAt} (vault ack ${uuid}).`,
      developer: "Acknowledge each exchange once its new pair is stored durably.",
    };
  }
  return {
    support: "No lock, and no hurry: its token has expired, and the old credentials are the valid ones.",
    developer: `Start again with the old credentials, and acknowledge (vault get ${uuid} does both).`,
  };
}
