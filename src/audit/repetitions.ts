import type { Due } from "./time-order.ts";

/** Vaults with several items in one millisecond, of which this many are remembered. */
const mostRemembered = 10_000;

/** Finds items that are told twice, as exports that overlap do: of the same vault and time, and with the same id. */
export class Repetitions {
  readonly #sameTime = new Map<number, { time: number; hashes: number[] }>();
  count = 0;

  /** Whether the item has been told already; `last` is the id of the one before it, of the same vault and time. */
  isOne({ vault, time, idHash }: Due, last: number): boolean {
    const before = this.#sameTime.get(vault);
    const hashes = before?.time === time ? before.hashes : [last];
    if (hashes.includes(idHash)) {
      this.count += 1;
      return true;
    }
    if (this.#sameTime.size === mostRemembered) this.#sameTime.clear();
    this.#sameTime.set(vault, { time, hashes: [...hashes, idHash] });
    return false;
  }
}
