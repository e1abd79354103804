import type { Item } from "./item.ts";

/** Items of inputs that cannot be read twice, as long as a report may name them: they stand for their places. */
export class KeptItems {
  readonly #items = new Map<number, Item>();
  readonly #forGood = new Set<number>();

  get size(): number {
    return this.#items.size;
  }

  keep({ place, item }: { place: number; item: Item | undefined }, forGood = false): void {
    if (item === undefined) return;
    this.#items.set(place, item);
    if (forGood) this.#forGood.add(place);
  }

  drop(place: number): void {
    if (!this.#forGood.has(place)) this.#items.delete(place);
  }

  get(place: number): Item | undefined {
    return this.#items.get(place);
  }
}
