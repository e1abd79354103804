import { defined } from "../../defined.ts";
import type { Cause, LockRule, VaultReport } from "../../documents/audit.ts";
import { counted } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import type { Way } from "../../way.ts";
import { command } from "../../way.ts";
import { beforeRelease } from "../flags.ts";
import type { Vault } from "../fold/vault.ts";
import { inBrackets } from "./evidence.ts";
import type { Explanation } from "./explanation.ts";
import type { Log, VaultEvent } from "./log.ts";
import type { Judgement } from "./verdict.ts";

type Advice = VaultReport["advice"];

const noted = (way: Way, note: string): Way => ({ ...way, note });

/** Describes the cause of a lock, with the items that led to it, and returns the next step for support and for the client's developer. */
export function lockOf(
  { fold: { rules } }: Log,
  { uuid, ending }: Vault,
  judgement: Judgement,
  chain: readonly VaultEvent[],
  { client, calls, refused, why, ends }: Explanation,
): { cause: Cause; advice: Advice } {
  const { rule = "unseen", lockedAt = 0 } = judgement;
  const { certainty, reason } = judgement.ofRule ?? judgement;
  const { limits, release, autoLockAfterMs } = rules;
  const isSure = judgement.certainty === "certain";
  const probably = certainty === "certain" ? "" : "probably ";
  const last = chain.at(-1);
  const by = inBrackets(last?.item);
  const isFound = last?.event === "refused-locked";
  const shown = isFound ? `when a call${by} was refused because of the lock` : "as an item records";
  const locked = `${isSure ? "Locked" : "Probably locked"} at ${new Date(lockedAt).toISOString()}`;
  const inARow = (what: string, limit: number): string => {
    const { isGuess = false, count = 0 } = ending ?? {};
    const seen = count < limit ? ` (${count} in the log)` : "";
    return [
      locked,
      isGuess ? ` or just before, ${shown},` : "",
      ` ${isSure ? probably : ""}after ${limit} ${what} in a row${seen}`,
      isGuess || by === "" ? "" : `, the last one${by}`,
    ].join("");
  };
  const trying = calls < 2 ? "" : `, which has sent ${counted(calls, "call")} since the lock`;
  const stop = `Stop the client that ${probably}caused this${inBrackets(client)}${trying}, or it will lock the vault again.`;
  const the = `The client${inBrackets(client)}`;
  const failed = `${the} ${failureWords(why, probably, refused?.replacedBy?.acknowledgement.at)}`;
  const days = Math.round(autoLockAfterMs / 86_400_000);
  const rows: Record<LockRule, readonly [text: string, support: string, developer: string]> = {
    "failed-attempts": [inARow("failed attempts", limits.failedAttempts), stop, failed],
    "unacknowledged-starts": [
      inARow("unacknowledged starts", limits.unackedStarts),
      stop,
      `${the} ${endWords(rules.tokenLifetimeMs, probably)[ends]}`,
    ],
    "expired-invalid-start": [
      `${locked}, when a start with invalid credentials${by} expired`,
      stop,
      failed,
    ],
    "auto-lock": [
      `${locked} by auto-lock: no accepted start for ${days} days`,
      "Find out who still needs the vault.",
      "Read each vault at least once a year, or watch its autoLockDate.",
    ],
    administrator: [
      `${locked} by an administrator${by}`,
      "Ask the administrator why it was locked.",
      "The client is not known to be at fault. Ask who locked the vault, and why.",
    ],
    unseen: [
      `${locked} or before, ${shown}; ${chain.length > 1 ? "the calls before it may have caused it" : "the log does not show the cause"}`,
      "Find out what locked it: a client that did will lock it again.",
      "An export from the console, or one that begins earlier, may show what locked the vault.",
    ],
  };
  const [text, support, developer] = rows[rule];
  const first = isSure ? "" : "The vault is probably locked: look it up in the console first. ";
  const history = noted(
    command`vault status ${uuid} --history`,
    "shows the credentials of this machine",
  );
  const reset = noted(
    command`vault guard ${uuid} --reset`,
    "after the unlock, on each machine that uses the vault with this program",
  );
  const cannot = rule === "failed-attempts" && beforeRelease(release, "1.2.17");
  return {
    cause: {
      rule,
      // The call that found it locked did not lock it.
      ...defined({ item: isFound || rule === "unseen" ? undefined : last?.item }),
      chain: chain.map(({ item }) => item),
      certainty,
      reason,
      text: `${text}.`,
      ...defined({ refused }),
    },
    advice: cannot
      ? {
          support: `${first}Release ${release} cannot unlock a vault that failed reads have locked. Create a new vault and fill it from the source of its contents.`,
          developer,
          next: [history],
        }
      : {
          support: `${first}${support} Then have an administrator unlock the vault in the console.`,
          developer,
          next: [reset, history],
        },
  };
}

/** What the client did, and what to change, by how its acknowledgements ended. */
const endWords = (tokenLifetimeMs: number, probably: string) => ({
  late: `acknowledged too late. Send the end call within ${lasting(tokenLifetimeMs)} of the start, as soon as the new credentials are stored durably. Once the token has expired, start again with the old credentials.`,
  refused:
    "sent acknowledgements that were refused. Send the token of the newest start, unchanged. Once it has expired, start again with the old credentials.",
  none: `started exchanges without acknowledging any: it ${probably}fails between start and end, or its end calls do not arrive. Store the new credentials and the token durably, then send the end call and retry until it gets a response.`,
});

/** The same, by why its credentials were refused. */
function failureWords(
  why: Explanation["why"],
  probably: string,
  replacedAt: string | undefined,
): string {
  const own = `sent credentials that its own exchange, acknowledged at ${replacedAt}, had replaced: it does not store the new ones, or does not use them.`;
  const newest =
    "Send only the newest acknowledged credentials, and never send refused ones again.";
  return {
    "own-exchange": `${probably}${own} ${newest}`,
    "same-address": `probably ${own} ${newest}`,
    "other-exchange": `${probably}sent credentials that another exchange, acknowledged at ${replacedAt}, had replaced: two clients share the vault. Let one of them read it, or have each fetch the newest credentials before it starts. ${newest}`,
    "never-valid": `${probably}sent the new credentials of a start that was never acknowledged, which never became valid. Start again with the credentials before them, and acknowledge.`,
    device:
      "was refused for its device, not for its credentials: send the device (browser and operating system) with which the vault was created.",
    pin: "was refused for its PIN, not for its credentials: send the hashedPin with which the vault was created.",
    "unknown-reason":
      "was refused for a reason that is not known to be about credentials. Find out what it means before anything is sent again.",
    none: `${probably}sent credentials that are not current. ${newest}`,
  }[why];
}

/** States in which an exchange of this machine has a token. */
const withToken: ReadonlySet<string> = new Set(["started", "held", "ending"]);

/** Returns the next step for a vault that is not locked. */
export function adviceOf(
  log: Log,
  vault: Vault,
  { verdict, certainty }: Judgement,
  exchange: VaultReport["exchange"],
  explanation: Explanation,
): Advice {
  const { uuid, unackedStarts, failedAttempts } = vault;
  const isSure = certainty === "certain";
  const { tokenExpiry = "", item } = exchange ?? {};
  const own = item?.own;
  // An export may be old, and only the state knows whether this machine's token and credentials are still there.
  const isOpen =
    Date.parse(tokenExpiry) > log.now && (own === undefined || withToken.has(own.state));
  const history = command`vault status ${uuid} --history`;
  const late =
    explanation.ends === "none"
      ? ""
      : " Its acknowledgements were refused: send each before its token expires.";
  const steps = (support: string, developer: string, ...next: Way[]): Advice => {
    const isKnown = isSure && log.isWhole && unackedStarts + failedAttempts > 0;
    const counters = noted(
      command`vault guard ${uuid} --reset --failed ${failedAttempts} --starts ${unackedStarts}`,
      "where the lockout guard of this program counts otherwise, and no item is newer than this log",
    );
    return { support, developer, next: [...next, ...(isKnown ? [counters] : [])] };
  };
  switch (verdict) {
    case "deleted":
      return isSure
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
    case "at-risk": {
      const what =
        failedAttempts > 0 && failedAttempts >= unackedStarts ? "failed attempt" : "start";
      return steps(
        `Stop the client${inBrackets(explanation.client)} now: one more ${what} ${isSure ? "" : "probably "}locks the vault.${
          isOpen
            ? ` The open exchange can still be acknowledged until ${tokenExpiry}, which resets the counters.`
            : ""
        }`,
        "Find the valid credentials before sending anything. An acknowledged exchange resets the counters.",
        history,
        command`vault guard ${uuid}`,
      );
    }
    case "open-exchange":
      if (own !== undefined)
        return steps(
          `Not locked. It is an exchange of this machine: its status names ${isOpen ? `what is possible before ${tokenExpiry}` : "the next step"}.`,
          "Send nothing but what the status names.",
          command`vault status ${uuid}`,
        );
      if (isOpen)
        return steps(
          `Have the client acknowledge it before ${tokenExpiry}.`,
          "Acknowledge each exchange once its new credentials are stored durably.",
          noted(command`vault ack ${uuid}`, "on the client's machine"),
        );
      if (!isSure)
        return steps(
          vault.hasKnownCounters
            ? "Probably not locked. Its token has expired."
            : "Not known to be locked, but earlier starts may count: the next one may lock it.",
          `Before the next start, find out which credentials are current.${late}`,
          history,
        );
      return steps(
        late === ""
          ? "Not locked, and not urgent: the token has expired, and the old credentials are still valid."
          : "Not locked yet. The client's acknowledgements are refused, so that its next starts will lock the vault.",
        `Start again with the old credentials and acknowledge.${late}`,
        noted(command`vault get ${uuid}`, "does both"),
      );
    case "ok":
      return steps("No action needed.", "No action needed.");
    case "locked":
    case "unknown":
      return {
        support:
          "No verdict is possible from this log. Look the vault up in the console, or say what the words that were not understood mean.",
        developer: "No verdict is possible yet.",
        next: [],
      };
  }
}
