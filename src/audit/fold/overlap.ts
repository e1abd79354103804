import type { Entry } from "../read/item.ts";
import { callOf } from "./events.ts";

/** An item that counts, and the inputs that have it. */
interface Known {
  entry: Entry;
  inputs: number[];
}

/** The events of a vault that count, in order of time. */
export interface Distinct {
  events: readonly Entry[];
  /** Number of those that do not, as others are the same. */
  duplicates: number;
  /** Number of those that may or may not be the same as another. */
  alike: number;
}

/** The precisions of times that inputs have, in milliseconds. */
const precisions = [60_000, 1000, 1];

/** Milliseconds back in time that show that an input begins anew: several exports in one file. */
const jump = 60_000;

/**
 * Finds items that count once: those with the same id, and those without that several inputs have.
 * Equal items of one input are events; of two inputs, the larger number of them counts.
 */
export class Overlap {
  /** By input; empty for one without items. */
  readonly #precisions: number[] = [];
  #isSeveral = false;
  #coarsest = 1;
  /** Of the present input: 1, or -1 for newest first; and its last time yet, times that. */
  #direction = 1;
  #last = Number.NEGATIVE_INFINITY;
  /** An input began anew: a copy of what came before. */
  #beginsAnew = false;

  begin(isNewestFirst: boolean): void {
    this.#direction = isNewestFirst ? -1 : 1;
    this.#last = Number.NEGATIVE_INFINITY;
  }

  /** Learns from an input's items, in their order, its precision and whether it begins anew. */
  learn({ input, time }: Entry): void {
    const turned = time * this.#direction;
    this.#beginsAnew ||= this.#last - turned > jump;
    if (turned > this.#last) this.#last = turned;
    const known = this.#precisions[input] ?? Infinity;
    if (known === 1 || time % known === 0) return;
    this.#precisions[input] = precisions.find((one) => time % one === 0) ?? 1;
    const all = this.#precisions.filter(Boolean);
    this.#isSeveral = all.length > 1;
    this.#coarsest = Math.max(...all);
  }

  /** Returns those of a vault's events, in order of time, that count, once everything is learned. */
  distinct(all: readonly Entry[]): Distinct {
    const bucket = this.#isSeveral ? this.#coarsest : 1;
    const isNear = (one: Entry, other: Entry | undefined): boolean =>
      other !== undefined && Math.floor(one.time / bucket) === Math.floor(other.time / bucket);
    const events: Entry[] = [];
    let alike = 0;
    for (let [from, to] = [0, 0]; from < all.length; from = to) {
      const first = all[from] as Entry;
      for (to = from + 1; isNear(first, all[to]);) to += 1;
      if (to === from + 1) events.push(first);
      else alike += this.#take(all.slice(from, to), events);
    }
    return { events, duplicates: all.length - events.length, alike };
  }

  /** Adds those of one time that count. Returns how many may or may not be the same as another. */
  #take(all: readonly Entry[], events: Entry[]): number {
    const list: Known[] = [];
    let alike = 0;
    for (const [index, entry] of all.entries()) {
      const { time, event, idHash, input } = entry;
      const hasId = isId(idHash);
      if (!this.#isSeveral && !hasId) {
        if (this.#beginsAnew && all[index - 1]?.idHash === idHash) alike += 1;
        events.push(entry);
        continue;
      }
      const found =
        list.find(
          (known) => hasId && known.entry.idHash === idHash && isSameCall(known.entry, entry),
        ) ??
        list.find((known) => known.entry.event === event && this.#isSame(known, entry)) ??
        list.find((known) => this.#isSame(known, entry));
      if (found !== undefined) {
        found.inputs.push(input);
        // Without an id, it cannot be told from another item with equal content.
        if (found.entry.idHash !== idHash || !hasId) alike += 1;
        continue;
      }
      // Two exports may number the same items differently.
      const isOther = ({ entry: one, inputs }: Known): boolean =>
        one.event === event && one.time === time && !inputs.includes(input);
      if (list.some(isOther)) alike += 1;
      list.push({ entry, inputs: [input] });
      events.push(entry);
    }
    return alike;
  }

  #isSame({ entry, inputs }: Known, { time, event, idHash, input }: Entry): boolean {
    if (!isSameCall(entry, { event }) || inputs.includes(input)) return false;
    if (isId(entry.idHash) && isId(idHash)) return false;
    const precision = Math.max(...[input, ...inputs].map((each) => this.#precisions[each] ?? 1));
    return Math.floor(entry.time / precision) === Math.floor(time / precision);
  }
}

/** Hashes of ids are odd, those of content even. */
const isId = (idHash: number): boolean => idHash % 2 !== 0;

/** One call may have an id for start and end. */
const isSameCall = (one: Pick<Entry, "event">, other: Pick<Entry, "event">): boolean =>
  callOf(one.event) === callOf(other.event);
