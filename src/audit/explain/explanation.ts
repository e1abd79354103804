import type { ItemReference, VaultReport } from "../../documents/audit.ts";
import { defined } from "../../defined.ts";
import { count, grouped } from "../../terminal/count.ts";
import { durationInWords } from "../../terminal/time.ts";
import { type EventKind, isAcknowledgement, isStart } from "../read/item.ts";
import type { Vault } from "../fold/vault.ts";
import { listed, short } from "../read/clip.ts";
import { adviceOf, causeOf } from "./advice.ts";
import { countsAsFailure, type Evidence, hasUnknownReason } from "./verdict.ts";
import type { Client, Log, VaultEvent } from "./log.ts";
import { clientOf, clientWords, inBrackets, recurring } from "./log.ts";

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
  const [first] = new Set(failures.map(({ event }) => event)).size === 1 ? failures : [];
  const things: Partial<Record<EventKind, readonly [what: string, thing: string]>> = {
    "failed-device": ["device", "device (browser and operating system)"],
    "failed-pin": ["PIN", "hashedPin"],
  };
  const [what, thing] = (first && things[first.event]) ?? [];
  if (what !== undefined)
    return {
      fault: `was refused for its ${what}, not for its credentials: send the ${thing} with which the vault was created.`,
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
  return other
    ? sent(
        `another exchange${inBrackets(end)}${replaced}: two clients share the vault. Let one of them read it, or have each fetch the newest credentials before it starts.`,
      )
    : sent(
        `its own exchange${isNamed ? "" : inBrackets(end)}${replaced}: it does not store the new ones, or does not use them.`,
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

/** Quotes texts, each once: ` with “…”, “…”`. */
function quoted(texts: readonly (string | undefined)[]): string {
  const all = [...new Set(texts)].flatMap((text) => (text === undefined ? [] : `“${short(text)}”`));
  return all.length === 0 ? "" : ` with ${listed(all)}`;
}

/** What calls mean, by kind. */
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
    return [
      `${count(some.length, "call was", "calls were")} ${ended}${quoted(texts)}. ${meaning}.`,
    ];
  });

/** Tells who has called since the lock. */
function callsSince({ ending }: Vault, since: readonly VaultEvent[]): string[] {
  if (ending === undefined || ending.calls === 0) return [];
  const words = clientWords(clientOf(since));
  const by = words && `, ${ending.calls === 1 ? "" : "mostly "}by ${words}`;
  const last = new Date(ending.lastCall).toISOString();
  return [
    `${count(ending.calls, "more call")} came since then, the last at ${last}${by}: a client is still trying.`,
  ];
}
