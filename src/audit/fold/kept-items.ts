import type { Item } from "../read/item.ts";

/** Items of inputs that cannot be read again, by location, kept as long as a report may need them. Holders are counted. */
export class KeptItems {
  readonly #items = new Map<number, { item: Item; holders: number }>();

  get size(): number {
    return this.#items.size;
  }

  keep({ location, item }: { location: number; item: Item | undefined }): void {
    if (item === undefined) return;
    const known = this.#items.get(location);
    if (known === undefined) this.#items.set(location, { item, holders: 1 });
    else known.holders += 1;
  }

  drop(location: number): void {
    if (this.#items.size === 0) return;
    const known = this.#items.get(location);
    if (known === undefined) return;
    known.holders -= 1;
    if (known.holders === 0) this.#items.delete(location);
  }

  get(location: number): Item | undefined {
    return this.#items.get(location)?.item;
  }
}
