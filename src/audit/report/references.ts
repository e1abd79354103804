import { defined } from "../../defined.ts";
import type { Item, ItemLocation } from "../read/item.ts";
import type { Pseudonyms } from "./pseudonyms.ts";
import type { ItemReference, OwnExchange } from "../../documents/audit.ts";

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
