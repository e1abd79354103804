import { beforeRelease } from "../fold/rules.ts";
import type { Cause, Rules, VaultReport } from "../../documents/audit.ts";

type Known = Pick<
  VaultReport,
  "uuid" | "verdict" | "certainty" | "unackedStarts" | "failedAttempts"
> & { exchange: VaultReport["exchange"]; cause: Cause | undefined };

/** What advice depends on, beside the report. */
interface Circumstances {
  rules: Rules;
  /** Current time, in milliseconds since the epoch. */
  now: number;
  /** The items are the service's own, up to the last one. */
  isWholeLog: boolean;
}

type Sentences = Omit<VaultReport["advice"], "next">;

/** Returns the next step for support and for the developer of the client. */
export function adviceOf(
  vault: Known,
  { rules, now, isWholeLog }: Circumstances,
): VaultReport["advice"] {
  const { support, developer } = stepsOf(vault, rules, now);
  return {
    support: isWholeLog ? `${support}${countersAdvice(vault)}` : support,
    developer,
    next: [],
  };
}

/** Names the command that sets the lockout guard's counters to those of the log, if they are certain. */
function countersAdvice({
  uuid,
  verdict,
  certainty,
  unackedStarts,
  failedAttempts,
}: Known): string {
  const isOpenToStarts = verdict === "at-risk" || verdict === "open-exchange" || verdict === "ok";
  if (!isOpenToStarts || certainty !== "certain" || unackedStarts + failedAttempts === 0) return "";
  const command = `vault guard ${uuid} --reset --failed ${failedAttempts} --starts ${unackedStarts}`;
  return ` Where the lockout guard of this program counts otherwise, and no item is newer than this log: ${command}`;
}

function stepsOf(vault: Known, rules: Rules, now: number): Sentences {
  switch (vault.verdict) {
    case "unknown":
      return {
        support:
          "No verdict is possible yet: say what the unknown actions mean (--action OLD=NEW), or name the column that has the actions (--map action=COLUMN).",
        developer: "No verdict is possible yet.",
      };
    case "locked":
      return lockedAdvice(vault, rules);
    case "at-risk":
      return riskAdvice(vault, now);
    case "open-exchange":
      return openAdvice(vault, now);
    case "deleted":
      return {
        support: "The vault is deleted and cannot be restored. Create a new one.",
        developer: "Stop using this UUID.",
      };
    case "ok":
      return { support: "No action needed.", developer: "No action needed." };
  }
}

function lockedAdvice({ uuid, cause }: Known, rules: Rules): Sentences {
  const reset = `vault guard ${uuid} --reset`;
  const cannot = cause?.rule === "failed-attempts" && beforeRelease(rules.release, "1.2.17");
  const unlock = cannot
    ? `Release ${rules.release} cannot unlock a vault that failed reads have locked. Create a new vault and fill it from the source of its contents.`
    : `${before(cause)} Then have an administrator unlock the vault in the console, and run ${reset} on each machine that uses it with this program.`;
  return { support: unlock, developer: developerAdvice(cause, uuid) };
}

/** Returns what to do before an unlock. */
function before(cause: Cause | undefined): string {
  switch (cause?.rule) {
    case "administrator":
      return "Ask the administrator why it was locked.";
    case "auto-lock":
      return "Find out who still needs the vault.";
    case "failed-attempts":
    case "unacknowledged-starts":
    case "expired-invalid-start":
      return "Stop the client that caused this, or it will lock the vault again.";
    case "unseen":
    case undefined:
      return "Find out what locked it: a client that did will lock it again.";
  }
}

function developerAdvice(cause: Cause | undefined, uuid: string): string {
  switch (cause?.rule) {
    case "failed-attempts":
    case "expired-invalid-start":
      return (
        "The client sent credentials that are not current: usually an acknowledged exchange has replaced them, or two clients share the vault. " +
        `Send only the newest acknowledged credentials, and never send refused ones again. vault status ${uuid} --history shows what this machine has.`
      );
    case "unacknowledged-starts":
      return (
        "The client started exchanges and did not acknowledge them: it fails between start and end. Store the new credentials and the token " +
        "durably, then send the end call and retry until it gets a response. Once the token has expired, start again with the old credentials."
      );
    case "auto-lock":
      return "Read each vault at least once a year, or watch its autoLockDate: vault doctor warns about it.";
    case "administrator":
      return "The client is not known to be at fault. Ask who locked the vault, and why.";
    case "unseen":
    case undefined:
      return "An export from the console, or one that begins earlier, may show what locked the vault.";
  }
}

function riskAdvice(
  { uuid, unackedStarts, failedAttempts, exchange }: Known,
  now: number,
): Sentences {
  const next =
    failedAttempts > 0 && failedAttempts >= unackedStarts
      ? "one more failed attempt locks the vault"
      : "one more start locks the vault";
  const isOpen = canBeAcknowledged(exchange, now);
  return {
    support: `Stop the client now: ${next}.${isOpen ? ` The open exchange can still be acknowledged until ${exchange.tokenExpiry}, which resets the counters.` : ""}`,
    developer: `Find the valid credentials before sending anything: vault status ${uuid} --history, vault guard ${uuid}. An acknowledged exchange resets the counters.`,
  };
}

/** States in which an exchange of this machine has a token. */
const withToken: ReadonlySet<string> = new Set(["started", "held", "ending"]);

/** Whether there may be a token that is still valid now: an export may be old. */
const canBeAcknowledged = (
  exchange: VaultReport["exchange"],
  now: number,
): exchange is NonNullable<VaultReport["exchange"]> =>
  exchange !== undefined &&
  Date.parse(exchange.tokenExpiry) > now &&
  (exchange.item.own === undefined || withToken.has(exchange.item.own.state));

function openAdvice({ uuid, exchange }: Known, now: number): Sentences {
  const isOpen = canBeAcknowledged(exchange, now);
  const acknowledge = "Acknowledge each exchange once its new credentials are stored durably.";
  // Only the state knows whether its token and credentials are still there, and what must come before.
  if (exchange?.item.own !== undefined) {
    const what = isOpen ? `what is possible before ${exchange.tokenExpiry}` : "the next step";
    return {
      support: `Not locked. It is an exchange of this machine: vault status ${uuid} names ${what}.`,
      developer: isOpen
        ? acknowledge
        : `There is nothing to acknowledge. Send nothing but what vault status ${uuid} names.`,
    };
  }
  if (isOpen) {
    return {
      support: `Have the client acknowledge it before ${exchange.tokenExpiry} (on its machine: vault ack ${uuid}).`,
      developer: acknowledge,
    };
  }
  return {
    support:
      "Not locked, and not urgent: the token has expired, and the old credentials are still valid.",
    developer: `Start again with the old credentials and acknowledge (vault get ${uuid} does both).`,
  };
}
