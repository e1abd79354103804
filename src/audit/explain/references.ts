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

  /** Returns the reference to an item; redacted if the report is. */
  to(location: ItemLocation): ItemReference {
    return this.pseudonyms.item(this.raw(location));
  }

  /** Returns the reference with the values of the export, for comparisons. */
  raw(location: ItemLocation): ItemReference {
    const item = this.itemOf(location);
    const own =
      item.externalRef === null || this.#own === undefined
        ? undefined
        : this.#own(item.externalRef, {
            ...defined({ vault: item.vault ?? undefined }),
            at: item.time,
          });
    return defined({
      input: this.#inputs[item.input] ?? "",
      line: item.line,
      at: new Date(item.time).toISOString(),
      event: location.event,
      action: item.action,
      outcome: item.outcome ?? undefined,
      description: item.description ?? undefined,
      id: item.id ?? undefined,
      address: item.address ?? undefined,
      externalRef: item.externalRef ?? undefined,
      endpoint: item.endpoint ?? undefined,
      application: item.application ?? undefined,
      own,
    });
  }
}

type Hidden = "ip" | "ref" | "app" | "label";

/** Length from which a value is replaced within an endpoint: shorter ones occur in words. */
const shortest = 3;

const ipv4 = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
const ipv6 = /(?<![\w:])(?:[\da-f]{1,4}(?::[\da-f]{1,4}){7}|[\da-f:]*::[\da-f:]*)(?![\w:])/gi;

/**
 * Replaces addresses, references, application ids and labels by words like `ip-1`, numbered in the order of their first appearance in a
 * report: the same word for the same value everywhere. Free text of an item that a verdict does not need is left out. Without redaction,
 * it returns everything as it is.
 */
export class Pseudonyms {
  readonly #isOn: boolean;
  readonly #words: Record<Hidden, Map<string, string>> = {
    ip: new Map(),
    ref: new Map(),
    app: new Map(),
    label: new Map(),
  };

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  /** Returns the word for a value. */
  of(kind: Hidden, value: string): string {
    if (!this.#isOn) return value;
    const words = this.#words[kind];
    const word = words.get(value) ?? `${kind}-${words.size + 1}`;
    words.set(value, word);
    return word;
  }

  origin<T extends Partial<Origin>>(origin: T): T {
    const { externalRef, address, application } = origin;
    return {
      ...origin,
      ...defined({
        externalRef: this.#maybe("ref", externalRef),
        address: this.#maybe("ip", address),
        application: this.#maybe("app", application),
      }),
    };
  }

  item(item: ItemReference): ItemReference {
    if (!this.#isOn) return item;
    const { description: _description, id: _id, own, outcome, endpoint, ...rest } = item;
    const hidden = this.origin(rest);
    return {
      ...hidden,
      action: this.word(item.action),
      ...defined({
        outcome: outcome === undefined ? undefined : this.word(outcome),
        endpoint: endpoint === undefined ? undefined : this.#path(endpoint, item),
        // The default reference of an exchange holds its id.
        own: own === undefined ? undefined : { ...own, id: hidden.externalRef ?? "" },
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

  #maybe(kind: Hidden, value: string | undefined): string | undefined {
    return value === undefined ? undefined : this.of(kind, value);
  }

  /** Returns an endpoint without its query, with words for the item's own values and for addresses. */
  #path(endpoint: string, { externalRef, address, application }: ItemReference): string {
    const values = [
      ["ref", externalRef] as const,
      ["ip", address] as const,
      ["app", application] as const,
    ];
    const word = (found: string): string => this.of("ip", found);
    return values
      .reduce(
        (path, [kind, value]) =>
          value === undefined || value.length < shortest
            ? path
            : path.replaceAll(value, () => this.of(kind, value)),
        endpoint.replace(/[?#].*$/s, ""),
      )
      .replace(ipv4, word)
      .replace(ipv6, word);
  }
}
