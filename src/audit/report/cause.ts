import { defined } from "../../defined.ts";
import type {
  Cause,
  ItemReference,
  LockRule,
  Origin,
  Refused,
  Rules,
  VaultReport,
} from "../../documents/audit.ts";
import { isFailedAccess } from "../fold/events.ts";
import type { ItemLocation } from "../read/item.ts";
import type { References } from "./references.ts";
import type { Judgement } from "./verdict.ts";

/** Describes the cause of a lock, with the items that led to it. The rule is found in fold/transitions, auto-lock in verdict. */
export function causeOf(
  judgement: Judgement,
  chain: ItemReference[],
  { unackedStarts, failedAttempts }: Pick<VaultReport, "unackedStarts" | "failedAttempts">,
  rules: Rules,
): Cause {
  const { rule = "unseen" } = judgement;
  const { certainty, reason } = judgement.ofRule ?? judgement;
  const seen = rule === "unacknowledged-starts" ? unackedStarts : failedAttempts;
  const item = rule === "auto-lock" ? undefined : chain.at(-1);
  return {
    rule,
    ...defined({ item }),
    chain,
    certainty,
    reason,
    text: `${sentence(rule, judgement, chain, seen, rules)}.${rule === "unseen" ? "" : ownText(rule, chain, seen)}`,
  };
}

function sentence(
  rule: LockRule,
  { lockedAt = 0 }: Judgement,
  chain: ItemReference[],
  seen: number,
  rules: Rules,
): string {
  const at = new Date(lockedAt).toISOString();
  const last = chain.at(-1);
  const who = last === undefined ? "" : by(last);
  switch (rule) {
    case "failed-attempts":
      return `Locked at ${at} after ${inARow("failed attempts", seen, rules.limits.failedAttempts)}, the last one${who}`;
    case "unacknowledged-starts":
      return `Locked at ${at} after ${inARow("unacknowledged starts", seen, rules.limits.unackedStarts)}, the last one${who}`;
    case "expired-invalid-start":
      return `Locked at ${at}, when a start with invalid credentials expired; it was sent${who}`;
    case "auto-lock":
      return `Auto-locked at ${at}: no accepted start for ${Math.round(rules.autoLockAfterMs / 86_400_000)} days`;
    case "administrator":
      return `Locked at ${at} by an administrator${who}`;
    case "unseen":
      return `Locked before ${at}, when a call${who} was refused because of the lock; the log does not show the cause`;
  }
}

/** As many as lock a vault, of which the log may show fewer. */
const inARow = (what: string, seen: number, limit: number): string =>
  seen < limit ? `${what} in a row (${seen} in the log)` : `${limit} ${what} in a row`;

const by = ({ address, externalRef }: ItemReference): string =>
  [
    address === undefined ? "" : ` from ${address}`,
    externalRef === undefined ? "" : ` with reference ${externalRef}`,
  ].join("");

/** Describes the last item of the chain that is an exchange of this machine. */
function ownText(rule: LockRule, chain: ItemReference[], seen: number): string {
  const index = chain.findLastIndex((item) => item.own !== undefined);
  const item = chain[index];
  if (item?.own === undefined) return "";
  const { id, generation, supersededAt } = item.own;
  // Of many, the chain has only the newest.
  const isPart = rule === "failed-attempts" || rule === "unacknowledged-starts";
  const number = index + 1 + (isPart ? seen - chain.length : 0);
  const what = isFailedAccess(item.event) ? "failed attempt" : "start";
  const superseded = supersededAt === undefined ? "" : `, superseded at ${supersededAt}`;
  return ` The ${ordinal(number)} ${what} at ${item.at} was this machine's exchange ${id}, with credentials of generation ${generation}${superseded}.`;
}

function ordinal(number: number): string {
  const ending =
    number % 100 >= 11 && number % 100 <= 13
      ? "th"
      : ({ 1: "st", 2: "nd", 3: "rd" }[number % 10] ?? "th");
  return `${number}${ending}`;
}

/** Who sent most of the refused credentials. */
export type Client = Pick<Origin, "externalRef" | "address">;

/** An accepted start and its acknowledgement. */
export interface Exchange {
  start?: ItemLocation;
  acknowledgement?: ItemLocation;
}

/** What came before the first refusal of credentials on a vault, as their locations. */
export interface Trace {
  client: Client;
  /** The last accepted exchange of the client: with its reference or, if it has none, from its address and without one too. */
  own: Exchange | undefined;
  /** The exchange that replaced the credentials. */
  replacement: Exchange | undefined;
  /** The last accepted start with another reference from the client's address, and all such references. */
  neighbor: ItemLocation | undefined;
  neighbors: readonly string[];
}

const maxNamed = 3;

/** Returns the trace as facts with their text. */
export function refusedOf(
  references: References,
  { client, own, replacement, neighbor, neighbors }: Trace,
): Refused {
  const to = (item: ItemLocation | undefined) =>
    item === undefined ? undefined : references.to(item);
  const acknowledgement = to(replacement?.acknowledgement);
  const facts = defined({
    replacedBy:
      acknowledgement === undefined
        ? undefined
        : { ...defined({ start: to(replacement?.start) }), acknowledgement },
    lastAccepted: to(own?.start),
    sharedWith:
      neighbors.length === 0
        ? undefined
        : neighbors.map((each) => references.pseudonyms.of("ref", each)),
  });
  const shown = references.pseudonyms.origin(client);
  const isOwn = own !== undefined && own === replacement;
  const shared = sharedWords(facts, shown, own === undefined ? to(neighbor) : undefined);
  return { ...facts, text: `${textOf(facts, shown, isOwn)}${shared}` };
}

/** Says that others use the address of a client; `last` is their last accepted start, if the client has none. */
function sharedWords(
  { sharedWith = [] }: Omit<Refused, "text">,
  { address }: Client,
  last: ItemReference | undefined,
): string {
  if (sharedWith.length === 0) return "";
  const named = sharedWith.slice(0, maxNamed).join(", ");
  const more = sharedWith.length - maxNamed;
  const others = more > 0 ? ` and ${more} more` : "";
  const when = last === undefined ? "" : `, last accepted at ${last.at}`;
  return ` Address ${address} is shared: reference ${named}${others} used it too${when}.`;
}

function textOf(
  { replacedBy, lastAccepted, sharedWith }: Omit<Refused, "text">,
  { externalRef, address }: Client,
  isOwn: boolean,
): string {
  const { externalRef: reference, address: from } =
    replacedBy?.start ?? replacedBy?.acknowledgement ?? {};
  const by = `${reference === undefined ? "" : ` with reference ${reference}`}${from === undefined ? "" : ` from ${from}`}`;
  const replaced =
    replacedBy === undefined
      ? "The log does not show which exchange replaced the refused credentials."
      : `${isOwn ? "The client's own exchange" : "Exchange"}${by}, acknowledged at ${replacedBy.acknowledgement.at}, replaced the refused credentials.`;
  if (lastAccepted !== undefined && replacedBy === undefined) {
    return `The client's last accepted start, at ${lastAccepted.at}, was not acknowledged: its new credentials never became valid.`;
  }
  if (isOwn || (externalRef === undefined && address === undefined)) return replaced;
  if (lastAccepted === undefined) {
    const who = [
      ...(externalRef === undefined ? [] : [`with reference ${externalRef}`]),
      ...(address === undefined || sharedWith !== undefined ? [] : [`from ${address}`]),
    ];
    return who.length === 0
      ? replaced
      : `${replaced} No start ${who.join(" or ")} was accepted before.`;
  }
  const same = externalRef === undefined ? `address ${address}` : `reference ${externalRef}`;
  return `${replaced} The last accepted start with ${same} was at ${lastAccepted.at}.`;
}
