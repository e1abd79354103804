import type { Entry } from "../read/item.ts";
import { callOf, type EventKind, eventKinds } from "./events.ts";
import type { Vault } from "./vault.ts";

/** An item that counts, and the inputs that have it. */
interface Known extends Pick<Entry, "time" | "event" | "idHash"> {
  inputs: number[];
}

/** The precisions of times that inputs have, in milliseconds. */
const precisions = [60_000, 1000, 1];

/**
 * Finds items that count once: those with the same id, and those without that several inputs have.
 * Equal items of one input are events; of two inputs, the larger number of them counts.
 */
export class Overlap {
  /** By input. What they tell is complete once many of its items were added. */
  readonly #precisions: number[] = [];
  #isSeveral = false;
  #beginsAnew = false;
  #coarsest = 1;
  /** By vault; and, of a single input, what `keyOf` returns. */
  readonly #seen = new Map<number, Known[]>();
  readonly #keys = new Set<string>();
  /** The time that the items in both have, at the coarsest precision. */
  #bucket = Number.NaN;
  count = 0;

  /** Learns from an input's items, in order, its precision and whether it begins anew (a copy). */
  learn({ input, time }: Entry, beginsAnew: boolean): void {
    this.#beginsAnew ||= beginsAnew;
    const known = this.#precisions[input] ?? Infinity;
    if (known === 1 || time % known === 0) return;
    this.#precisions[input] = precisions.find((one) => time % one === 0) ?? 1;
    const all = this.#precisions.filter(Boolean);
    this.#isSeveral = all.length > 1;
    this.#coarsest = Math.max(...all);
  }

  /** Whether an item is counted already. Remembers it otherwise. */
  isKnown(vault: Vault, entry: Entry): boolean {
    const isSameTime = vault.lastTime === entry.time;
    const isKnown = (this.#isSeveral || isSameTime) && this.#find(vault, entry);
    vault.lastHash = entry.idHash;
    vault.lastCode = entry.code;
    return isKnown;
  }

  #find(vault: Vault, { time, event, idHash, input }: Entry): boolean {
    const hasId = isId(idHash);
    const bucket = this.#isSeveral ? Math.floor(time / this.#coarsest) : time;
    if (bucket !== this.#bucket) {
      this.#seen.clear();
      this.#keys.clear();
    }
    this.#bucket = bucket;
    if (!this.#isSeveral) {
      const { lastHash, lastCode } = vault;
      // The first item of a time was not remembered.
      if (isId(lastHash)) this.#keys.add(keyOf(vault, lastHash, eventKinds[lastCode] as EventKind));
      // Not by a search of a list: thousands may have one time, as that of a day.
      const isKnown = hasId && this.#keys.has(keyOf(vault, idHash, event));
      if (isKnown) this.count += 1;
      // Without an id, it may be from a copy of what came before.
      else if (!hasId && this.#beginsAnew && idHash === lastHash) vault.alike += 1;
      return isKnown;
    }
    const list = this.#seen.get(vault.number) ?? [];
    this.#seen.set(vault.number, list);
    const one = { time, event, idHash, inputs: [input] };
    const found =
      list.find((known) => hasId && known.idHash === idHash && isSameCall(known, one)) ??
      list.find((known) => known.event === event && this.#isSame(known, one)) ??
      list.find((known) => this.#isSame(known, one));
    if (found === undefined) {
      // Two exports may number the same items differently.
      const isOther = (known: Known): boolean =>
        known.event === event && known.time === time && !known.inputs.includes(input);
      if (list.some(isOther)) vault.alike += 1;
      list.push(one);
      return false;
    }
    found.inputs.push(input);
    this.count += 1;
    // Without an id, it cannot be told from another item with equal content.
    if (found.idHash !== idHash || !hasId) vault.alike += 1;
    return true;
  }

  #isSame(known: Known, { time, event, idHash, inputs: [input = 0] }: Known): boolean {
    if (!isSameCall(known, { event }) || known.inputs.includes(input)) return false;
    if (isId(known.idHash) && isId(idHash)) return false;
    const precision = Math.max(
      ...[input, ...known.inputs].map((each) => this.#precisions[each] ?? 1),
    );
    return Math.floor(known.time / precision) === Math.floor(time / precision);
  }
}

const keyOf = ({ number }: Vault, idHash: number, event: EventKind): string =>
  `${number} ${idHash} ${callOf(event)}`;

/** Hashes of ids are odd, those of content even. */
const isId = (idHash: number): boolean => idHash % 2 !== 0;

/** One call may have an id for start and end. */
const isSameCall = (one: { event: EventKind }, other: { event: EventKind }): boolean =>
  callOf(one.event) === callOf(other.event);
