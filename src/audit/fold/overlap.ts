import { callOf, Entry, type ItemLocation } from "../read/item.ts";
import type { Source } from "../read/source.ts";
import type { Vault } from "./vault.ts";

interface Known {
  entry: Entry;
  vault: Vault;
  inputs: number[];
}

/** Number of bytes read at a time to compare items, which come in the order of their inputs. */
const blockSize = 8192;

/** The precisions of times that inputs have, in milliseconds. */
const precisions = [60_000, 1000, 1];

/**
 * Finds items that count once: those with the same id, and those without that several inputs have.
 * Equal items of one input are events; of two inputs, the larger number of them counts.
 */
export class Overlap {
  readonly #source: (location: ItemLocation) => Source;
  /** By input. What they tell is complete once many of its items were added. */
  readonly #precisions: number[] = [];
  #beginsAnew = false;
  #coarsest = 1;
  /** By vault and the first input that has them; and by vault and the hash of id or content. */
  readonly #known = new Map<Vault, Known[][]>();
  readonly #hashed = new Map<number, Known[]>();
  /** The time that the items in both have, at the coarsest precision. */
  #bucket = Number.NaN;
  count = 0;

  /** `source` returns the input of an item. */
  constructor(source: (location: ItemLocation) => Source) {
    this.#source = source;
  }

  /** Learns from an input's items, in order, its precision and whether it begins anew (a copy). */
  learn({ input, time }: Entry, beginsAnew: boolean): void {
    this.#beginsAnew ||= beginsAnew;
    const known = this.#precisions[input] ?? Infinity;
    if (known === 1 || time % known === 0) return;
    this.#precisions[input] = precisions.find((one) => time % one === 0) ?? 1;
    const all = this.#precisions.filter(Boolean);
    if (all.length > 1) this.#coarsest = Math.max(...all);
  }

  /** Whether an item is counted already. Remembers it otherwise. */
  isKnown(vault: Vault, entry: Entry): boolean {
    const bucket = Math.floor(entry.time / this.#coarsest);
    if (vault.items === 0 || Math.floor(vault.lastTime / this.#coarsest) !== bucket) return false;
    if (bucket !== this.#bucket) {
      this.#known.clear();
      this.#hashed.clear();
    }
    this.#bucket = bucket;
    // The first item of a time was not remembered.
    if (!this.#known.has(vault)) this.#remember(vault, vault.newest);
    const { event, time, idHash, input } = entry;
    const hasId = isId(idHash);
    const hashed = this.#hashed.get(keyOf(vault, entry)) ?? [];
    const isSameCall = (known: Known): boolean =>
      known.vault === vault && callOf(known.entry.event) === callOf(event);
    const isSame = (known: Known): boolean =>
      isSameCall(known) && this.#isSameId(known.entry, entry);
    const others = (this.#known.get(vault) ?? []).flatMap((known, first) =>
      first === input ? [] : known.filter(({ inputs }) => !inputs.includes(input)),
    );
    const found = (hasId ? hashed.find(isSame) : undefined) ?? this.#find(entry, others);
    if (found === undefined) {
      // With an id, it may be from an export that numbers the same items differently; without one,
      // from a copy of what came before.
      const isDoubtful = hasId
        ? others.some((known) => known.entry.event === event && known.entry.time === time)
        : this.#beginsAnew && hashed.some(isSameCall);
      if (isDoubtful) vault.alike += 1;
      this.#remember(vault, Object.assign(new Entry(), entry));
      return false;
    }
    this.count += 1;
    // Without an id, it cannot be told from another item with equal content.
    if (found.entry.idHash !== idHash || !hasId) vault.alike += 1;
    if (!found.inputs.includes(input)) found.inputs.push(input);
    return true;
  }

  #remember(vault: Vault, entry: Entry): void {
    const known = { entry, vault, inputs: [entry.input] };
    const key = keyOf(vault, entry);
    const hashed = this.#hashed.get(key);
    if (hashed === undefined) this.#hashed.set(key, [known]);
    else hashed.push(known);
    const byInput = this.#known.get(vault) ?? [];
    this.#known.set(vault, byInput);
    (byInput[entry.input] ??= []).push(known);
  }

  /** Finds the same item in other inputs, if not both have an id. */
  #find({ time, event, idHash, input }: Entry, others: readonly Known[]): Known | undefined {
    const same = others.filter(({ entry, inputs }) => {
      const precisions = [input, ...inputs].map((each) => this.#precisions[each] ?? 1);
      const bucketOf = (at: number): number => Math.floor(at / Math.max(...precisions));
      return (
        callOf(entry.event) === callOf(event) &&
        !(isId(entry.idHash) && isId(idHash)) &&
        bucketOf(entry.time) === bucketOf(time)
      );
    });
    return same.find(({ entry }) => entry.event === event) ?? same[0];
  }

  #isSameId(one: Entry, other: Entry): boolean {
    const [first, second] = [this.#source(one), this.#source(other)];
    return (
      first.bytesOf(one, blockSize).equals(second.bytesOf(other, blockSize)) ||
      first.itemOf(one).id === second.itemOf(other).id
    );
  }
}

/** Differs by vault: many may share an id, whose items would all be looked through. */
const keyOf = ({ number }: Vault, { idHash }: Entry): number =>
  idHash ^ Math.imul(number, 0x9e3779b1);

/** Hashes of ids are odd, those of content even. */
const isId = (idHash: number): boolean => idHash % 2 !== 0;
