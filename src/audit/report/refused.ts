import { defined } from "../../defined.ts";
import type { ItemLocation } from "../read/item.ts";
import type { References } from "./references.ts";
import type { ItemReference, Origin, Refused } from "../../documents/audit.ts";

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
  const by = `${reference === undefined ? "" : ` ${reference}`}${from === undefined ? "" : ` from ${from}`}`;
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
