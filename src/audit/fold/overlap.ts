import type { Entry } from "../read/item.ts";
import { callOf, type EventKind, eventKinds } from "./events.ts";
import type { Vault } from "./vault.ts";

/** An item that counts, and the parts of inputs that have it. */
interface Known {
  time: number;
  event: EventKind;
  idHash: number;
  parts: number[];
}

/** What is known of the times of an input, in milliseconds. */
interface Times {
  precision: number;
  newest: number;
  /** Lines at which it begins anew: several exports in one file. */
  starts: number[];
}

/** The precisions of times that inputs have. */
const precisions = [60_000, 1000, 1];

/** How far back the times of an input go if it begins anew. */
const jump = 60_000;

const maxParts = 100_000;

/** Number of a part: that of its input, and where it stands in it. */
const inputs = 1000;

/**
 * Finds items that count once: those with the same id, and those without that several inputs have. Equal items of one input are events; of
 * those that two inputs have, the larger number of either counts. An input that begins anew is several, of which equal lines are the same.
 */
export class Overlap {
  /** By input. What they tell is complete once many of its items were added. */
  readonly #times: (Times | undefined)[] = [];
  #isSeveral = false;
  #hasParts = false;
  #coarsest = 1;
  readonly #seen = new Map<number, Known[]>();
  /** The time that the items in `#seen` have, at the coarsest precision. */
  #bucket = Number.NaN;
  count = 0;

  /** Learns about an input from its items, in their order. */
  learn({ input, line, time }: Entry): void {
    const times = this.#times[input];
    if (times === undefined) {
      this.#times[input] = { precision: precisionOf(time), newest: time, starts: [] };
      this.#isSeveral = this.#times.filter(Boolean).length > 1;
    } else if (time > times.newest) times.newest = time;
    else if (times.newest - time > jump && times.starts.length < maxParts) {
      times.newest = time;
      times.starts.push(line);
      this.#hasParts = true;
    }
    if (times !== undefined) {
      if (times.precision === 1 || time % times.precision === 0) return;
      times.precision = precisionOf(time);
    }
    this.#coarsest = Math.max(...this.#times.map((one) => one?.precision ?? 1));
  }

  /** Whether an item is counted already. Remembers it otherwise. */
  isKnown(vault: Vault, entry: Entry): boolean {
    const isSameTime = vault.lastTime === entry.time;
    const isKnown = (this.#isSeveral || isSameTime) && this.#find(vault, entry, isSameTime);
    vault.lastHash = entry.idHash;
    vault.lastLine = entry.line;
    vault.lastCode = entry.code;
    return isKnown;
  }

  #find(vault: Vault, entry: Entry, isSameTime: boolean): boolean {
    const { time, event, idHash, input, line } = entry;
    const hasId = isId(idHash);
    if (!this.#isSeveral && !(isSameTime && (hasId || this.#hasParts))) return false;
    const bucket = this.#isSeveral ? Math.floor(time / this.#coarsest) : time;
    if (bucket !== this.#bucket) this.#seen.clear();
    this.#bucket = bucket;
    let list = this.#seen.get(vault.number);
    if (list === undefined) {
      const event = eventKinds[vault.lastCode] as EventKind;
      const parts = [this.#partOf(input, vault.lastLine)];
      // With a single input, the first item of a time was not remembered.
      list = this.#isSeveral ? [] : [{ time, event, idHash: vault.lastHash, parts }];
      this.#seen.set(vault.number, list);
    }
    const part = this.#partOf(input, line);
    const one = { time, event, idHash, parts: [part] };
    const found =
      list.find((known) => hasId && known.idHash === idHash && isSameCall(known, one)) ??
      list.find((known) => known.event === event && this.#isSame(known, one)) ??
      list.find((known) => this.#isSame(known, one));
    if (found === undefined) {
      // Two exports may number the same items differently.
      const isOther = (known: Known): boolean =>
        known.event === event && known.time === time && inputOf(known) !== input;
      if (list.some(isOther)) vault.alike += 1;
      list.push(one);
      return false;
    }
    found.parts.push(part);
    this.count += 1;
    // Without an id, it cannot be told from another item with equal content.
    if (found.idHash !== idHash || !hasId) vault.alike += 1;
    return true;
  }

  /** Whether an item of another input, or of another part of the same, is the same. */
  #isSame(known: Known, { time, event, idHash, parts: [part = 0] }: Known): boolean {
    if (!isSameCall(known, { event }) || known.parts.includes(part)) return false;
    if (known.parts.some((other) => other % inputs === part % inputs))
      return known.idHash === idHash;
    if (isId(known.idHash) && isId(idHash)) return false;
    const precision = Math.max(
      this.#times[part % inputs]?.precision ?? 1,
      this.#times[inputOf(known)]?.precision ?? 1,
    );
    return Math.floor(known.time / precision) === Math.floor(time / precision);
  }

  /** Returns the number of the part of an input that a line is in. */
  #partOf(input: number, line: number): number {
    const starts = this.#times[input]?.starts ?? [];
    return input + inputs * starts.filter((start) => start <= line).length;
  }
}

const precisionOf = (time: number): number => precisions.find((one) => time % one === 0) ?? 1;

/** Hashes of ids are odd, those of content even. */
const isId = (idHash: number): boolean => idHash % 2 !== 0;

const inputOf = ({ parts: [part = 0] }: Known): number => part % inputs;

/** One call may have an id for start and end. */
const isSameCall = (one: { event: EventKind }, other: { event: EventKind }): boolean =>
  callOf(one.event) === callOf(other.event);
