import { defined } from "../../defined.ts";
import type { ItemReference, Origin, OwnExchange } from "../../documents/audit.ts";
import type { Item, ItemLocation } from "../read/item.ts";
import type { Condition } from "../selection.ts";

/** Finds this machine's exchange by its external reference; of several, the one closest to vault and time (in milliseconds). */
export type FindOwn = (
  externalRef: string,
  near: { vault?: string; at?: number },
) => OwnExchange | undefined;

/** Creates the references to items in reports. */
export class References {
  readonly itemOf: (location: ItemLocation) => Item;
  readonly #inputs: readonly string[];
  readonly #own: FindOwn | undefined;
  readonly pseudonyms: Pseudonyms;

  constructor(
    itemOf: (location: ItemLocation) => Item,
    inputs: readonly string[],
    own: FindOwn | undefined,
    pseudonyms: Pseudonyms,
  ) {
    this.itemOf = itemOf;
    this.#inputs = inputs;
    this.#own = own;
    this.pseudonyms = pseudonyms;
  }

  /** Returns the reference to an item, redacted if the report is. A value has one pseudonym: they compare like the values. */
  to(location: ItemLocation): ItemReference {
    const { time, vault, ...item } = this.itemOf(location);
    const { externalRef } = item;
    const own = externalRef && this.#own?.(externalRef, { ...(vault && { vault }), at: time });
    const reference = {
      input: this.#inputs[location.input] ?? "",
      line: location.line,
      at: new Date(time).toISOString(),
      event: location.event,
      ...item,
      ...(own && { own }),
    };
    return this.pseudonyms.item(reference);
  }
}

type Hidden = "ip" | "ref" | "app" | "label";

/** Parts of a path that name nobody. */
const plainPart =
  /^(?:GET|POST|PUT|DELETE|https?:|vaultsvc|sanctum|v\d+-\d+|vault|credit-card|generic|online|offline|info|(?:get|update)-(?:start|end)|)$/i;

/**
 * Replaces addresses, references, application ids and labels by words like `ip-1`, numbered in the order of their first appearance in a
 * report: the same word for the same value everywhere. Free text of an item that a verdict does not need is left out. Without redaction,
 * it returns everything as it is.
 */
export class Pseudonyms {
  readonly #isOn: boolean;
  readonly #words = new Map<string, string>();
  readonly #counts: Record<Hidden, number> = { ip: 0, ref: 0, app: 0, label: 0 };

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  /** Returns the word for a value. */
  of(kind: Hidden, value: string): string {
    if (!this.#isOn) return value;
    const key = `${kind} ${value}`;
    const word = this.#words.get(key) ?? `${kind}-${(this.#counts[kind] += 1)}`;
    this.#words.set(key, word);
    return word;
  }

  origin<T extends Partial<Origin>>(origin: T): T {
    const { externalRef, address, application } = origin;
    return {
      ...origin,
      ...defined({
        externalRef: externalRef && this.of("ref", externalRef),
        address: address && this.of("ip", address),
        application: application && this.of("app", application),
      }),
    };
  }

  item(item: ItemReference): ItemReference {
    if (!this.#isOn) return item;
    const { description: _description, id: _id, own, outcome, endpoint, ...rest } = item;
    const hidden = this.origin(rest);
    const path = endpoint?.replace(/[?#].*$/s, "").split(/([ /])/);
    return {
      ...hidden,
      action: this.word(item.action),
      ...defined({
        outcome: outcome && this.word(outcome),
        endpoint: path?.map((part) => (plain(part) ? part : "…")).join(""),
        // The default reference of an exchange holds its id.
        own: own && { ...own, id: hidden.externalRef ?? "" },
      }),
    };
  }

  /** Formats a condition of --where. */
  condition({ key, value }: Condition): string {
    if (!this.#isOn) return `${key}=${value}`;
    return `${key}=${value.includes("*") || key === "endpoint" ? "…" : this.of(key, value)}`;
  }

  /** Returns an action or an outcome that is a single word, and leaves out other text, which could name anybody. */
  word(text: string): string {
    return this.#isOn && !/^\w+$/.test(text) ? "…" : text;
  }

  /** Returns the reason for skipping a line without the value that it quotes. */
  reason(text: string): string {
    return this.#isOn ? text.replace(/: .*$/s, "") : text;
  }
}

const plain = (part: string): boolean => part === " " || part === "/" || plainPart.test(part);
