import type { Item } from "./item.ts";

/** How many items a batch takes. */
export const batchSize = 8192;

/** Items in short, column by column, so that millions of them cost no objects. */
export class Batch {
  size = 0;
  readonly time = new Float64Array(batchSize);
  /** Numbers of vaults; -1 for an item that names none. */
  readonly vault = new Int32Array(batchSize);
  /** Places in `eventKinds`. */
  readonly kind = new Uint8Array(batchSize);
  /** Where the item can be found again: `details.ts`. */
  readonly place = new Float64Array(batchSize);
  readonly line = new Float64Array(batchSize);
  /** Equal for equal ids; 0 for none. */
  readonly idHash = new Int32Array(batchSize);
  /** The items themselves, where they cannot be read again. */
  readonly items: (Item | undefined)[] = [];

  get isFull(): boolean {
    return this.size === batchSize;
  }

  add(time: number, vault: number, kind: number, place: number, line: number, idHash: number): void {
    const at = this.size++;
    this.time[at] = time;
    this.vault[at] = vault;
    this.kind[at] = kind;
    this.place[at] = place;
    this.line[at] = line;
    this.idHash[at] = idHash;
  }

  /** One that cannot be read again. */
  addItem(item: Item, vault: number, kind: number, place: number, idHash: number): void {
    this.items[this.size] = item;
    this.add(item.time, vault, kind, place, item.line, idHash);
  }

  clear(): void {
    this.size = 0;
  }
}
