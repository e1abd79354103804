import type { Item } from "./item.ts";

/** Default capacity of a batch. */
export const batchSize = 8192;

/** Columns of a batch, each as long as its capacity. */
type BatchColumns = Pick<Batch, "time" | "vault" | "kind" | "location" | "line" | "idHash">;

/** Items in columns of numbers, so that millions of them need no objects. */
export class Batch {
  size = 0;
  readonly time: Float64Array<ArrayBuffer>;
  /** Vault numbers (VaultTable); -1 for an item that names no vault. */
  readonly vault: Int32Array<ArrayBuffer>;
  /** Indexes in `eventKinds`. */
  readonly kind: Uint8Array<ArrayBuffer>;
  /** Locations of the items: `locationOf`. */
  readonly location: Float64Array<ArrayBuffer>;
  readonly line: Float64Array<ArrayBuffer>;
  /** Hash of the item's id, or of its content if it has none (hash.ts). */
  readonly idHash: Int32Array<ArrayBuffer>;
  /** The items themselves, for inputs that cannot be read again. */
  readonly items: (Item | undefined)[] = [];
  readonly capacity: number;

  constructor(capacity = batchSize, columns = newColumns(capacity)) {
    this.capacity = capacity;
    this.time = columns.time;
    this.vault = columns.vault;
    this.kind = columns.kind;
    this.location = columns.location;
    this.line = columns.line;
    this.idHash = columns.idHash;
  }

  get isFull(): boolean {
    return this.size === this.capacity;
  }

  add(
    time: number,
    vault: number,
    kind: number,
    location: number,
    line: number,
    idHash: number,
  ): void {
    const at = this.size++;
    this.time[at] = time;
    this.vault[at] = vault;
    this.kind[at] = kind;
    this.location[at] = location;
    this.line[at] = line;
    this.idHash[at] = idHash;
  }

  /** Adds an item that cannot be read again. */
  addItem(item: Item, vault: number, kind: number, location: number, idHash: number): void {
    this.items[this.size] = item;
    this.add(item.time, vault, kind, location, item.line, idHash);
  }

  /** Adds the items of another batch from index `from` up to `to`, exclusive. */
  addRange(other: Batch, from: number, to: number): void {
    for (const [column, source] of this.#columnsBeside(other))
      column.set(source.subarray(from, to), this.size);
    if (other.items.length > 0)
      for (let at = from; at < to; at++) this.items[this.size + at - from] = other.items[at];
    this.size += to - from;
  }

  /** Removes the first `count` items. */
  shift(count: number): void {
    for (const [column] of this.#columnsBeside(this)) column.copyWithin(0, count, this.size);
    this.items.splice(0, count);
    this.size -= count;
  }

  /** Puts the items into the order of the given indexes. */
  arrange(order: Uint32Array): void {
    const items = this.items.length === 0 ? [] : Array.from(order, (index) => this.items[index]);
    for (const [column] of this.#columnsBeside(this)) {
      const copy = column.slice(0, this.size);
      for (let at = 0; at < this.size; at++) column[at] = copy[order[at] as number] as number;
    }
    for (const [at, item] of items.entries()) this.items[at] = item;
  }

  clear(): void {
    this.size = 0;
    this.items.length = 0;
  }

  #columnsBeside(other: Batch) {
    return [
      [this.time, other.time],
      [this.vault, other.vault],
      [this.kind, other.kind],
      [this.location, other.location],
      [this.line, other.line],
      [this.idHash, other.idHash],
    ] as const;
  }
}

const newColumns = (capacity: number): BatchColumns => ({
  time: new Float64Array(capacity),
  vault: new Int32Array(capacity),
  kind: new Uint8Array(capacity),
  location: new Float64Array(capacity),
  line: new Float64Array(capacity),
  idHash: new Int32Array(capacity),
});
