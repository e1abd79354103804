import { defined } from "../../defined.ts";
import type { Cause, LockRule, VaultReport } from "../../documents/audit.ts";
import { durationInWords } from "../../terminal/time.ts";
import { command, type Way } from "../../way.ts";
import { beforeRelease } from "../flags.ts";
import type { Verdict } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import type { Evidence } from "./verdict.ts";
import { inBrackets, type Log } from "./log.ts";
import type { Explanation } from "./explanation.ts";

const noted = (way: Way, note: string): Way => ({ ...way, note });

/** Describes the cause of a lock, with the items that led to it. */
export function causeOf(
  { fold: { rules } }: Log,
  { ending }: Vault,
  evidence: Evidence,
  { why, item: other }: Explanation,
): Cause {
  const { rule = "unseen", lockedAt = 0, chain } = evidence;
  const { certainty, reason } = evidence.ofRule ?? evidence;
  const { limits, autoLockAfterMs } = rules;
  const { isGuess = false, count = 0 } = ending ?? {};
  const item = chain.at(-1)?.item;
  const by = inBrackets(item);
  const isFound = item?.event === "refused-locked";
  const shown = isFound ? `when a call${by} was refused because of the lock` : "as an item records";
  const isSure = evidence.certainty === "certain";
  const locked = `${isSure ? "Locked" : "Probably locked"} at ${new Date(lockedAt).toISOString()}`;
  const inARow = (what: string, limit: number): string =>
    [
      isGuess ? ` or just before, ${shown},` : "",
      isSure && certainty !== "certain" ? " probably" : "",
      ` after ${limit} ${what} in a row${count < limit ? ` (${count} in the log)` : ""}`,
      isGuess || by === "" ? "" : `, the last one${by}`,
    ].join("");
  const how: Record<LockRule, string> = {
    "failed-attempts": inARow("failed attempts", limits.failedAttempts),
    "unacknowledged-starts": inARow("unacknowledged starts", limits.unackedStarts),
    "expired-invalid-start": `, when a start with invalid credentials${by} expired`,
    "auto-lock": ` by auto-lock: no accepted start for ${Math.round(autoLockAfterMs / 86_400_000)} days`,
    administrator: ` by an administrator${by}`,
    unseen: ` or before, ${shown}; ${chain.length > 1 ? "the calls before it may have caused it" : "the log does not show the cause"}`,
  };
  return {
    rule,
    // The call that found it locked did not lock it.
    ...defined({ item: isFound || rule === "unseen" ? undefined : item }),
    chain: chain.map((one) => one.item),
    certainty,
    reason,
    text: `${locked}${how[rule]}.`,
    ...defined({ replacedBy: why === "never-valid" ? undefined : other }),
  };
}

/** What the client did wrong, and what to change. */
function faultWords({ client, why, item }: Explanation, probably: string, lifetime: string) {
  const replaced = `, acknowledged at ${item?.at}, had replaced`;
  const own = (which: string) =>
    `sent credentials that its own exchange${which}${replaced}: it does not store the new ones, or does not use them.`;
  const newest =
    "Send only the newest acknowledged credentials, and never send refused ones again.";
  const did = {
    "own-exchange": `${probably}${own("")} ${newest}`,
    "same-address": `probably ${own(inBrackets(item))} ${newest}`,
    "other-exchange": `${probably}sent credentials that another exchange${inBrackets(item)}${replaced}: two clients share the vault. Let one of them read it, or have each fetch the newest credentials before it starts. ${newest}`,
    "never-valid": `${probably}sent the new credentials of a start at ${item?.at} that was never acknowledged, which never became valid. Start again with the credentials before them, and acknowledge.`,
    creation: `${probably}sent credentials that were never valid: nothing in this log has replaced those of the vault's creation. ${newest}`,
    device:
      "was refused for its device, not for its credentials: send the device (browser and operating system) with which the vault was created.",
    pin: "was refused for its PIN, not for its credentials: send the hashedPin with which the vault was created.",
    "unknown-reason":
      "was refused for a reason that is not known to be about credentials. Find out what it means before anything is sent again.",
    none: `${probably}sent credentials that are not current. ${newest}`,
    "refused-ends": `sent acknowledgements that were refused. Send the end call within ${lifetime} of the newest start, with its token unchanged, as soon as the new credentials are stored durably. Once the token has expired, start again with the old credentials.`,
    "no-ends": `started exchanges without acknowledging any: it ${probably}fails between start and end, or its end calls do not arrive. Store the new credentials and the token durably, then send the end call and retry until it gets a response.`,
  };
  return `The client${inBrackets(client)} ${did[why]}`;
}

/** What to do: for support, for the client's developer, and the commands. */
type Row = readonly [support: string, developer: string, ...next: Way[]];

export function adviceOf(
  { fold: { rules }, isWhole, now }: Log,
  { uuid, unackedStarts, failedAttempts, hasKnownCounters }: Vault,
  { verdict, rule = "unseen", certainty, ofRule }: Evidence,
  exchange: VaultReport["exchange"],
  explanation: Explanation,
): VaultReport["advice"] {
  const isSure = certainty === "certain";
  const { tokenExpiry = "" } = exchange ?? {};
  // An export may be old.
  const isOpen = Date.parse(tokenExpiry) > now;
  const probably = (ofRule?.certainty ?? certainty) === "certain" ? "" : "probably ";
  const by = inBrackets(explanation.client);
  const fault = faultWords(explanation, probably, durationInWords(rules.tokenLifetimeMs));
  const { others } = explanation;
  const also = others && ` Calls by ${others} count too: stop that client as well.`;
  const lookUp = isSure ? "" : "The vault is probably locked: look it up in the console first. ";
  const unlock =
    rule === "failed-attempts" && beforeRelease(rules.release, "1.2.17")
      ? `Release ${rules.release} cannot unlock it: fill a new vault from the source of its contents.`
      : "Then have an administrator unlock the vault in the console.";
  const history = command`vault status ${uuid} --history`;
  const known = noted(history, "shows the credentials of this machine");
  const reset = noted(
    command`vault guard ${uuid} --reset`,
    "after the unlock, on each machine that uses the vault with this program",
  );
  const isFailed = failedAttempts > 0 && failedAttempts >= unackedStarts;
  const locks = `one more ${isFailed ? "failed attempt" : "start"} ${isSure ? "" : "probably "}locks the vault.`;
  const resets = ` The open exchange can still be acknowledged until ${tokenExpiry}, which resets the counters.`;
  const isRefused = explanation.why === "refused-ends";
  const refused = isRefused
    ? " Its acknowledgements were refused: send each before its token expires."
    : "";
  const locked: Partial<Record<LockRule, readonly [support: string, developer: string]>> = {
    "auto-lock": [
      "Find out who still needs the vault.",
      "Read each vault at least once a year, or watch its autoLockDate.",
    ],
    administrator: [
      "Ask the administrator why it was locked.",
      "The client is not known to be at fault. Ask who locked the vault, and why.",
    ],
    unseen: [
      "Find out what locked it: a client that did will lock it again.",
      "An export from the console, or one that begins earlier, may show what locked the vault.",
    ],
  };
  const stop = `Stop the client that ${probably}caused this${by}, or it will lock the vault again.`;
  const [first, why] = locked[rule] ?? [stop + also, fault];
  const rows: Record<Verdict, Row> = {
    locked: [`${lookUp}${first} ${unlock}`, why, reset, known],
    deleted: isSure
      ? ["The vault is deleted and cannot be restored. Create a new one.", "Stop using this UUID."]
      : [
          "The vault is probably deleted or expired: look it up in the console. An unlock does not help.",
          "Check the UUID. If the vault is gone, create a new one.",
        ],
    ok: ["No action needed.", "No action needed."],
    unknown: [
      "No verdict is possible from this log. Look the vault up in the console, or say what the words that were not understood mean.",
      "No verdict is possible yet.",
    ],
    "at-risk": [
      `Stop the client${by} now: ${locks}${also}${isOpen ? resets : ""}`,
      "Find the valid credentials before sending anything. An acknowledged exchange resets the counters.",
      history,
      command`vault guard ${uuid}`,
    ],
    "open-exchange": [
      isRefused
        ? "Not locked yet. The client's acknowledgements are refused, so that its next starts will lock the vault."
        : "Not locked, and not urgent: the token has expired, and the old credentials are still valid.",
      `Start again with the old credentials and acknowledge.${refused}`,
      noted(command`vault get ${uuid}`, "does both"),
    ],
  };
  if (isOpen)
    rows["open-exchange"] = [
      `Have the client acknowledge it before ${tokenExpiry}.`,
      "Acknowledge each exchange once its new credentials are stored durably.",
      noted(command`vault ack ${uuid}`, "on the client's machine"),
    ];
  else if (!isSure)
    rows["open-exchange"] = [
      hasKnownCounters
        ? "Probably not locked. Its token has expired."
        : "Not known to be locked, but earlier starts may count: the next one may lock it.",
      `Before the next start, find out which credentials are current.${refused}`,
      history,
    ];
  const [support, developer, ...next] = rows[verdict];
  const counters = noted(
    command`vault guard ${uuid} --reset --failed ${failedAttempts} --starts ${unackedStarts}`,
    "if the lockout guard of this program counts differently, and no item is newer than this log",
  );
  const isKnown = isSure && isWhole && unackedStarts + failedAttempts > 0;
  const isUsable = verdict !== "locked" && verdict !== "deleted";
  return { support, developer, next: isKnown && isUsable ? [...next, counters] : next };
}
