import type { Item } from "../read/item.ts";

/** Items of inputs that cannot be read again, by location, kept as long as a report may need them. Holders are counted. */
export class KeptItems {
  readonly #items = new Map<number, { item: Item; holders: number }>();

  get size(): number {
    return this.#items.size;
  }

  keep({ place, item }: { place: number; item: Item | undefined }): void {
    if (item === undefined) return;
    const known = this.#items.get(place);
    if (known === undefined) this.#items.set(place, { item, holders: 1 });
    else known.holders += 1;
  }

  drop(place: number): void {
    if (this.#items.size === 0) return;
    const known = this.#items.get(place);
    if (known === undefined) return;
    known.holders -= 1;
    if (known.holders === 0) this.#items.delete(place);
  }

  get(place: number): Item | undefined {
    return this.#items.get(place)?.item;
  }
}
