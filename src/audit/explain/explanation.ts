import { defined } from "../../defined.ts";
import type { Cause, ItemReference, LockRule, VaultReport } from "../../documents/audit.ts";
import { count, grouped } from "../../terminal/count.ts";
import { durationInWords } from "../../terminal/time.ts";
import { command, noted, type Way } from "../../way.ts";
import { beforeRelease } from "../flags.ts";
import type { Vault } from "../fold/vault.ts";
import { listed, short } from "../read/clip.ts";
import type { EventKind, Verdict } from "../read/item.ts";
import { isAcknowledgement, isFailedAccess, isStart } from "../read/item.ts";
import type { Client, Log, VaultEvent } from "./log.ts";
import { clientOf, clientWords, inBrackets, recurring } from "./log.ts";
import { countsAsFailure, type Evidence, hasUnknownReason } from "./verdict.ts";

type Trace = { fault: string; replacedBy?: ItemReference | undefined };

/**
 * Explains a vault by its newest events, of which it reads those that matter: the cause of a lock,
 * what else the log shows, and what to do.
 */
export function explain(
  log: Log,
  vault: Vault,
  evidence: Evidence,
  exchange: VaultReport["exchange"],
): Pick<VaultReport, "cause" | "explanation" | "advice"> {
  const { rule, verdict, probably, chain, before, since } = evidence;
  const { tokenLifetimeMs } = log.fold.rules;
  const client = clientOf(chain);
  const at = Math.max(0, before.indexOf(chain[0] as VaultEvent));
  const hasStarts = chain.some(({ event }) => isStart(event));
  const ends = hasStarts ? [...before.slice(at), ...since] : [];
  const refused = ends.filter(({ event }) => event === "failed-ack");
  const isTooLate = refused.some(({ item }) => isOf(client, item));
  const accepted = before.findLastIndex(({ event }) => isStart(event) || isAcknowledgement(event));
  const isRefused = rule === "failed-attempts" || rule === "expired-invalid-start";
  const { fault, replacedBy }: Trace = isRefused
    ? (reasonOf(log, chain) ?? traceOf(before, at, client, probably))
    : {
        fault: isTooLate
          ? `sent acknowledgements that were refused. Send the end call within ${durationInWords(tokenLifetimeMs)} of the newest start, with its token unchanged, as soon as the new credentials are stored durably. Once the token has expired, start again with the old credentials.`
          : `started exchanges without acknowledging any: it ${probably}fails between start and end, or its end calls do not arrive. Store the new credentials and the token durably, then send the end call and retry until it gets a response.`,
      };
  return defined({
    cause:
      verdict === "locked" ? defined({ ...causeOf(log, vault, evidence), replacedBy }) : undefined,
    explanation: [
      ...sharedBy(before, client),
      ...endsOf(ends, refused, tokenLifetimeMs, isTooLate),
      ...quotes(log, verdict === "locked" ? chain : before.slice(accepted + 1)),
      ...callsSince(vault, since),
    ],
    advice: adviceOf(log, vault, evidence, exchange, { client, fault, isTooLate }),
  });
}

function causeOf({ fold: { rules } }: Log, { ending }: Vault, evidence: Evidence): Cause {
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
function adviceOf(
  { fold: { rules }, isWhole, now }: Log,
  { uuid, unackedStarts, failedAttempts }: Vault,
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
  const locks = `one more ${isFailed ? "failed attempt" : "start"} ${probably}locks the vault.`;
  const resets = isOpen
    ? `The open exchange can still be acknowledged until ${tokenExpiry}, which resets the counters.`
    : "An acknowledged exchange resets the counters.";
  const steps: Record<Verdict, readonly string[]> = {
    locked: [
      ...(isSure ? [] : ["The vault is probably locked: look it up in the console first."]),
      ...(ofRules[rule] === undefined ? [did, `${stop}${also}`] : [ofRules[rule]]),
      unlock,
    ],
    deleted: [
      `The vault is ${probably}gone, and an unlock does not help. Check its UUID, and look it up in the console. ${isSure ? "Create" : "If it is gone, create"} a new one.`,
    ],
    ok: ["No action needed."],
    unknown: [
      "No verdict is possible from this log. Look the vault up in the console, or say what the words that were not understood mean.",
    ],
    "at-risk": [
      `Stop the client${by} now: ${locks}${also}`,
      `Find the valid credentials before sending anything. ${resets}`,
    ],
    "open-exchange": isOpen
      ? [
          `Have the client acknowledge it before ${tokenExpiry}, and each exchange once its new credentials are stored durably.`,
        ]
      : [
          isSure
            ? "Not locked: the token has expired, and the old credentials are still valid."
            : "Not known to be locked, but earlier starts may count: the next one may lock it.",
          isSure
            ? "Start again with the old credentials and acknowledge."
            : "Before the next start, find out which credentials are current.",
          ...(isTooLate ? [did] : []),
        ],
  };
  const history = command`vault status ${uuid} --history`;
  const reset = command`vault guard ${uuid} --reset`;
  const machines = "after the unlock, on each machine that uses the vault with this program";
  const finish = noted(command`vault status ${uuid}`, "on the client's machine: says how");
  const again = isSure ? noted(command`vault get ${uuid}`, "does both") : history;
  const next: Partial<Record<Verdict, Way[]>> = {
    locked: [noted(reset, machines), noted(history, "shows the credentials of this machine")],
    "at-risk": [history, command`vault guard ${uuid}`],
    "open-exchange": [isOpen ? finish : again],
  };
  const counters = noted(
    command`vault guard ${uuid} --reset --failed ${failedAttempts} --starts ${unackedStarts}`,
    "if the lockout guard of this program counts differently, and no item is newer than this log",
  );
  const isKnown = isSure && isWhole && unackedStarts + failedAttempts > 0;
  const isUsable = verdict !== "locked" && verdict !== "deleted";
  return {
    steps: [...steps[verdict]],
    next: [...(next[verdict] ?? []), ...(isKnown && isUsable ? [counters] : [])],
  };
}

/** Describes who sent calls that count beside the client, if they share no name or address. */
function othersIn(events: readonly VaultEvent[], client: Client): string {
  const words = events.flatMap(({ event, item }) => {
    const { externalRef, address } = item;
    const isSame = client.address !== undefined && client.address === address;
    if (isSame || !(isStart(event) || isFailedAccess(event))) return [];
    // If references do not name the client, each is of a single exchange.
    if (client.externalRef === undefined)
      return client.address === undefined ? [] : clientWords(defined({ address }));
    return client.externalRef === externalRef ? [] : clientWords(defined({ externalRef, address }));
  });
  return listed([...new Set(words)].filter((one) => one !== ""));
}

/** Whether nothing tells that another client sent a call. */
const isOf = ({ externalRef: ref, address }: Client, item: ItemReference): boolean =>
  ref !== undefined && item.externalRef !== undefined
    ? ref === item.externalRef
    : address === undefined || item.address === undefined || address === item.address;

/** Says that an address of several clients does not tell them apart. */
function sharedBy(events: readonly VaultEvent[], { address }: Client): string[] {
  if (address === undefined) return [];
  const items = events.flatMap(({ item }) => (item.address === address ? item : []));
  const clients = [...recurring(items)].map(short);
  return clients.length > 1
    ? [`Address ${short(address)} is shared by the references ${listed(clients)}.`]
    : [];
}

/** What failed attempts were refused for, if not for their credentials. */
function reasonOf(log: Log, chain: readonly VaultEvent[]): Trace | undefined {
  const failures = chain.filter(countsAsFailure);
  const isOther = ({ event }: VaultEvent) => event === "failed-device" || event === "failed-pin";
  if (failures.length > 0 && failures.every(isOther))
    return {
      fault:
        "was refused for its device or PIN, not for its credentials: send the device (browser and operating system) and hashedPin with which the vault was created.",
    };
  const fault =
    "was refused for a reason that is not known to be about credentials. Find out what it means before anything is sent again.";
  return failures.some((one) => hasUnknownReason(log, one)) ? { fault } : undefined;
}

interface Exchange {
  start?: ItemReference;
  end?: ItemReference;
}

function exchangesOf(events: readonly VaultEvent[]): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const { event, item } of events) {
    const open = exchanges.at(-1);
    if (isStart(event)) exchanges.push({ start: item });
    else if (!isAcknowledgement(event)) continue;
    else if (open !== undefined && open.end === undefined) open.end = item;
    // One by the same reference is sent again.
    else if (item.externalRef === undefined || open?.end?.externalRef !== item.externalRef)
      exchanges.push({ end: item });
  }
  return exchanges;
}

/**
 * Finds what replaced refused credentials, which were sent from the event `at` on: an exchange
 * acknowledged after the client's last.
 */
function traceOf(
  before: readonly VaultEvent[],
  at: number,
  { externalRef, address }: Client,
  probably: string,
): Trace {
  const exchanges = exchangesOf(before.slice(0, at));
  const clients = recurring(before.map(({ item }) => item));
  const byReference = ({ start }: Exchange): boolean =>
    externalRef !== undefined && start?.externalRef === externalRef;
  const byAddress = ({ start }: Exchange): boolean =>
    address !== undefined && start?.address === address && !clients.has(start.externalRef ?? "");
  const isOver = ({ end }: Exchange): boolean => end !== undefined;
  const isNamed = clients.has(externalRef ?? "") || exchanges.some(byReference);
  const last = exchanges.findLastIndex(isNamed ? byReference : byAddress);
  const own = exchanges[last];
  const other = own ? exchanges.slice(last + 1).find(isOver) : exchanges.findLast(isOver);
  const { start, end } = other ?? own ?? {};
  const sent = (which: string, likely = probably): Trace => ({
    fault: `${likely}sent credentials that ${which} Send only the newest acknowledged credentials, and never send refused ones again.`,
    replacedBy: end,
  });
  if (end === undefined && start !== undefined)
    return {
      fault: `${probably}sent the new credentials of a start at ${start.at} that was never acknowledged, which never became valid. Start again with the credentials before them, and acknowledge.`,
    };
  if (end === undefined)
    return at > 0 && before[0]?.event === "create"
      ? sent("were never valid: nothing in this log has replaced those of the vault's creation.")
      : sent("are not current.");
  const replaced = `, acknowledged at ${end.at}, had replaced`;
  const isNamedOther = externalRef !== undefined && clients.has(end.externalRef ?? "");
  if (other && (isNamed || isNamedOther || address !== undefined))
    return sent(
      `another exchange${inBrackets(end)}${replaced}: two clients share the vault. Let one of them read it, or have each fetch the newest credentials before it starts.`,
    );
  const whose = other ? "an" : "its own";
  return sent(
    `${whose} exchange${isNamed ? "" : inBrackets(end)}${replaced}: ${other ? "either another client shares the vault, or this one" : "it"} does not store the new ones, or does not use them.`,
    isNamed ? probably : "probably ",
  );
}

/** Tells of refused acknowledgements, `ends`, among these events, and which came too late. */
function endsOf(
  events: readonly VaultEvent[],
  ends: readonly VaultEvent[],
  tokenLifetimeMs: number,
  isOfClient: boolean,
): string[] {
  if (ends.length === 0) return [];
  const delays = ends.map((end) => {
    const starts = events.slice(0, events.indexOf(end)).filter(({ event }) => isStart(event));
    const isOfEnd = ({ item }: VaultEvent): boolean => item.externalRef === end.item.externalRef;
    return end.seen.time - (starts.findLast(isOfEnd) ?? starts.at(-1) ?? end).seen.time;
  });
  const late = delays.filter((delay) => delay > tokenLifetimeMs).sort((a, b) => a - b);
  const range = [...new Set([late[0] ?? 0, late.at(-1) ?? 0].map(durationInWords))].join(" to ");
  const some = late.length < ends.length ? `${grouped(late.length)} of them ` : "";
  const came = `, ${some}too late, ${range} after the start: a token is assumed to be valid for ${durationInWords(tokenLifetimeMs)}`;
  const words = isOfClient ? "" : clientWords(clientOf(ends));
  const by = words && ` by ${words}`;
  const were = count(ends.length, `acknowledgement${by} was`, `acknowledgements${by} were`);
  const texts = quoted(ends.map(({ item }) => item.description));
  return [`${were} refused${texts}${late.length === 0 ? "" : came}.`];
}

function quoted(texts: readonly (string | undefined)[]): string {
  const all = [...new Set(texts)].flatMap((text) => (text === undefined ? [] : `“${short(text)}”`));
  return all.length === 0 ? "" : ` with ${listed(all)}`;
}

const meanings: Partial<Record<EventKind, string>> = {
  "failed-device": "The device did not match, so the credentials may have been current",
  "failed-pin": "The PIN did not match, so the credentials may have been current",
  refused: "What that means is not known: wrong credentials, a lock, or something else",
  unauthorized: "That may be about the application or the vault's credentials",
  "not-performed": "That counts nothing toward lockout",
  gone: "The service has no such vault, or no longer",
  "unclear-start": "Whether that was accepted is not known",
  "unclear-ack": "Whether that was accepted is not known",
};

const quotes = (log: Log, all: readonly VaultEvent[]): string[] =>
  Object.entries(meanings).flatMap(([kind, meaning]) => {
    const some = all.filter(({ event }) => event === kind);
    const isBare = kind === "refused" && !some.some((one) => hasUnknownReason(log, one));
    if (some.length === 0 || isBare) return [];
    const texts = some.map(({ item }) => item.description ?? item.outcome);
    const ended = kind.startsWith("unclear") ? "answered" : "refused";
    const calls = count(some.length, "call was", "calls were");
    return [`${calls} ${ended}${quoted(texts)}. ${meaning}.`];
  });

function callsSince({ ending }: Vault, since: readonly VaultEvent[]): string[] {
  if (ending === undefined || ending.calls === 0) return [];
  const most = clientWords(clientOf(since));
  const each = listed([...new Set(since.flatMap(({ item }) => item.address ?? []))].map(short));
  const words = most || (each && `addresses ${each}`);
  const by = words && `, ${most === "" || ending.calls === 1 ? "" : "mostly "}by ${words}`;
  const last = new Date(ending.lastCall).toISOString();
  return [
    `${count(ending.calls, "more call")} came since then, the last at ${last}${by}: a client is still trying.`,
  ];
}
