import { defined } from "../../defined.ts";
import type { ItemLocation } from "../read/item.ts";
import type { References } from "./references.ts";
import type { Origin, Refused } from "../../documents/audit.ts";

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
  /** The last accepted exchange of the client, by its reference or else its address. */
  own: Exchange | undefined;
  /** The exchange that replaced the credentials. */
  replacement: Exchange | undefined;
}

/** Returns the trace as facts with their text. */
export function refusedOf(references: References, { client, own, replacement }: Trace): Refused {
  const to = (item: ItemLocation | undefined) =>
    item === undefined ? undefined : references.to(item);
  const acknowledgement = to(replacement?.acknowledgement);
  const facts = defined({
    replacedBy:
      acknowledgement === undefined
        ? undefined
        : { ...defined({ start: to(replacement?.start) }), acknowledgement },
    lastAccepted: to(own?.start),
  });
  return {
    ...facts,
    text: textOf(
      facts,
      references.pseudonyms.origin(client),
      own !== undefined && own === replacement,
    ),
  };
}

function textOf(
  { replacedBy, lastAccepted }: Omit<Refused, "text">,
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
      ...(address === undefined ? [] : [`from ${address}`]),
    ];
    return `${replaced} No start ${who.join(" or ")} was accepted before.`;
  }
  const same =
    lastAccepted.externalRef === externalRef ? `reference ${externalRef}` : `address ${address}`;
  return `${replaced} The last accepted start with ${same} was at ${lastAccepted.at}.`;
}
