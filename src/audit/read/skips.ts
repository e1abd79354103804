import type { Skip } from "./item.ts";

/** Maximum number of lines listed. */
const maxListed = 100;

/** Lines that are not items: their number, and the first ones. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  readonly add = (skip: Skip): void => this.addAll({ count: 1, first: [skip] });

  addAll({ count, first }: Pick<Skips, "count" | "first">): void {
    this.count += count;
    this.#first.push(...first.slice(0, maxListed - this.#first.length));
  }
}
