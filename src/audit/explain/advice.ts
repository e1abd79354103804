import { defined } from "../../defined.ts";
import type { Cause, LockRule, VaultReport } from "../../documents/audit.ts";
import { command, noted, type Way } from "../../way.ts";
import { beforeRelease } from "../flags.ts";
import type { Vault } from "../fold/vault.ts";
import { isFailedAccess, isStart, type Verdict } from "../read/item.ts";
import { listed } from "../read/clip.ts";
import type { Evidence } from "./verdict.ts";
import { type Client, clientWords, inBrackets, type Log, type VaultEvent } from "./log.ts";

/** Describes the cause of a lock, with the items that led to it. */
export function causeOf({ fold: { rules } }: Log, { ending }: Vault, evidence: Evidence): Cause {
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
  };
}

/** Returns what to do, in words and as commands: `fault` is what the client did wrong. */
export function adviceOf(
  { fold: { rules }, isWhole, now }: Log,
  { uuid, unackedStarts, failedAttempts, hasKnownCounters }: Vault,
  { verdict, rule = "unseen", certainty, probably, chain }: Evidence,
  exchange: VaultReport["exchange"],
  { client, fault, isTooLate }: { client: Client; fault: string; isTooLate: boolean },
): VaultReport["advice"] {
  const isSure = certainty === "certain";
  const { tokenExpiry = "" } = exchange ?? {};
  // An export may be old.
  const isOpen = Date.parse(tokenExpiry) > now;
  const by = inBrackets(client);
  const did = `The client${by} ${fault}`;
  const others = othersIn(chain, client);
  const also = others && ` Calls by ${others} count too: stop that client as well.`;
  const stop = `Stop the client that ${probably}caused this${by}, or it will lock the vault again.`;
  const ofRules: Partial<Record<LockRule, string>> = {
    "auto-lock":
      "Find out who still needs the vault. Read each vault at least once a year, or watch its autoLockDate.",
    administrator:
      "The client is not known to be at fault: ask the administrator who locked it, and why.",
    unseen:
      "Find out what locked it: a client that did will lock it again. An export from the console, or one that begins earlier, may show it.",
  };
  const unlock =
    rule === "failed-attempts" && beforeRelease(rules.release, "1.2.17")
      ? `Release ${rules.release} cannot unlock it: fill a new vault from the source of its contents.`
      : "Then have an administrator unlock the vault in the console.";
  const isFailed = failedAttempts > 0 && failedAttempts >= unackedStarts;
  const locks = `one more ${isFailed ? "failed attempt" : "start"} ${isSure ? "" : "probably "}locks the vault.`;
  const resets = isOpen
    ? `The open exchange can still be acknowledged until ${tokenExpiry}, which resets the counters.`
    : "An acknowledged exchange resets the counters.";
  const ends = isTooLate ? [did] : [];
  const history = command`vault status ${uuid} --history`;
  const rows: Record<Verdict, readonly [steps: readonly string[], ...next: Way[]]> = {
    locked: [
      [
        ...(isSure ? [] : ["The vault is probably locked: look it up in the console first."]),
        ...(ofRules[rule] === undefined ? [did, `${stop}${also}`] : [ofRules[rule]]),
        unlock,
      ],
      noted(
        command`vault guard ${uuid} --reset`,
        "after the unlock, on each machine that uses the vault with this program",
      ),
      noted(history, "shows the credentials of this machine"),
    ],
    deleted: [
      isSure
        ? [
            "The vault is deleted and cannot be restored. Create a new one, and stop using this UUID.",
          ]
        : [
            "The vault is probably deleted or expired: check its UUID, and look it up in the console. An unlock does not help. If it is gone, create a new one.",
          ],
    ],
    ok: [["No action needed."]],
    unknown: [
      [
        "No verdict is possible from this log. Look the vault up in the console, or say what the words that were not understood mean.",
      ],
    ],
    "at-risk": [
      [
        `Stop the client${by} now: ${locks}${also}`,
        `Find the valid credentials before sending anything. ${resets}`,
      ],
      history,
      command`vault guard ${uuid}`,
    ],
    "open-exchange": isOpen
      ? [
          [
            `Have the client acknowledge it before ${tokenExpiry}, and each exchange once its new credentials are stored durably.`,
          ],
          noted(command`vault ack ${uuid}`, "on the client's machine"),
        ]
      : isSure
        ? [
            [
              "Not locked: the token has expired, and the old credentials are still valid.",
              "Start again with the old credentials and acknowledge.",
              ...ends,
            ],
            noted(command`vault get ${uuid}`, "does both"),
          ]
        : [
            [
              hasKnownCounters
                ? "Probably not locked. Its token has expired."
                : "Not known to be locked, but earlier starts may count: the next one may lock it.",
              "Before the next start, find out which credentials are current.",
              ...ends,
            ],
            history,
          ],
  };
  const [steps, ...next] = rows[verdict];
  const counters = noted(
    command`vault guard ${uuid} --reset --failed ${failedAttempts} --starts ${unackedStarts}`,
    "if the lockout guard of this program counts differently, and no item is newer than this log",
  );
  const isKnown = isSure && isWhole && unackedStarts + failedAttempts > 0;
  const isUsable = verdict !== "locked" && verdict !== "deleted";
  return { steps: [...steps], next: isKnown && isUsable ? [...next, counters] : next };
}

/** Describes who sent calls that count beside the client, if they share no name or address. */
function othersIn(events: readonly VaultEvent[], client: Client): string {
  const words = events.flatMap(({ event, item }) => {
    const { externalRef, address } = item;
    const isSame = client.address !== undefined && client.address === address;
    if (isSame || !(isStart(event) || isFailedAccess(event))) return [];
    // Where references do not name the client, each is of a single exchange.
    if (client.externalRef === undefined)
      return client.address === undefined ? [] : clientWords(defined({ address }));
    return client.externalRef === externalRef ? [] : clientWords(defined({ externalRef, address }));
  });
  return listed([...new Set(words)].filter((one) => one !== ""));
}
