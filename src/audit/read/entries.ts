import type { VaultTable } from "../fold/vault-table.ts";
import { contentHashOf, idHashOf, viewOf } from "./bytes.ts";
import type { Classifier } from "./columns/classify-item.ts";
import type { ColumnMap } from "./columns/parse-map.ts";
import type { Entry, Item } from "./item.ts";

/** What the entries of an input are made with. */
export interface EntryOptions {
  /** Index of the input, from 0. */
  index: number;
  map: ColumnMap;
  vaults: VaultTable;
  classifier: Classifier;
  spare: SpareEntries;
}

/** Maximum number of entries to use again: of those held back to sort them, and a block of each of a few inputs. */
const maxSpare = 20_000;

/** Entries to use again: with millions of new ones, collecting garbage takes a third of the time. */
export class SpareEntries {
  readonly #entries: Entry[] = [];

  /** Returns an entry whose properties are all to be set. */
  take(): Entry {
    return (
      this.#entries.pop() ?? {
        time: Number.NaN,
        vault: -1,
        event: "other",
        input: 0,
        line: 0,
        idHash: 0,
        content: 0,
      }
    );
  }

  /** Takes an entry back that nobody reads any more. */
  give(entry: Entry): void {
    entry.content = 0;
    if (this.#entries.length < maxSpare) this.#entries.push(entry);
  }
}

/** Returns the entry of an item. `text` has all of its columns, even unused ones. */
export function entryOf(
  item: Item,
  text: string,
  vaults: VaultTable,
  classifier: Classifier,
): Entry {
  const { time, action, outcome, input, line } = item;
  const event = classifier.take(
    classifier.meaningOf(action, outcome),
    item.description,
    item.endpoint,
  );
  const bytes = viewOf(Buffer.from(item.id ?? text));
  return {
    time,
    vault: item.vault === null ? -1 : vaults.of(item.vault),
    event,
    input,
    line,
    idHash: (item.id === null ? contentHashOf : idHashOf)(bytes, 0, bytes.bytes.length),
    content: item,
  };
}
