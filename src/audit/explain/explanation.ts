import { defined } from "../../defined.ts";
import type { ItemReference, Refused } from "../../documents/audit.ts";
import { counted } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import type { EventKind } from "../fold/events.ts";
import { isAcknowledgement, isFailedAccess, isStart } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import { listed, short } from "../read/clip.ts";
import type { Client } from "./evidence.ts";
import { clientOf, clientWords, countsAsFailure, inBrackets, recurring } from "./evidence.ts";
import type { Log, VaultEvent } from "./log.ts";
import type { Judgement } from "./verdict.ts";

/** What the log shows of a vault beside the rule: advice is made from it. */
export interface Explanation {
  sentences: string[];
  /** Who sent the calls that locked the vault or count. */
  client: Client;
  refused?: Refused;
  /** Why the credentials were refused; `none` if the log does not show it. */
  why:
    | "own-exchange"
    | "same-address"
    | "other-exchange"
    | "never-valid"
    | "device"
    | "pin"
    | "unknown-reason"
    | "none";
  /** Acknowledgements of the unacknowledged starts: none was tried, they came after the token's expiry, or were refused before it. */
  ends: "none" | "late" | "refused";
  /** Number of calls of the client since the lock. */
  calls: number;
}

/** Explains a vault by its newest events, of which it reads those that matter. */
export function explain(
  log: Log,
  vault: Vault,
  { rule, verdict }: Judgement,
  chain: readonly VaultEvent[],
  { before, since }: { before: readonly VaultEvent[]; since: readonly VaultEvent[] },
): Explanation {
  const { ending } = vault;
  const client = clientOf(chain);
  const why = refusalOf(log, chain);
  const isFailed = rule === "failed-attempts" || rule === "expired-invalid-start";
  const trace =
    isFailed && why === "none" && chain.length > 0 ? traceOf(before, chain, client) : { why };
  const run = before.slice(chain[0] === undefined ? 0 : before.indexOf(chain[0]));
  const starts = chain.filter(({ event }) => isStart(event));
  const ends = endsOf(starts.length === 0 ? [] : [...run, ...since], log);
  const between = rule === "unacknowledged-starts" ? run.filter(isFailedEvent) : [];
  const others = ending === undefined || ending.calls === 0 ? undefined : clientOf(since);
  const accepted = before.findLastIndex(({ event }) => isStart(event) || isAcknowledgement(event));
  return {
    sentences: [
      ...ends.sentences,
      ...betweenWords(between, client),
      ...quotes(log, verdict === "locked" ? chain : before.slice(accepted + 1)),
      ...itemSays(verdict === "locked" ? chain.at(-1) : undefined),
      ...(verdict === "locked" || verdict === "deleted" ? [] : atLeast(log, vault)),
      ...(others === undefined ? [] : callsSince(vault, others)),
    ],
    client,
    ...trace,
    ends: ends.kind,
    calls:
      others?.externalRef === client.externalRef && others?.address === client.address
        ? (ending?.calls ?? 0)
        : 0,
  };
}

const isFailedEvent = ({ event }: VaultEvent): boolean => isFailedAccess(event);

/** Whether a call was refused for a reason, shown or not. */
const hasReason = (log: Log, event: VaultEvent): boolean =>
  log.itemOf(event).description !== undefined;

/** What failed attempts were refused for; `none` if it was the credentials. */
function refusalOf(log: Log, chain: readonly VaultEvent[]): Explanation["why"] {
  const failures = chain.filter(countsAsFailure);
  const kinds = new Set(failures.map(({ event }) => event));
  if (kinds.size === 1 && kinds.has("failed-device")) return "device";
  if (kinds.size === 1 && kinds.has("failed-pin")) return "pin";
  const isUnknown = (one: VaultEvent): boolean =>
    one.event === "unauthorized" || (one.event === "refused" && hasReason(log, one));
  return failures.some(isUnknown) ? "unknown-reason" : "none";
}

interface Exchange {
  start?: ItemReference;
  acknowledgement?: ItemReference;
}

/** Finds what replaced refused credentials: the exchange acknowledged after the client's last accepted one. */
function traceOf(
  before: readonly VaultEvent[],
  [first]: readonly VaultEvent[],
  { externalRef, address }: Client,
): Pick<Explanation, "why" | "refused"> {
  const past = before.slice(
    0,
    before.findIndex((one) => one === first),
  );
  const clients = recurring(before.map(({ item }) => item));
  const exchanges: Exchange[] = [];
  for (const { event, item } of past) {
    const isEnd = isAcknowledgement(event);
    const open = exchanges.at(-1);
    if (isStart(event)) exchanges.push({ start: item });
    else if (isEnd && open !== undefined && open.acknowledgement === undefined)
      open.acknowledgement = item;
    else if (isEnd) exchanges.push({ acknowledgement: item });
  }
  const byReference = ({ start }: Exchange): boolean => start?.externalRef === externalRef;
  const byAddress = ({ start }: Exchange): boolean =>
    start?.address === address && !clients.has(start?.externalRef ?? "");
  const isNamed =
    externalRef !== undefined && (clients.has(externalRef) || exchanges.some(byReference));
  const own =
    isNamed || address !== undefined
      ? exchanges.findLast((one) => one.start && (isNamed ? byReference : byAddress)(one))
      : undefined;
  const lastAccepted = own?.start;
  const isOver = ({ acknowledgement }: Exchange): boolean => acknowledgement !== undefined;
  const replacement =
    own === undefined
      ? exchanges.findLast(isOver)
      : (exchanges.slice(exchanges.indexOf(own) + 1).find(isOver) ??
        (isOver(own) ? own : undefined));
  const { start, acknowledgement } = replacement ?? {};
  const neighbors =
    address !== undefined && (externalRef === undefined || clients.has(externalRef))
      ? [...clients].filter(
          (one) =>
            one !== externalRef &&
            past.some(({ item }) => item.address === address && item.externalRef === one),
        )
      : [];
  const same = isNamed ? `reference ${externalRef}` : `address ${address}`;
  const replaced = (what: string): string =>
    `${what}${inBrackets(start ?? acknowledgement)}, acknowledged at ${acknowledgement?.at}, replaced the refused credentials.`;
  const why =
    replacement === undefined
      ? own === undefined
        ? "none"
        : "never-valid"
      : replacement !== own
        ? "other-exchange"
        : isNamed
          ? "own-exchange"
          : "same-address";
  const sentence = {
    none:
      past[0]?.event === "create"
        ? "Nothing replaced the credentials of the vault's creation in this log: the refused ones were never valid."
        : "The newest items of this vault do not show which exchange replaced the refused credentials.",
    "never-valid": `The last accepted start with ${same}, at ${lastAccepted?.at}, was never acknowledged: the new credentials in its response never became valid.`,
    "own-exchange": replaced("The client's own exchange"),
    "same-address": replaced("An exchange from the same address"),
    "other-exchange": `${replaced("An exchange")}${
      lastAccepted === undefined
        ? isNamed
          ? ` No start with ${same} was accepted before.`
          : ""
        : ` The last accepted start with ${same} was at ${lastAccepted.at}.`
    }`,
  }[why];
  const shared = ` Address ${address} is shared: reference ${listed(neighbors)} used it too.`;
  const refused = defined({
    replacedBy: acknowledgement && { ...defined({ start }), acknowledgement },
    lastAccepted,
    sharedWith: neighbors.length === 0 ? undefined : neighbors,
    text: `${sentence}${neighbors.length === 0 ? "" : shared}`,
  });
  return { why, refused };
}

/** Tells how the unacknowledged starts among these events ended. */
function endsOf(
  events: readonly VaultEvent[],
  { fold }: Log,
): { kind: Explanation["ends"]; sentences: string[] } {
  const ends = events.filter(({ event }) => event === "failed-ack");
  const { tokenLifetimeMs } = fold.rules;
  const late = ends.flatMap((end) => {
    const starts = events.slice(0, events.indexOf(end)).filter(({ event }) => isStart(event));
    const { externalRef } = end.item;
    const start = starts.findLast(({ item }) => item.externalRef === externalRef) ?? starts.at(-1);
    const delay = end.time - (start?.time ?? end.time);
    return delay > tokenLifetimeMs ? [delay] : [];
  });
  if (ends.length === 0) return { kind: "none", sentences: [] };
  const were = counted(ends.length, "acknowledgement was", "acknowledgements were");
  const refused = `${were} refused${quoted(ends.map(({ item }) => item.description))}.`;
  if (late.length === 0) return { kind: "refused", sentences: [refused] };
  const [least, most] = [Math.min(...late), Math.max(...late)].map(lasting);
  const delay = least === most ? most : `${least} to ${most}`;
  const came = `${counted(late.length, "acknowledgement")} came too late, ${delay} after the start`;
  const assumed = `a token is assumed to be valid for ${lasting(tokenLifetimeMs)}`;
  return { kind: "late", sentences: [`${came}: ${assumed}. ${refused}`] };
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
    const isBare = kind === "refused" && !some.some((one) => hasReason(log, one));
    if (some.length === 0 || isBare) return [];
    const texts = some.map(({ item }) => item.description ?? item.outcome);
    const ended = kind.startsWith("unclear") ? "answered" : "refused";
    const were = counted(some.length, "call was", "calls were");
    return [`${were} ${ended}${quoted(texts)}. ${meaning}.`];
  });

/** Quotes the item that tells of the lock. */
const itemSays = (last: VaultEvent | undefined): string[] =>
  last !== undefined &&
  /^lock(?:ing-|-noted)/.test(last.event) &&
  last.item.description !== undefined
    ? [`The item says “${short(last.item.description)}”.`]
    : [];

/** Tells of failed attempts between the starts that locked a vault. */
function betweenWords(failed: readonly VaultEvent[], client: Client): string[] {
  const words = clientWords(clientOf(failed));
  const also = words === "" || words === clientWords(client) ? "" : ": two clients take turns";
  const attempts = counted(failed.length, "failed attempt");
  return failed.length === 0
    ? []
    : [`Between these starts ${attempts}${words && ` by ${words}`} came${also}.`];
}

/** Says what a log that begins late leaves open. */
function atLeast(
  { fold }: Log,
  { hasKnownCounters, surelyUnacked, surelyFailed }: Vault,
): string[] {
  const { unackedStarts, failedAttempts } = fold.rules.limits;
  if (hasKnownCounters || (surelyUnacked < 2 && surelyFailed === 0)) return [];
  return [
    `The log begins late: at least ${surelyUnacked} of ${unackedStarts} starts and ${surelyFailed} of ${failedAttempts} failed attempts count, and the next may lock the vault.`,
  ];
}

/** Tells who has called since the lock. */
function callsSince({ ending }: Vault, client: Client): string[] {
  const last = new Date(ending?.lastCall ?? 0).toISOString();
  const words = clientWords(client);
  const calls = counted(ending?.calls ?? 0, "more call");
  const by = words && `, ${ending?.calls === 1 ? "" : "mostly "}by ${words}`;
  return [`${calls} came since then, until ${last}${by}: a client is still trying.`];
}
