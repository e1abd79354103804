import { anyUuid } from "./fields.ts";
import type { Skip } from "./item.ts";

/** Maximum number of lines listed. */
const maxListed = 100;

/** Maximum number of uuids remembered of lines that could not be read. */
const maxUuids = 100_000;

const everyUuid = new RegExp(anyUuid, "gi");

/** Lines that are not items: their number, the first ones, and the uuids that they name. */
export class Skips {
  count = 0;
  readonly #first: Skip[] = [];
  readonly #uuids = new Map<string, number>();

  /** Sorted by input and line: inputs are read ahead, so lines are not added in order. */
  get first(): Skip[] {
    return this.#first.toSorted((a, b) => a.input - b.input || a.line - b.line);
  }

  /** `text`: what could not be read. */
  add(skip: Skip, text = ""): void {
    this.count += 1;
    if (this.#first.length < maxListed) this.#first.push(skip);
    this.name(text);
  }

  /** Notes what a text names that could not be read. */
  name(text: string): void {
    for (const [found] of text.matchAll(everyUuid)) {
      const uuid = found.toLowerCase();
      const known = this.#uuids.get(uuid);
      if (known !== undefined || this.#uuids.size < maxUuids)
        this.#uuids.set(uuid, (known ?? 0) + 1);
    }
  }

  /** Returns how many times such lines name a uuid, in lower case. Beyond a limit they may name any. */
  unreadOf(uuid: string): number {
    return this.#uuids.get(uuid) ?? (this.#uuids.size < maxUuids ? 0 : 1);
  }
}
