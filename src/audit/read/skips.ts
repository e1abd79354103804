import type { Skip } from "./item.ts";

/** So many are listed. */
const mostListed = 100;

/** Lines that are no items: how many, and the first ones. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];

  /** In the order of inputs and lines: what is read ahead is told early. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  readonly add = (skip: Skip): void => this.addAll({ count: 1, first: [skip] });

  addAll({ count, first }: Pick<Skips, "count" | "first">): void {
    this.count += count;
    this.#first.push(...first.slice(0, mostListed - this.#first.length));
  }
}
