import type { Rules, VaultReport } from "../../documents/audit.ts";
import { counted } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import type { Way } from "../../way.ts";
import { command } from "../../way.ts";
import { beforeRelease } from "../fold/rules.ts";
import type { Explanation } from "./explanation.ts";

type Known = Pick<
  VaultReport,
  "uuid" | "verdict" | "certainty" | "unackedStarts" | "failedAttempts" | "exchange" | "cause"
>;

/** What advice depends on, beside the report. */
interface Circumstances {
  rules: Rules;
  /** Current time, in milliseconds since the epoch. */
  now: number;
  /** The items are the service's own, up to the last one. */
  isWholeLog: boolean;
  /** The log begins late: the counters are lower bounds. */
  beginsLate: boolean;
  explanation: Explanation;
}

type Advice = VaultReport["advice"];

const noted = (way: Way, note: string): Way => ({ ...way, note });

/** Returns the next step for support and for the developer of the client, and the commands for it. */
export function adviceOf(vault: Known, circumstances: Circumstances): Advice {
  const { uuid, verdict, certainty, unackedStarts, failedAttempts } = vault;
  const advice = stepsOf(vault, circumstances);
  const isOpenToStarts = verdict === "at-risk" || verdict === "open-exchange" || verdict === "ok";
  const isKnown = circumstances.isWholeLog && certainty === "certain" && isOpenToStarts;
  if (!isKnown || unackedStarts + failedAttempts === 0) return advice;
  const way = noted(
    command`vault guard ${uuid} --reset --failed ${failedAttempts} --starts ${unackedStarts}`,
    "where the lockout guard of this program counts otherwise, and no item is newer than this log",
  );
  return { ...advice, next: [...advice.next, way] };
}

function stepsOf(vault: Known, circumstances: Circumstances): Advice {
  switch (vault.verdict) {
    case "locked":
      return lockedAdvice(vault, circumstances);
    case "at-risk":
      return riskAdvice(vault, circumstances);
    case "open-exchange":
      return openAdvice(vault, circumstances);
    case "unknown":
      return {
        support:
          "No verdict is possible from this log. Look the vault up in the console, or say what the words that were not understood mean.",
        developer: "No verdict is possible yet.",
        next: [],
      };
    case "deleted":
      return vault.certainty === "certain"
        ? {
            support: "The vault is deleted and cannot be restored. Create a new one.",
            developer: "Stop using this UUID.",
            next: [],
          }
        : {
            support:
              "The vault is probably deleted or expired: look it up in the console. An unlock does not help.",
            developer: "Check the UUID. If the vault is gone, create a new one.",
            next: [],
          };
    case "ok":
      return { support: "No action needed.", developer: "No action needed.", next: [] };
  }
}

function lockedAdvice(
  { uuid, cause, certainty }: Known,
  { rules, explanation }: Circumstances,
): Advice {
  const isSure = certainty === "certain";
  const first = isSure ? "" : "The vault is probably locked: look it up in the console first. ";
  const history = command`vault status ${uuid} --history`;
  const cannot = cause?.rule === "failed-attempts" && beforeRelease(rules.release, "1.2.17");
  return {
    support: cannot
      ? `${first}Release ${rules.release} cannot unlock a vault that failed reads have locked. Create a new vault and fill it from the source of its contents.`
      : `${first}${beforeUnlock(cause, explanation)} Then have an administrator unlock the vault in the console.`,
    developer: developerAdvice(cause, rules, explanation),
    next: [
      ...(cannot
        ? []
        : [
            noted(
              command`vault guard ${uuid} --reset`,
              "after the unlock, on each machine that uses the vault with this program",
            ),
          ]),
      noted(history, "shows the credentials of this machine"),
    ],
  };
}

function beforeUnlock(cause: Known["cause"], { client, calls }: Explanation): string {
  switch (cause?.rule) {
    case "administrator":
      return "Ask the administrator why it was locked.";
    case "auto-lock":
      return "Find out who still needs the vault.";
    case "unseen":
    case undefined:
      return "Find out what locked it: a client that did will lock it again.";
    case "failed-attempts":
    case "unacknowledged-starts":
    case "expired-invalid-start": {
      const probably = cause.certainty === "certain" ? "" : "probably ";
      const who = client === undefined ? "" : ` (${client})`;
      const trying = calls < 2 ? "" : `, which has sent ${counted(calls, "call")} since the lock`;
      return `Stop the client that ${probably}caused this${who}${trying}, or it will lock the vault again.`;
    }
  }
}

function developerAdvice(
  cause: Known["cause"],
  { tokenLifetimeMs }: Rules,
  { client, why, ends, refused }: Explanation,
): string {
  const who = client === undefined ? "The client" : `The client (${client})`;
  const probably = cause?.certainty === "certain" ? "" : "probably ";
  const at = refused?.replacedBy?.acknowledgement.at;
  switch (cause?.rule) {
    case "failed-attempts":
    case "expired-invalid-start":
      return `${who} ${failureAdvice(why, probably, at === undefined ? "" : ` at ${at}`)}`;
    case "unacknowledged-starts":
      return `${who} ${
        {
          late: `acknowledged too late. Send the end call within ${lasting(tokenLifetimeMs)} of the start, as soon as the new credentials are stored durably. Once the token has expired, start again with the old credentials.`,
          refused:
            "sent acknowledgements that were refused. Send the token of the newest start, unchanged. Once it has expired, start again with the old credentials.",
          none: `started exchanges without acknowledging any: it ${probably}fails between start and end, or its end calls do not arrive. Store the new credentials and the token durably, then send the end call and retry until it gets a response.`,
        }[ends]
      }`;
    case "auto-lock":
      return "Read each vault at least once a year, or watch its autoLockDate.";
    case "administrator":
      return "The client is not known to be at fault. Ask who locked the vault, and why.";
    case "unseen":
    case undefined:
      return "An export from the console, or one that begins earlier, may show what locked the vault.";
  }
}

function failureAdvice(why: Explanation["why"], probably: string, at: string): string {
  const newest =
    "Send only the newest acknowledged credentials, and never send refused ones again.";
  switch (why) {
    case "own-exchange":
    case "same-address":
      return `${why === "same-address" ? "probably " : probably}sent credentials that its own exchange, acknowledged${at}, had replaced: it does not store the new ones, or does not use them. ${newest}`;
    case "other-exchange":
      return `${probably}sent credentials that another exchange, acknowledged${at}, had replaced: two clients share the vault. Let one of them read it, or have each fetch the newest credentials before it starts. ${newest}`;
    case "never-valid":
      return `${probably}sent the new credentials of a start that was never acknowledged, which never became valid. Start again with the credentials before them, and acknowledge.`;
    case "device":
      return "was refused for its device, not for its credentials: send the device (browser and operating system) with which the vault was created.";
    case "pin":
      return "was refused for its PIN, not for its credentials: send the hashedPin with which the vault was created.";
    case "unknown-reason":
      return "was refused for a reason that is not known to be about credentials. Find out what it means before anything is sent again.";
    case undefined:
      return `${probably}sent credentials that are not current. ${newest}`;
  }
}

function riskAdvice(
  { uuid, unackedStarts, failedAttempts, exchange, certainty }: Known,
  { now, explanation: { client } }: Circumstances,
): Advice {
  const isFailed = failedAttempts > 0 && failedAttempts >= unackedStarts;
  const locks = certainty === "certain" ? "locks" : "probably locks";
  const who = client === undefined ? "" : ` (${client})`;
  const acknowledge = canBeAcknowledged(exchange, now)
    ? ` The open exchange can still be acknowledged until ${exchange.tokenExpiry}, which resets the counters.`
    : "";
  return {
    support: `Stop the client${who} now: one more ${isFailed ? "failed attempt" : "start"} ${locks} the vault.${acknowledge}`,
    developer:
      "Find the valid credentials before sending anything. An acknowledged exchange resets the counters.",
    next: [command`vault status ${uuid} --history`, command`vault guard ${uuid}`],
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

function openAdvice(
  { uuid, exchange, certainty }: Known,
  { now, beginsLate, explanation: { ends } }: Circumstances,
): Advice {
  const acknowledge = "Acknowledge each exchange once its new credentials are stored durably.";
  // Only the state knows whether its token and credentials are still there, and what must come before.
  const isOwn = exchange?.item.own !== undefined;
  const its = "Not locked. It is an exchange of this machine: its status names";
  const late =
    ends === "none"
      ? ""
      : " Its acknowledgements were refused: send each before its token expires.";
  if (canBeAcknowledged(exchange, now))
    return {
      support: isOwn
        ? `${its} what is possible before ${exchange.tokenExpiry}.`
        : `Have the client acknowledge it before ${exchange.tokenExpiry}.`,
      developer: acknowledge,
      next: [
        isOwn
          ? command`vault status ${uuid}`
          : noted(command`vault ack ${uuid}`, "on the client's machine"),
      ],
    };
  if (isOwn)
    return {
      support: `${its} the next step.`,
      developer: "There is nothing to acknowledge. Send nothing but what the status names.",
      next: [command`vault status ${uuid}`],
    };
  if (beginsLate || certainty !== "certain")
    return {
      support: beginsLate
        ? "Not known to be locked, but earlier starts may count: the next one may lock it."
        : "Probably not locked. Its token has expired.",
      developer: `Before the next start, find out which credentials are current.${late}`,
      next: [command`vault status ${uuid} --history`],
    };
  return {
    support:
      late === ""
        ? "Not locked, and not urgent: the token has expired, and the old credentials are still valid."
        : "Not locked yet. The client's acknowledgements are refused, so that its next starts will lock the vault.",
    developer: `Start again with the old credentials and acknowledge.${late}`,
    next: [noted(command`vault get ${uuid}`, "does both")],
  };
}
