import { defined } from "../../defined.ts";
import type { EventKind } from "../fold/events.ts";
import { eventKinds } from "../fold/events.ts";
import type { Classifier } from "../read/columns/classify-item.ts";
import { numberOf } from "../read/columns/classify-item.ts";
import type { Item, FindItem } from "../read/item.ts";
import type { Pseudonyms } from "./pseudonyms.ts";
import type { ItemReference, OwnExchange } from "./report.ts";
import type { ItemLocation } from "../fold/vault-records.ts";

/** Finds this machine's exchange by its external reference; of several, the one closest to vault and time (in milliseconds). */
export type FindOwn = (
  externalRef: string,
  near: { vault?: string; at?: number },
) => OwnExchange | undefined;

/** Creates the references to items in reports. */
export class References {
  readonly #find: FindItem;
  readonly #inputs: readonly string[];
  readonly #classifier: Classifier;
  readonly #own: FindOwn | undefined;
  readonly pseudonyms: Pseudonyms;

  constructor(
    find: FindItem,
    inputs: readonly string[],
    classifier: Classifier,
    own: FindOwn | undefined,
    pseudonyms: Pseudonyms,
  ) {
    this.#find = find;
    this.#inputs = inputs;
    this.#classifier = classifier;
    this.#own = own;
    this.pseudonyms = pseudonyms;
  }

  item({ location, line }: ItemLocation): Item | undefined {
    return this.#find(location, line);
  }

  /** Returns the reference to an item that was read, or else to the one at a location; redacted if the report is. */
  to(from: Item | ItemLocation): ItemReference {
    return this.pseudonyms.item(this.raw(from));
  }

  /** Returns the reference with the values of the export, for comparisons. */
  raw(from: Item | ItemLocation): ItemReference {
    const item = "action" in from ? from : this.#find(from.location, from.line);
    if (item === undefined) throw new Error("an item that a report names was not kept");
    const own =
      item.externalRef === null
        ? undefined
        : this.#own?.(item.externalRef, {
            ...defined({ vault: item.vault ?? undefined }),
            at: item.time,
          });
    const texts = {
      outcome: item.outcome,
      description: item.description,
      id: item.id,
      address: item.address,
      externalRef: item.externalRef,
      endpoint: item.endpoint,
      application: item.application,
    };
    return {
      input: this.#inputs[item.input] ?? "",
      line: item.line,
      at: new Date(item.time).toISOString(),
      event: eventKinds[numberOf(this.#classifier.kindOf(item))] as EventKind,
      action: item.action,
      ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== null)),
      ...defined({ own }),
    };
  }
}
