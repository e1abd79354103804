import type { Batch } from "./batch.ts";
import type { Classifier } from "./columns/classify-item.ts";
import { numberOf } from "./columns/classify-item.ts";
import { idHashOf, contentHashOf } from "./hash.ts";
import type { Item } from "./item.ts";
import type { VaultTable } from "../fold/vault-table.ts";

/** Adds items to batches, with the numbers of their vaults and kinds. */
export class BatchWriter {
  readonly #vaults: VaultTable;
  readonly #classifier: Classifier;

  constructor(vaults: VaultTable, classifier: Classifier) {
    this.#vaults = vaults;
    this.#classifier = classifier;
  }

  /** Adds an item that can be read again. `contentHash` identifies an item without an id. */
  add(batch: Batch, item: Item, location: number, contentHash: number): void {
    const { vault, kind } = this.#meaning(item);
    batch.add(
      item.time,
      vault,
      kind,
      location,
      item.line,
      item.id === null ? contentHash : identity(item),
    );
  }

  /** Adds an item that cannot be read again, so that the batch keeps it. */
  addKept(batch: Batch, item: Item, location: number): void {
    const { vault, kind } = this.#meaning(item);
    batch.addItem(item, vault, kind, location, identity(item));
  }

  #meaning(item: Item): { vault: number; kind: number } {
    const vault = item.vault === null ? -1 : this.#vaults.of(item.vault);
    const kind = numberOf(this.#classifier.kindOf(item));
    this.#classifier.count(item.action, kind);
    return { vault, kind };
  }
}

/** Returns the hash of an item's id or, without one, of its content. */
function identity(item: Item): number {
  if (item.id === null && item.contentHash !== undefined) return item.contentHash;
  const { input: _input, line: _line, ...content } = item;
  const bytes = Buffer.from(item.id ?? JSON.stringify(content));
  return item.id === null ? contentHashOf(bytes) : idHashOf(bytes);
}
