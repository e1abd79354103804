import { defined } from "../../defined.ts";
import type { ItemReference, Refused, Rules } from "../../documents/audit.ts";
import { counted } from "../../terminal/count.ts";
import { lasting } from "../../terminal/time.ts";
import type { EventKind } from "../fold/events.ts";
import { isAcknowledgement, isFailedAccess, isStart } from "../fold/events.ts";
import type { Fold } from "../fold/fold.ts";
import type { Seen } from "../fold/rings.ts";
import type { Vault } from "../fold/vault.ts";
import { short } from "../read/clip.ts";
import type { Client } from "./evidence.ts";
import { clientOf, clientWords, eventsOf, eventsSince, recurring } from "./evidence.ts";
import type { References } from "./references.ts";
import type { Judgement } from "./verdict.ts";

/** An event with its item, as it is shown. */
interface Told {
  time: number;
  event: EventKind;
  item: ItemReference;
  /** Whether the item has a description, shown or not. */
  hasReason: boolean;
}

/** What the log shows of a vault beside the rule: advice is made from it. */
export interface Explanation {
  sentences: string[];
  /** Who sent the calls that locked the vault or count, as shown; undefined if nothing tells. */
  client: string | undefined;
  refused: Refused | undefined;
  /** Why the credentials were refused. */
  why:
    | "own-exchange"
    | "same-address"
    | "other-exchange"
    | "never-valid"
    | "device"
    | "pin"
    | "unknown-reason"
    | undefined;
  /** Acknowledgements of the unacknowledged starts: none was tried, they came after the token's expiry, or were refused before it. */
  ends: "none" | "late" | "refused";
  /** Number of calls of the client since the lock. */
  calls: number;
}

const maxQuotes = 3;
const maxNamed = 3;

/** Explains a vault by its newest events, of which it reads those that matter. */
export function explain(
  fold: Fold,
  references: References,
  vault: Vault,
  judgement: Judgement,
  chain: readonly Seen[],
): Explanation {
  const told = (events: readonly Seen[], isOne = (_event: EventKind): boolean => true): Told[] =>
    events
      .filter(({ event }) => isOne(event))
      .map((seen) => ({
        time: seen.time,
        event: seen.event,
        item: references.to(seen),
        hasReason: references.itemOf(seen).description !== undefined,
      }));
  const { rule, verdict } = judgement;
  const before = eventsOf(fold, vault);
  const since = eventsSince(fold, vault);
  const links = told(chain);
  const client = clientOf(links.map(({ item }) => item));
  const cause = credentialCause(links);
  const isFailed = rule === "failed-attempts" || rule === "expired-invalid-start";
  const trace = cause === "credentials" && isFailed && traceOf(told(before), links, client);
  const run = before.filter(({ time }) => time >= (links[0]?.time ?? 0));
  const ends = endsOf(
    told([...run, ...since], (event) => isStart(event) || event === "failed-ack"),
    links,
    fold.rules,
  );
  const calls = vault.ending?.calls ?? 0;
  const others = calls === 0 ? undefined : clientOf(told(since).map(({ item }) => item));
  const accepted = before.findLastIndex(({ event }) => isStart(event) || isAcknowledgement(event));
  const unexplained =
    verdict === "locked"
      ? links
      : told(before.slice(accepted + 1), (event) => meanings[event] !== undefined);
  return {
    sentences: [
      ...ends.sentences,
      ...(rule === "unacknowledged-starts" ? between(told(run, isFailedAccess), client) : []),
      ...quotes(unexplained),
      ...itemSays(verdict === "locked" ? links.at(-1) : undefined),
      ...atLeast(vault, judgement, fold.rules),
      ...callsSince(vault, others),
    ],
    client: clientWords(client),
    refused: trace ? refusedOf(trace, client) : undefined,
    why: trace ? trace.why : cause === "credentials" ? undefined : cause,
    ends: ends.kind,
    calls:
      others?.externalRef === client.externalRef && others?.address === client.address ? calls : 0,
  };
}

/** What failed attempts were refused for, if it is the same for all. */
function credentialCause(
  links: readonly Told[],
): "credentials" | "device" | "pin" | "unknown-reason" | undefined {
  const failures = links.filter(({ event }) => isFailedAccess(event) || event === "unauthorized");
  const all = (kind: EventKind): boolean => failures.every(({ event }) => event === kind);
  if (failures.length === 0) return undefined;
  if (all("failed-device")) return "device";
  if (all("failed-pin")) return "pin";
  const isKnown = ({ event, hasReason }: Told): boolean =>
    event !== "unauthorized" && (event !== "refused" || !hasReason);
  return failures.every(isKnown) ? "credentials" : "unknown-reason";
}

interface Exchange {
  start?: Told;
  acknowledgement?: Told;
}

interface Trace {
  why: Explanation["why"];
  /** The exchange that replaced the credentials. */
  replacement: Exchange | undefined;
  /** The last accepted start of the client. */
  own: Exchange | undefined;
  /** The client is known by its address alone. */
  isByAddress: boolean;
  /** Other references of clients that use the address. */
  neighbors: string[];
  /** The events begin with the vault's creation. */
  isWhole: boolean;
}

/** Finds what replaced refused credentials: the exchange acknowledged after the client's last accepted one. */
function traceOf(events: readonly Told[], [first]: readonly Told[], client: Client): Trace {
  const until = events.findIndex(
    ({ item }) => item.line === first?.item.line && item.input === first.item.input,
  );
  const past = events.slice(0, Math.max(0, until));
  const clients = recurring(events.map(({ item }) => item));
  const exchanges: Exchange[] = [];
  for (const one of past) {
    const open = exchanges.at(-1);
    if (isStart(one.event)) exchanges.push({ start: one });
    else if (isAcknowledgement(one.event)) {
      if (open === undefined || open.acknowledgement !== undefined)
        exchanges.push({ acknowledgement: one });
      else open.acknowledgement = one;
    }
  }
  const { externalRef, address } = client;
  const nearby = past.flatMap(({ item }) => (item.address === address ? [item.externalRef] : []));
  const others = [...new Set(nearby)].filter(
    (one) => one !== undefined && one !== externalRef && clients.has(one),
  ) as string[];
  const byReference = ({ start }: Exchange): boolean =>
    externalRef !== undefined && start?.item.externalRef === externalRef;
  const byAddress = ({ start }: Exchange): boolean =>
    address !== undefined &&
    start?.item.address === address &&
    (start.item.externalRef === undefined || !clients.has(start.item.externalRef));
  const isNamed =
    externalRef !== undefined && (clients.has(externalRef) || exchanges.some(byReference));
  const own = exchanges.findLast(isNamed ? byReference : byAddress);
  const after = own === undefined ? exchanges : exchanges.slice(exchanges.indexOf(own) + 1);
  const isAcknowledged = ({ acknowledgement }: Exchange): boolean => acknowledgement !== undefined;
  const replacement =
    own === undefined
      ? after.findLast(isAcknowledged)
      : (after.find(isAcknowledged) ?? (isAcknowledged(own) ? own : undefined));
  const why =
    replacement === undefined
      ? own === undefined
        ? undefined
        : "never-valid"
      : replacement === own
        ? isNamed
          ? "own-exchange"
          : "same-address"
        : "other-exchange";
  return {
    why,
    replacement,
    own,
    isByAddress: !isNamed,
    isWhole: past[0]?.event === "create",
    neighbors: externalRef === undefined || clients.has(externalRef) ? others : [],
  };
}

/** Returns the trace as facts with their text. */
function refusedOf(
  { why, replacement, own, isByAddress, neighbors, isWhole }: Trace,
  { externalRef, address }: Client,
): Refused {
  const acknowledgement = replacement?.acknowledgement?.item;
  const start = replacement?.start?.item;
  const lastAccepted = own?.start?.item;
  const more = neighbors.length - maxNamed;
  const same =
    externalRef === undefined || isByAddress ? `address ${address}` : `reference ${externalRef}`;
  const by = originOf(start ?? acknowledgement);
  const isOwn = replacement !== undefined && replacement === own;
  const replaced =
    acknowledgement === undefined
      ? why === "never-valid"
        ? `The ${isByAddress ? "last accepted start from its address" : "client's last accepted start"}, at ${lastAccepted?.at}, was never acknowledged: the new credentials in its response never became valid.`
        : isWhole
          ? "Nothing replaced the credentials of the vault's creation in this log: the refused ones were never valid."
          : "The newest items of this vault do not show which exchange replaced the refused credentials."
      : `${isOwn && !isByAddress ? "The client's own exchange" : "An exchange"}${by}, acknowledged at ${acknowledgement.at}, replaced the refused credentials${isOwn && isByAddress ? "; it came from the same address" : ""}.`;
  const last =
    acknowledgement === undefined || isOwn
      ? ""
      : lastAccepted !== undefined
        ? ` The last accepted start with ${same} was at ${lastAccepted.at}.`
        : externalRef !== undefined && !isByAddress
          ? ` No start with ${same} was accepted before.`
          : "";
  return defined({
    replacedBy: acknowledgement && { ...defined({ start }), acknowledgement },
    lastAccepted,
    sharedWith: neighbors.length === 0 ? undefined : neighbors,
    text: `${replaced}${last}${
      neighbors.length === 0
        ? ""
        : ` Address ${address} is shared: reference ${neighbors.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""} used it too.`
    }`,
  });
}

/** Says where an item came from: ` with reference R from A`. */
export const originOf = (item: ItemReference | undefined): string =>
  [
    item?.externalRef === undefined ? "" : ` with reference ${short(item.externalRef)}`,
    item?.address === undefined ? "" : ` from ${short(item.address)}`,
  ].join("");

/** Tells how the unacknowledged starts ended. */
function endsOf(
  events: readonly Told[],
  links: readonly Told[],
  { tokenLifetimeMs }: Rules,
): { kind: Explanation["ends"]; sentences: string[] } {
  const first = links.find(({ event }) => isStart(event));
  if (first === undefined) return { kind: "none", sentences: [] };
  let start: Told | undefined;
  const ends: { end: Told; delay: number }[] = [];
  const starts = new Map<string | undefined, Told>();
  for (const one of events) {
    if (isStart(one.event)) {
      start = one;
      starts.set(one.item.externalRef, one);
    } else if (one.event === "failed-ack") {
      const of =
        (one.item.externalRef === undefined ? undefined : starts.get(one.item.externalRef)) ??
        start;
      if (of !== undefined) ends.push({ end: one, delay: one.time - of.time });
    }
  }
  if (ends.length === 0) return { kind: "none", sentences: [] };
  const late = ends.filter(({ delay }) => delay > tokenLifetimeMs);
  const said = quoted(ends.map(({ end }) => end));
  if (late.length === 0)
    return {
      kind: "refused",
      sentences: [
        `${counted(ends.length, "acknowledgement was", "acknowledgements were")} refused${said}.`,
      ],
    };
  const delays = late.map(({ delay }) => delay);
  const [least, most] = [Math.min(...delays), Math.max(...delays)].map(lasting);
  const after =
    least === most
      ? `${most} after ${late.length === 1 ? "its start" : "their starts"}`
      : `${least} to ${most} after their starts`;
  return {
    kind: "late",
    sentences: [
      `${counted(late.length, "acknowledgement came", "acknowledgements came")} too late, ${after}: a token is assumed to be valid for ${lasting(tokenLifetimeMs)}. ${late.length === 1 ? "It was" : "They were"} refused${said}.`,
    ],
  };
}

/** Quotes the reasons of items: ` with “…” and “…”`. */
function quoted(
  all: readonly Told[],
  textOf = ({ item }: Told): string | undefined => item.description,
): string {
  const texts = [...new Set(all.flatMap((one) => textOf(one) ?? []))];
  if (texts.length === 0) return "";
  const listed = texts.slice(0, maxQuotes).map((text) => `“${short(text)}”`);
  return ` with ${listed.join(", ")}${texts.length > maxQuotes ? ", …" : ""}`;
}

/** How calls ended, and what that means, by kind. */
const meanings: Partial<Record<EventKind, readonly [ended: string, meaning: string]>> = {
  "failed-device": [
    "refused",
    "The device did not match, so the credentials may have been current",
  ],
  "failed-pin": ["refused", "The PIN did not match, so the credentials may have been current"],
  refused: [
    "refused",
    "What that means is not known: wrong credentials, a lock, or something else",
  ],
  unauthorized: ["refused", "That may be about the application or the vault's credentials"],
  "not-performed": ["refused", "That counts nothing toward lockout"],
  gone: ["refused", "The service has no such vault, or no longer"],
  "unclear-start": ["answered", "Whether that was accepted is not known"],
  "unclear-ack": ["answered", "Whether that was accepted is not known"],
};

function quotes(all: readonly Told[]): string[] {
  return Object.entries(meanings).flatMap(([kind, [ended, meaning]]) => {
    const some = all.filter(({ event }) => event === kind);
    const said = quoted(some, ({ item }) => item.description ?? item.outcome);
    const isBare = kind === "refused" && some.every(({ hasReason }) => !hasReason);
    if (some.length === 0 || isBare) return [];
    return [`${counted(some.length, "call was", "calls were")} ${ended}${said}. ${meaning}.`];
  });
}

/** Quotes the item that tells of the lock. */
const itemSays = (last: Told | undefined): string[] =>
  last?.item.description !== undefined && /^lock(?:ing-|-noted)/.test(last.event)
    ? [`The item says “${short(last.item.description)}”.`]
    : [];

/** Tells of failed attempts between the starts that locked a vault. */
function between(failed: readonly Told[], client: Client): string[] {
  if (failed.length === 0) return [];
  const words = clientWords(clientOf(failed.map(({ item }) => item)));
  const by = words === undefined ? "" : ` by ${words}`;
  const also =
    words === undefined || words === clientWords(client) ? "" : ": two clients take turns";
  return [`Between these starts ${counted(failed.length, "failed attempt")}${by} came${also}.`];
}

/** Says what a log that begins late leaves open. */
function atLeast(vault: Vault, { verdict }: Judgement, { limits }: Rules): string[] {
  if (vault.hasKnownCounters || verdict === "locked" || verdict === "deleted") return [];
  const { surelyUnacked, surelyFailed } = vault;
  if (surelyUnacked > 1 && surelyUnacked >= surelyFailed)
    return [
      `The log begins late: at least ${surelyUnacked} of ${limits.unackedStarts} starts are unacknowledged, and the next may lock the vault.`,
    ];
  return surelyFailed === 0
    ? []
    : [
        `The log begins late: at least ${surelyFailed} of ${limits.failedAttempts} failed attempts count, and the next may lock the vault.`,
      ];
}

/** Tells who has called since the lock. */
function callsSince({ ending }: Vault, client: Client | undefined): string[] {
  if (ending === undefined || client === undefined) return [];
  const { calls, firstCall, lastCall } = ending;
  const [first, last] = [firstCall, lastCall].map((time) => new Date(time).toISOString());
  const words = clientWords(client);
  const by = words === undefined ? "" : `, ${calls === 1 ? "" : "most of them "}by ${words}`;
  return calls === 1
    ? [`One more call has come since then, at ${last}${by}.`]
    : [
        `${counted(calls, "more call")} came since then, from ${first} to ${last}${by}: a client is still trying.`,
      ];
}
