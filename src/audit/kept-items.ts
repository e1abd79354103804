import type { Item } from "./item.ts";

/** Items of inputs that cannot be read twice, as long as a report may name them: they stand for their places. */
export class KeptItems {
  readonly #items = new Map<number, Item>();

  get size(): number {
    return this.#items.size;
  }

  keep({ place, item }: { place: number; item: Item | undefined }): void {
    if (item !== undefined) this.#items.set(place, item);
  }

  drop(place: number): void {
    this.#items.delete(place);
  }

  get(place: number): Item | undefined {
    return this.#items.get(place);
  }
}
