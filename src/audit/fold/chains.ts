import type { KeptItems } from "./kept-items.ts";
import type { Due } from "./time-order.ts";
import type { VaultRecords } from "./vault-records.ts";
import { field, small } from "./vault-records.ts";

/** The items that count toward lockout: starts without acknowledgement, and consecutive failed attempts. */
export class Chains {
  readonly #records: VaultRecords;
  readonly #kept: KeptItems;

  constructor(records: VaultRecords, kept: KeptItems) {
    this.#records = records;
    this.#kept = kept;
  }

  countStart(due: Due): void {
    const length = this.#records.getSmall(due.vault, small.unacked) + 1;
    this.#kept.drop(this.#records.setStart(due.vault, length, due.place, due.line));
    this.#records.setSmall(due.vault, small.unacked, length);
    this.#kept.keep(due);
  }

  /** Counts a failed attempt. Returns their number. */
  countFailure(due: Due): number {
    const length = this.#records.getSmall(due.vault, small.failed) + 1;
    this.#kept.drop(this.#records.setFailure(due.vault, length, due.place, due.line));
    this.#records.setSmall(due.vault, small.failed, length);
    this.#kept.keep(due);
    return length;
  }

  clearStarts(vault: number): void {
    if (this.#kept.size > 0) for (const { place } of this.#records.starts(vault)) this.#kept.drop(place);
    this.#records.setSmall(vault, small.unacked, 0);
  }

  clearFailures(vault: number): void {
    if (this.#records.getSmall(vault, small.failed) === 0) return;
    if (this.#kept.size > 0) for (const { place } of this.#records.failures(vault)) this.#kept.drop(place);
    this.#records.setSmall(vault, small.failed, 0);
    this.#records.set(vault, field.invalidSince, Number.NaN);
  }
}
