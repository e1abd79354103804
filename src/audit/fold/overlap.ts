import type { Entry } from "../read/item.ts";
import type { EventKind } from "./events.ts";
import { eventKinds } from "./events.ts";
import type { Vault } from "./vault.ts";

/** An item that counts, and the inputs that have it. */
interface Known {
  time: number;
  event: EventKind;
  idHash: number;
  inputs: number[];
}

/** The precisions of times that inputs have, in milliseconds. */
const precisions = [60_000, 1000, 1];

/**
 * Finds items that count once: those with the same id, and those without that several inputs have. Equal items of one input are events; of
 * those that two inputs have, the larger number of either counts.
 */
export class Overlap {
  /** By input, in milliseconds; each is known once many of its items were added. */
  readonly #precision: number[] = [];
  #isSeveral = false;
  #coarsest = 1;
  readonly #seen = new Map<Vault, Known[]>();
  /** The time that the items in `#seen` have, at the coarsest precision. */
  #bucket = Number.NaN;
  count = 0;

  /** Learns the precision of an input from one of its items. */
  learn({ input, time }: Entry): void {
    const known = this.#precision[input];
    if (known === 1 || (known !== undefined && time % known === 0)) return;
    this.#precision[input] = precisions.find((one) => time % one === 0) ?? 1;
    const all = this.#precision.filter((one) => one > 0);
    this.#isSeveral = all.length > 1;
    this.#coarsest = this.#isSeveral ? Math.max(...all) : 1;
  }

  /** Whether an item is counted already. Remembers it otherwise. */
  isKnown(vault: Vault, entry: Entry): boolean {
    const isKnown = this.#find(vault, entry);
    vault.lastIdHash = entry.idHash;
    vault.lastEvent = entry.event;
    return isKnown;
  }

  #find(vault: Vault, { time, event, idHash, input }: Entry): boolean {
    const hasId = idHash % 2 !== 0;
    const isSameTime = vault.items > 0 && time === vault.lastTime;
    if (!this.#isSeveral && !(hasId && isSameTime)) return false;
    const bucket = Math.floor(time / this.#coarsest);
    if (bucket !== this.#bucket) this.#seen.clear();
    this.#bucket = bucket;
    let list = this.#seen.get(vault);
    if (list === undefined) {
      // With a single input, the first item of a time was not remembered.
      const last = { time, event: vault.lastEvent, idHash: vault.lastIdHash, inputs: [input] };
      list = this.#isSeveral ? [] : [last];
      this.#seen.set(vault, list);
    }
    const one = { time, event, idHash, inputs: [input] };
    const found =
      list.find((known) => hasId && known.idHash === idHash && isSameCall(known, one)) ??
      list.find((known) => known.event === event && this.#isSame(known, one)) ??
      list.find((known) => this.#isSame(known, one));
    if (found === undefined) {
      // Two exports may number the same items differently.
      const isOther = (known: Known): boolean => known.inputs[0] !== input && known.time === time;
      if (list.some((known) => known.event === event && isOther(known)))
        vault.doubt().hasAlike = true;
      list.push(one);
      return false;
    }
    found.inputs.push(input);
    this.count += 1;
    // Without an id, it cannot be told from another item with equal content.
    if (found.idHash !== idHash || !hasId) vault.doubt().hasAlike = true;
    return true;
  }

  /** Whether an item of another input is the same. */
  #isSame(known: Known, { time, event, idHash, inputs: [input = 0] }: Known): boolean {
    if (!isSameCall(known, { event }) || known.inputs.includes(input)) return false;
    if (known.idHash % 2 !== 0 && idHash % 2 !== 0) return false;
    const precision = Math.max(
      this.#precision[input] ?? 1,
      this.#precision[known.inputs[0] as number] ?? 1,
    );
    return Math.floor(known.time / precision) === Math.floor(time / precision);
  }
}

/** Calls by event kind. Two exports may describe the outcome of the same call differently. */
const calls: ReadonlyMap<EventKind, string> = new Map(
  eventKinds.map((kind) => [kind, callOf(kind)]),
);

/** One call may have an id for start and end. */
const isSameCall = (one: { event: EventKind }, other: { event: EventKind }): boolean =>
  calls.get(one.event) === calls.get(other.event);

function callOf(kind: EventKind): string {
  if (kind.startsWith("ack") || kind.endsWith("-ack")) return "end";
  return ["create", "delete", "failed-delete", "lock", "lock-noted", "unlock", "other"].includes(
    kind,
  )
    ? kind.replace("failed-", "")
    : "start";
}
