import type { Entry } from "../read/item.ts";
import type { Entries } from "./entries.ts";
import { callOf } from "./events.ts";

/** An item that counts, and the inputs that have it. */
interface Known {
  entry: Entry;
  inputs: number[];
}

/** Of a vault: items that are there twice, and those that may or may not be the same as another. */
export interface Tally {
  duplicates: number;
  alike: number;
}

/** Yields a vault's events that count, by its number, in order of time, and counts the others. */
export type EventsOf = (vault: number, tally?: Tally) => Iterable<Entry>;

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

  /** Yields the entries of a vault that count, by time, once everything is learned. */
  *distinct(entries: Entries, vault: number, tally: Tally): Generator<Entry, void, undefined> {
    const bucket = this.#isSeveral ? this.#coarsest : 1;
    let near: Entry[] = [];
    for (const row of entries.rowsOf(vault)) {
      const entry = entries.at(row, vault);
      const first = near[0] ?? entry;
      if (Math.floor(first.time / bucket) === Math.floor(entry.time / bucket)) near.push(entry);
      else {
        if (near.length === 1) yield first;
        else yield* this.#counting(near, tally);
        near = [entry];
      }
    }
    yield* this.#counting(near, tally);
  }

  /** Returns those of one time that count. */
  #counting(all: readonly Entry[], tally: Tally): Entry[] {
    const events: Entry[] = [];
    const list: Known[] = [];
    const seen = new Set<string | number>();
    for (const [index, entry] of all.entries()) {
      const { time, event, idHash, input } = entry;
      const hasId = isId(idHash);
      if (!this.#isSeveral) {
        // Not by a search of the list: thousands may have one time, as that of a day.
        const key = hasId ? `${idHash} ${callOf(event)}` : index;
        if (seen.has(key)) tally.duplicates += 1;
        else events.push(entry);
        seen.add(key);
        if (!hasId && this.#beginsAnew && all[index - 1]?.idHash === idHash) tally.alike += 1;
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
        if (found.entry.idHash !== idHash || !hasId) tally.alike += 1;
        tally.duplicates += 1;
        continue;
      }
      // Two exports may number the same items differently.
      const isOther = ({ entry: one, inputs }: Known): boolean =>
        one.event === event && one.time === time && !inputs.includes(input);
      if (list.some(isOther)) tally.alike += 1;
      list.push({ entry, inputs: [input] });
      events.push(entry);
    }
    return events;
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
